import { expect, it } from 'vitest';
import type { Classification } from '../dataset.ts';
import { loadData } from '../load.ts';
import { dataSchema } from '../schema.ts';

const load = async (settings: object, seed = 1) =>
  (await loadData(dataSchema.parse({ kind: 'synthetic', ...settings }), { seed })) as Classification;

/** Test accuracy of the nearest mean of the training samples: what a good model reaches on Gaussian classes. */
function attainable({ train, test, classes, shape }: Classification): number {
  const size = shape.reduce((a, b) => a * b);
  const [x, z] = [train.features as Float32Array, test.features as Float32Array];
  const means = new Float64Array(classes * size);
  const counts = new Float64Array(classes);
  train.labels.forEach((label, i) => {
    counts[label]! += 1;
    for (let d = 0; d < size; d++) means[label * size + d]! += x[i * size + d]!;
  });
  let correct = 0;
  test.labels.forEach((label, i) => {
    let [best, nearest] = [Number.POSITIVE_INFINITY, -1];
    for (let c = 0; c < classes; c++) {
      let distance = 0;
      for (let d = 0; d < size; d++) distance += (means[c * size + d]! / counts[c]! - z[i * size + d]!) ** 2;
      if (distance < best) [best, nearest] = [distance, c];
    }
    correct += nearest === label ? 1 : 0;
  });
  return correct / test.count;
}

it('can be learned, and less well with more noise', async () => {
  const [easy, usual, hard] = await Promise.all([0.5, 1, 2].map(async (noise) => attainable(await load({ noise }))));
  expect(easy).toBeGreaterThan(0.99);
  expect(usual).toBeGreaterThan(0.75);
  expect(usual).toBeLessThan(0.95);
  expect(hard).toBeGreaterThan(0.3);
  expect(hard).toBeLessThan(0.6);
});

it('has unit variance, balanced classes and the shape asked for', async () => {
  const { train, shape, classes } = await load({ shape: [2, 3, 4], classes: 4, train: 1000 });
  const x = train.features as Float32Array;
  expect({ shape, classes, size: x.length }).toEqual({ shape: [2, 3, 4], classes: 4, size: 24_000 });
  const mean = x.reduce((a, b) => a + b) / x.length;
  const second = x.reduce((a, b) => a + b * b, 0) / x.length;
  expect(Math.abs(mean)).toBeLessThan(0.2);
  expect(second).toBeGreaterThan(0.8);
  expect(second).toBeLessThan(1.2);
  expect(train.labels.filter((label) => label === 3)).toHaveLength(250);
});

it('follows from the seed: fewer samples are the first of more, train and test differ', async () => {
  const [few, many, other] = [await load({ train: 10 }), await load({ train: 50 }), await load({ train: 10 }, 2)];
  const features = (set: Classification) => set.train.features as Float32Array;
  expect(features(few)).toEqual(features(many).subarray(0, 320));
  expect(features(few)).not.toEqual(features(other));
  expect(features(few)).not.toEqual((few.test.features as Float32Array).subarray(0, 320));
});
