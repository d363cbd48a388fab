import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { rounded } from './rounding.ts';
import { vector } from './traffic.ts';

const random = new Random(1, 'test');
/** Three blocks and a bit, of very different size. */
const row = Float32Array.from({ length: 800 }, (_, c) => 10 ** -(c >> 8) * random.normal());
const given = (bits: number) => ({
  tensors: [vector(row.length)],
  scalar: (name: string) => ({ bits })[name]!,
  random: () => random,
});
const apply = (bits: number, from: Float32Array | Float64Array) => {
  const out = from.slice();
  rounded.apply(given(bits), out, from);
  return out;
};

describe('rounding to a few bits', () => {
  it.each([2, 4, 8])(
    'to %s bits has as many values in a block, the largest exact and none off by more than half a step',
    (bits) => {
      const out = apply(bits, row);
      for (let from = 0; from < row.length; from += 256) {
        const block = [...row.subarray(from, from + 256)];
        const largest = Math.max(...block.map(Math.abs));
        const levels = 2 ** (bits - 1) - 1;
        expect(new Set([...out.subarray(from, from + 256)].map(Math.abs)).size).toBeLessThanOrEqual(levels + 1);
        block.forEach((value, c) => {
          expect(Math.abs(out[from + c]! - value)).toBeLessThanOrEqual((0.5001 * largest) / levels);
          if (Math.abs(value) === largest) expect(out[from + c]).toBeCloseTo(value, 6);
        });
      }
    },
  );

  it('keeps what is 0, and with two bits leaves three values', () => {
    expect(apply(4, new Float32Array(3))).toEqual(new Float32Array(3));
    expect([...apply(2, Float64Array.of(1, 0.6, -0.4, -0.7, 0.1))]).toEqual([1, 1, 0, -1, 0]);
  });

  it('with what is left added the next time, loses nothing in the long run', () => {
    const steady = Float64Array.from(row);
    const sum = new Float64Array(row.length);
    let left = new Float64Array(row.length);
    for (let k = 0; k < 50; k++) {
      const wanted = steady.map((value, c) => value + left[c]!);
      const sent = apply(3, wanted);
      left = wanted.map((value, c) => value - sent[c]!);
      sent.forEach((value, c) => {
        sum[c]! += value;
      });
    }
    steady.forEach((value, c) => {
      expect(Math.abs(sum[c]! / 50 - value)).toBeLessThan(0.02 * 10 ** -(c >> 8));
    });
  });

  it('costs its bits, and a scale per block', () => {
    expect(rounded.bytes!(given(4))).toBe(400 + 4 * 4);
    expect(rounded.bytes!(given(3))).toBe(300 + 4 * 4);
  });
});
