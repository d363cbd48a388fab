import { describe, expect, it } from 'vitest';
import { type Purpose, philox, Random } from './random.ts';
import { mean, variance } from './statistics.ts';

const words = (hex: string) => hex.split(' ').map((word) => Number.parseInt(word, 16));

describe('philox4x32-10', () => {
  // Known-answer vectors published with Random123 (counter, key, result).
  it.each([
    ['00000000 00000000 00000000 00000000', '00000000 00000000', '6627e8d5 e169c58d bc57ac4c 9b00dbd8'],
    ['ffffffff ffffffff ffffffff ffffffff', 'ffffffff ffffffff', '408f276d 41c83b0e a20bc7c6 6d5451fd'],
    ['243f6a88 85a308d3 13198a2e 03707344', 'a4093822 299f31d0', 'd16cfe09 94fdcceb 5001e420 24126ea1'],
  ])('%s', (counter, key, result) => {
    const out = new Uint32Array(4);
    philox(words(counter), words(key), out);
    expect([...out]).toEqual(words(result));
  });
});

describe('Random', () => {
  const draw = (random: Random, count = 8) => Array.from({ length: count }, () => random.uint32());

  it('depends on seed, purpose, replica and step, and on nothing else', () => {
    const streams = [
      new Random(1, 'init'),
      new Random(2, 'init'),
      new Random(1 + 2 ** 32, 'init'),
      new Random(1, 'shuffle'),
      new Random(1, 'init', 1),
      new Random(1, 'init', 0, 1),
    ].map((random) => draw(random).join());
    expect(new Set(streams).size).toBe(streams.length);
    expect(draw(new Random(1, 'init')).join()).toBe(streams[0]);
  });

  // Every seeded result hangs on the order of the purposes: new ones are appended.
  it.each<[Purpose, number, number]>([
    ['topology', 0x5e36fdf, 0xd73f8ba],
    ['init', 0xc528a17, 0x5016f62],
    ['partition', 0x2ebf506d, 0x42eea72b],
    ['shuffle', 0x2139bdf9, 0xa8fe72c1],
    ['augment', 0xc61d6d05, 0x4eb496d9],
    ['dropout', 0xe387f74f, 0x82d03da9],
    ['synthetic', 0xabf8c6ea, 0xd4a90f28],
    ['evaluate', 0xbd06ab66, 0x3a05d43a],
    ['test', 0x48822f3b, 0xab31257a],
    ['permutation', 0x3962d476, 0x65a9339b],
  ])('draws the same numbers for %s for ever', (purpose, ...numbers) => {
    expect(draw(new Random(7, purpose, 2, 3), 2)).toEqual(numbers);
  });

  it('has the moments of its distributions', () => {
    const random = new Random(7, 'test');
    const uniforms = Float64Array.from({ length: 20_000 }, () => random.uniform());
    const normals = Float64Array.from({ length: 20_000 }, () => random.normal());
    expect(mean(uniforms)).toBeCloseTo(0.5, 2);
    expect(variance(uniforms)).toBeCloseTo(1 / 12, 2);
    expect(mean(normals)).toBeCloseTo(0, 1);
    expect(variance(normals)).toBeCloseTo(1, 1);
  });

  it('permutes without loss and evenly', () => {
    const firsts = new Float64Array(5);
    for (let step = 0; step < 5000; step++) {
      const order = new Random(3, 'test', 0, step).permutation(5);
      expect([...order].sort().join('')).toBe('01234');
      firsts[order[0]!]! += 1;
    }
    for (const count of firsts) expect(Math.abs(count - 1000)).toBeLessThan(120);
  });

  it('draws whole numbers evenly where they do not divide 2³²', () => {
    const random = new Random(5, 'test');
    // Of three equal parts the first would get half of the numbers, were what is left of 2³² not drawn again.
    const counts = [0, 0, 0];
    for (let i = 0; i < 3000; i++) counts[Math.floor(random.below(3 * 2 ** 30) / 2 ** 30)]! += 1;
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(120);
  });

  it.each([-1, 0.5, Number.NaN, 2 ** 53])('refuses the seed %s', (seed) => {
    expect(() => new Random(seed, 'test')).toThrow(/seed must be a whole number/);
  });
});
