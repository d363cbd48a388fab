import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BatchOptions, batches, fillBatch, pixelBatchOf } from './batch.ts';
import { type Samples, scaleTable, take } from './dataset.ts';
import { fillTextBatch, textBatchCount } from './text-batch.ts';

const options: BatchOptions = { batch: 8, epoch: 0, replica: 0, seed: 1, dropLast: true };
const own = Uint32Array.from({ length: 50 }, (_, i) => 1000 + 3 * i);

describe('batches', () => {
  it('use every sample at most once an epoch, and every one where the last batch is not dropped', () => {
    fc.assert(
      fc.property(
        fc.nat(200),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        fc.nat(),
        (size, batch, dropLast, epoch) => {
          const indices = Uint32Array.from({ length: size }, (_, i) => 7 * i);
          const found = batches(indices, { ...options, batch, dropLast, epoch });
          const used = found.flatMap((one) => [...one]);
          const whole = found.slice(0, -1).every((one) => one.length === batch);
          return (
            whole &&
            new Set(used).size === used.length &&
            used.every((i) => i % 7 === 0 && i < 7 * size) &&
            used.length === (dropLast ? size - (size % batch) : size)
          );
        },
      ),
    );
  });

  it('depend on seed, replica and epoch, and on nothing else', () => {
    const order = (changed: Partial<BatchOptions>) =>
      batches(own, { ...options, ...changed }).flatMap((one) => [...one]);
    expect(order({})).toEqual(order({}));
    expect(order({ batch: 4 }).slice(0, 48)).toEqual(order({}));
    for (const changed of [{ seed: 2 }, { replica: 1 }, { epoch: 1 }]) expect(order(changed)).not.toEqual(order({}));
  });
});

/** Two samples of 2 channels of 4×4 whose bytes tell their place: 100·sample + 16·channel + 4·row + column. */
const image: Samples = {
  count: 2,
  features: Uint8Array.from({ length: 64 }, (_, i) => (i < 32 ? i : 100 + (i - 32))),
  labels: Int32Array.of(5, 6),
  shape: [2, 4, 4],
  scale: scaleTable([0, 0.5], [1 / 255, 0.5 / 255]),
};

describe('fillBatch', () => {
  it.each([
    { channels: 1, side: 28 },
    { channels: 3, side: 5 },
    { channels: 2, side: 3 },
  ])('is the same in memory of its own for $channels × $side × $side pixels', ({ channels, side }) => {
    const [count, size] = [9, channels * side * side];
    const samples: Samples = {
      count,
      features: Uint8Array.from({ length: count * size }, (_, i) => (i * 37 + (i >> 3)) % 256),
      labels: Int32Array.from({ length: count }, (_, i) => i % 3),
      shape: [channels, side, side],
      scale: Float32Array.from({ length: 256 * channels }, (_, i) => Math.sin(i)),
    };
    // Samples are kept there as long as there is room: for all, for some, for none.
    for (const kept of [undefined, 3 * size, 0]) {
      const pixels = pixelBatchOf(samples, 4, kept)!;
      for (const chosen of [
        [8, 0, 3, 3],
        [7, 1],
        [1, 8, 0, 7],
      ]) {
        const [x, y, own] = [new Float32Array(chosen.length * size), new Int32Array(4), new Int32Array(4)];
        fillBatch(samples, chosen, x, y);
        fillBatch(samples, chosen, pixels.x, own, undefined, pixels);
        expect(pixels.x.subarray(0, x.length)).toEqual(x);
        expect(own).toEqual(y);
      }
    }
    expect(pixelBatchOf({ ...samples, cropPadding: 1 }, 4)).toBeUndefined();
  });

  it('normalises each channel by its own mean and deviation', () => {
    const [x, y] = [new Float32Array(64), new Int32Array(2)];
    fillBatch(image, [1, 0], x, y);
    expect([...y]).toEqual([6, 5]);
    expect([x[0], x[15], x[32], x[47]]).toEqual([100, 115, 0, 15]);
    expect(x[16]).toBeCloseTo((116 / 255 - 0.5) / (0.5 / 255), 3);
    expect(x[63]).toBeCloseTo((31 / 255 - 0.5) / (0.5 / 255), 3);
  });

  it('normalises every pixel, however many there are', () => {
    for (const side of [1, 2, 3, 5]) {
      const size = 3 * side;
      const scale = scaleTable([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]);
      const features = Uint8Array.from({ length: 2 * size }, (_, i) => (37 * i) % 256);
      const samples: Samples = { count: 2, features, labels: Int32Array.of(0, 1), shape: [3, 1, side], scale };
      const x = new Float32Array(2 * size + 1).fill(-9);
      fillBatch(samples, [1, 0], x, new Int32Array(2));
      const value = (from: number) => (_: unknown, i: number) =>
        scale[256 * Math.floor(i / side) + features[from + i]!]!;
      const wanted = [size, 0].flatMap((from) => Array.from({ length: size }, value(from)));
      expect([...x]).toEqual([...wanted, -9]);
    }
  });

  it('copies numbers as they are, and refuses buffers that are too small', () => {
    const plain: Samples = { count: 2, features: Float32Array.of(1, 2, 3, 4), labels: Int32Array.of(0, 1), shape: [2] };
    const x = new Float32Array(4);
    fillBatch(plain, [1, 1], x, new Int32Array(2));
    expect([...x]).toEqual([3, 4, 3, 4]);
    expect(() => fillBatch(plain, [0, 1], x.subarray(1), new Int32Array(2))).toThrow(RangeError);
  });

  const grey: Samples = {
    ...image,
    shape: [1, 4, 4],
    features: image.features,
    scale: scaleTable([0], [1 / 255]),
    cropPadding: 1,
  };
  /** What a crop of the padded image from (top, left) looks like, mirrored or not. */
  const expected = (sample: number, top: number, left: number, mirrored: boolean) =>
    Array.from({ length: 16 }, (_, at) => {
      const [row, column] = [top + (at >> 2), left + (mirrored ? 3 - (at & 3) : at & 3)];
      const inside = row >= 0 && row < 4 && column >= 0 && column < 4;
      return inside ? (grey.features as Uint8Array)[16 * sample + 4 * row + column]! : 0;
    }).join();

  it('augments: every crop and both mirror images occur, and nothing else', () => {
    const possible = new Set(
      [-1, 0, 1].flatMap((top) => [-1, 0, 1].flatMap((left) => [true, false].map((m) => expected(1, top, left, m)))),
    );
    const x = new Float32Array(16);
    const seen = new Set<string>();
    for (let step = 0; step < 400; step++) {
      fillBatch(grey, [1], x, new Int32Array(1), { seed: 1, replica: 0, step });
      seen.add([...x].map(Math.round).join());
    }
    expect(seen).toEqual(possible);
    expect(possible.size).toBe(18);
  });

  it('augments by (seed, replica, step), and only where asked to', () => {
    const fill = (key?: { seed: number; replica: number; step: number }) => {
      const x = new Float32Array(16 * 8);
      fillBatch(grey, new Uint32Array(8).fill(1), x, new Int32Array(8), key);
      return x;
    };
    const key = { seed: 1, replica: 2, step: 3 };
    expect(fill(key)).toEqual(fill(key));
    for (const changed of [{ seed: 2 }, { replica: 1 }, { step: 4 }])
      expect(fill({ ...key, ...changed })).not.toEqual(fill(key));
    expect([...fill().subarray(0, 16)].map(Math.round).join()).toBe(expected(1, 0, 0, false));
    const { cropPadding, ...plain } = grey;
    expect(cropPadding).toBe(1);
    const x = new Float32Array(16);
    fillBatch(plain, [1], x, new Int32Array(1), key);
    expect([...x].map(Math.round).join()).toBe(expected(1, 0, 0, false));
  });

  it('takes the middle of images that are stored larger', () => {
    const larger: Samples = { ...grey, shape: [1, 2, 2], stored: [1, 4, 4] };
    const x = new Float32Array(4);
    fillBatch(larger, [0], x, new Int32Array(1));
    expect([...x].map(Math.round)).toEqual([5, 6, 9, 10]);
  });
});

it('take keeps the samples chosen', () => {
  const kept = take({ ...image, groups: Int32Array.of(8, 9) }, Uint32Array.of(1));
  expect(kept).toMatchObject({ count: 1, labels: Int32Array.of(6), groups: Int32Array.of(9) });
  expect(kept.features).toEqual((image.features as Uint8Array).slice(32));
});

describe('text batches', () => {
  const stream = Int32Array.from({ length: 26 }, (_, i) => i);

  it('continue row by row, time by time, with the next token as target', () => {
    const shape = { batch: 2, bptt: 4 };
    expect(textBatchCount(26, shape)).toBe(3);
    const [x, y] = [new Int32Array(8), new Int32Array(8)];
    fillTextBatch(stream, shape, 1, x, y);
    expect([...x]).toEqual([4, 17, 5, 18, 6, 19, 7, 20]);
    expect([...y]).toEqual([5, 18, 6, 19, 7, 20, 8, 21]);
    fillTextBatch(stream, shape, 2, x, y);
    expect(y.at(-1)).toBe(25);
    expect(() => fillTextBatch(stream, shape, 3, x, y)).toThrow(RangeError);
  });

  it('are none where the stream is too short', () => {
    expect(textBatchCount(8, { batch: 2, bptt: 4 })).toBe(0);
    expect(textBatchCount(10, { batch: 2, bptt: 4 })).toBe(1);
  });
});
