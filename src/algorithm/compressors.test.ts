import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { normOf } from './compressor.ts';
import { compressorSchema, rowCompressor } from './compressors.ts';

const size = 64;
const values = (seed = 1) => {
  const random = new Random(seed, 'test');
  return Float32Array.from({ length: size }, () => random.normal());
};

/** What the receiver has after one message of `x` into a memory of zeros. */
function received(
  settings: object,
  x: Float32Array,
  step = 0,
  offsets: readonly number[] = [0, x.length],
): Float32Array {
  const compressor = rowCompressor(compressorSchema.parse(settings), offsets);
  const message = new Uint8Array(compressor.bytes);
  compressor.encode(x, message, new Random(7, 'test', 0, step));
  const memory = new Float32Array(x.length);
  compressor.decode(message, memory, new Random(7, 'test', 0, step));
  return memory;
}

const error = (settings: object, x: Float32Array, step = 0) => {
  const q = received(settings, x, step);
  return normOf(x.map((v, c) => v - q[c]!)) ** 2 / normOf(x) ** 2;
};

it('messages of an mlp 784-100-10 are as long as counted by hand', () => {
  const offsets = [0, 78_400, 78_500, 79_500, 79_510];
  const bytes = (settings: object) => rowCompressor(compressorSchema.parse(settings), offsets).bytes;
  expect(bytes({ kind: 'none' })).toBe(318_040);
  expect(bytes({ kind: 'top-k', ratio: 0.01 })).toBe(6368);
  expect(bytes({ kind: 'random-k', ratio: 0.01 })).toBe(3184);
  expect(bytes({ kind: 'sign' })).toBe(9956);
  expect(bytes({ kind: 'qsgd', levels: 1 })).toBe(19_894);
  expect(bytes({ kind: 'qsgd', levels: 16 })).toBe(59_649);
  expect(bytes({ kind: 'top-k', ratio: 0.9 })).toBe(318_040);
});

describe('top-k', () => {
  it('keeps the largest, of equal ones the first', () => {
    const x = Float32Array.of(1, -3, 2, 3, -2, 0, 2, 0.5);
    expect([...received({ kind: 'top-k', ratio: 0.375 }, x)]).toEqual([0, -3, 2, 3, 0, 0, 0, 0]);
    expect([...received({ kind: 'top-k', ratio: 1 }, x)]).toEqual([...x]);
    expect([...received({ kind: 'top-k', ratio: 0.25 }, new Float32Array(8))]).toEqual(new Array(8).fill(0));
  });
  it.each([1, 2, 3, 4])('agrees with sorting (seed %i)', (seed) => {
    const x = values(seed);
    const order = [...x.keys()].sort((a, b) => Math.abs(x[b]!) - Math.abs(x[a]!) || a - b).slice(0, 16);
    expect(received({ kind: 'top-k', ratio: 0.25 }, x)).toEqual(x.map((v, c) => (order.includes(c) ? v : 0)));
    expect(error({ kind: 'top-k', ratio: 0.25 }, x)).toBeLessThanOrEqual(1 - 16 / 64);
  });
});

it('the sign keeps direction and mean magnitude, with the error that follows', () => {
  const x = values();
  const mean = x.reduce((sum, v) => sum + Math.abs(v), 0) / size;
  expect(received({ kind: 'sign' }, x)).toEqual(x.map((v) => (v < 0 ? -Math.fround(mean) : Math.fround(mean))));
  expect(error({ kind: 'sign' }, x)).toBeCloseTo(1 - (mean * size) ** 2 / (size * normOf(x) ** 2), 6);
  expect([...received({ kind: 'sign' }, Float32Array.of(0, -0, -1))]).toEqual(
    [1, 1, -1].map((s) => s * Math.fround(1 / 3)),
  );
});

describe('random ones, over 20,000 messages', () => {
  const draws = 20_000;
  const over = (settings: object) => {
    const x = values();
    const mean = new Float64Array(size);
    let total = 0;
    for (let step = 0; step < draws; step++) {
      const q = received(settings, x, step);
      q.forEach((v, c) => {
        mean[c]! += v / draws;
      });
      total += x.reduce((sum, v, c) => sum + (v - q[c]!) ** 2, 0) / draws;
    }
    const norm = normOf(x);
    return { error: total / norm ** 2, bias: Math.max(...x.map((v, c) => Math.abs(v - mean[c]!))) / norm };
  };
  it('qsgd', () => {
    const { error, bias } = over({ kind: 'qsgd', levels: 4, unbiased: true });
    expect(error).toBeLessThanOrEqual(2);
    expect(error).toBeGreaterThan(0.3);
    expect(bias).toBeLessThan(0.01);
    // Divided by 1 + its bound it is a contraction: the error is below 1.
    expect(over({ kind: 'qsgd', levels: 4 }).error).toBeLessThan(1);
  });
  it('random-k', () => {
    expect(over({ kind: 'random-k', ratio: 0.25 }).error).toBeCloseTo(0.75, 2);
    const { error, bias } = over({ kind: 'random-k', ratio: 0.25, unbiased: true });
    expect(Math.abs(error - 3)).toBeLessThan(0.06);
    expect(bias).toBeLessThan(0.02);
  });
});

it.each(['top-k', 'random-k', 'qsgd', 'sign', 'none'])(
  '%s: nothing stays nothing, tensors are apart, messages add up',
  (kind) => {
    expect(received({ kind }, new Float32Array(20)).every((v) => v === 0)).toBe(true);
    const x = values();
    const whole = received({ kind }, x, 0, [0, 10, 40, size]);
    expect(whole).not.toEqual(new Float32Array(size));
    expect(kind === 'none' ? whole : x).toEqual(x);
  },
);
