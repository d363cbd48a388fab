import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { batches, fillBatch } from '../batch.ts';
import type { Classification, Samples } from '../dataset.ts';
import { choose } from '../limit.ts';
import { loadData } from '../load.ts';
import { dataSchema } from '../schema.ts';

const nowhere = '/no/such/folder';
const load = async (settings: object = {}, seed = 1) =>
  (await loadData(dataSchema.parse({ kind: 'mnist', ...settings }), { seed, folder: nowhere })) as Classification;
/** The published sum is that of the idx file: its header, then the pixels. */
const md5OfFile = ({ count, features }: Samples) =>
  createHash('md5')
    .update(Uint8Array.from([0x803, count, 28, 28].flatMap((word) => [0, 0, word >> 8, word & 255])))
    .update(features as Uint8Array)
    .digest('hex');

describe('mnist', async () => {
  const mnist = await load();

  it('is the original: sizes, class counts, pixels', () => {
    const counts = (labels: ArrayLike<number>) =>
      Array.from({ length: 10 }, (_, c) => Array.from(labels).filter((l) => l === c).length);
    expect(mnist).toMatchObject({ classes: 10, shape: [1, 28, 28], train: { count: 60_000 }, test: { count: 10_000 } });
    expect(counts(mnist.train.labels)).toEqual([5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]);
    expect(counts(mnist.test.labels)).toEqual([980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]);
    expect([...mnist.train.labels.subarray(0, 8)]).toEqual([5, 0, 4, 1, 9, 2, 1, 3]);
    expect(md5OfFile(mnist.train)).toBe('6bbc9ace898e44ae57da46a324031adb');
    expect(md5OfFile(mnist.test)).toBe('2646ac647ad5339dbf082846283269ea');
  });

  it('is normalised to mean 0 and variance 1 when a batch is filled', () => {
    const everything = Uint32Array.from({ length: 60_000 }, (_, i) => i);
    const [x, y] = [new Float32Array(1000 * 784), new Int32Array(1000)];
    let [sum, squares] = [0, 0];
    for (const batch of batches(everything, { batch: 1000, epoch: 0, replica: 0, seed: 1, dropLast: true })) {
      fillBatch(mnist.train, batch, x, y);
      for (const value of x) {
        sum += value;
        squares += value * value;
      }
    }
    const mean = sum / (60_000 * 784);
    expect(mean).toBeCloseTo(0, 3);
    expect(squares / (60_000 * 784) - mean ** 2).toBeCloseTo(1, 3);
  });

  it('uses as many samples as wished, the same for the same seed', async () => {
    const [some, again, other] = [
      await load({ train: 1000, test: 50 }),
      await load({ train: 1000, test: 50 }),
      await load({ train: 1000 }, 2),
    ];
    expect([some.train.count, some.train.labels.length, some.test.count]).toEqual([1000, 1000, 50]);
    expect((some.train.features as Uint8Array).length).toBe(784_000);
    expect(md5OfFile(again.train)).toBe(md5OfFile(some.train));
    expect(md5OfFile(other.train)).not.toBe(md5OfFile(some.train));
  });

  it('keeps the chosen samples in their order', () => {
    const chosen = choose(60_000, 1000, 1, 'train')!;
    expect([...chosen]).toEqual([...new Set(chosen)].sort((a, b) => a - b));
    expect(choose(60_000, 60_000, 1, 'train')).toBeUndefined();
  });

  it('refuses more than there are', async () => {
    await expect(load({ train: 60_001 })).rejects.toThrow('data.train: 60,001 samples wanted, there are 60,000');
  });

  it('says how to get the writers when they are needed', async () => {
    await expect(load({ partition: { kind: 'group' } })).rejects.toMatchObject({
      message: `the data set mnist-writers is not here: there is no ${nowhere}/qmnist-labels/qmnist-train-labels-idx2-int`,
      hint: 'get it with: dbench data get mnist-writers',
    });
  });
});
