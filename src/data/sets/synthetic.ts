import { z } from 'zod';
import { number } from '../../base/format.ts';
import { requireMemory } from '../../base/memory.ts';
import { Random } from '../../base/random.ts';
import { sizeOf } from '../../base/shape.ts';
import { type Samples, sharedFloats, sharedInts } from '../dataset.ts';
import { dataSet } from '../set.ts';
import { sampleSettings } from '../settings.ts';

/** Class means are this far apart on average, in units of the noise 1. */
const distance = 4;
const [meansStream, trainStream, testStream] = [0, 1, 2];

/** Fills `out` with standard normal numbers, two from each pair of uniform ones (Box–Muller). */
function fillNormal(random: Random, out: Float32Array): void {
  for (let i = 0; i < out.length; i += 2) {
    const radius = Math.sqrt(-2 * Math.log((random.uint32() + 1) / 2 ** 32));
    const angle = (2 * Math.PI * random.uint32()) / 2 ** 32;
    out[i] = radius * Math.cos(angle);
    if (i + 1 < out.length) out[i + 1] = radius * Math.sin(angle);
  }
}

interface Gaussian {
  readonly classes: number;
  readonly shape: readonly number[];
  readonly noise: number;
}

/**
 * Gaussian classes: sample i is of class i mod classes, and x = μ_class + noise·N(0, I), scaled to unit variance. Each sample is
 * a function of (seed, i) alone, so fewer samples are the first of more.
 */
function draw({ classes, shape, noise }: Gaussian, count: number, seed: number, stream: number): Samples {
  const size = sizeOf(shape);
  const spread = distance / Math.sqrt(2 * size);
  const unit = 1 / Math.hypot(spread, noise);
  const means = new Float32Array(classes * size);
  fillNormal(new Random(seed, 'synthetic', meansStream), means);
  const [features, labels] = [sharedFloats(count * size), sharedInts(count)];
  for (let i = 0; i < count; i++) {
    const label = (labels[i] = i % classes);
    const sample = features.subarray(i * size, (i + 1) * size);
    fillNormal(new Random(seed, 'synthetic', stream, i), sample);
    for (let d = 0; d < size; d++) sample[d] = unit * (spread * means[label * size + d]! + noise * sample[d]!);
  }
  return { count, features, labels, shape };
}

export const synthetic = dataSet({
  name: 'synthetic',
  summary: 'seeded Gaussian classes',
  settings: {
    ...sampleSettings,
    classes: z.int().min(2).default(10).describe('number of classes'),
    shape: z.array(z.int().min(1)).min(1).default([32]).describe('shape of one sample'),
    noise: z
      .number()
      .min(0)
      .max(1e6)
      .default(1)
      .describe('difficulty: spread within a class, where class centres are 4 apart; 0.5 easy, 1 usual, 2 hard'),
    train: z.int().min(1).default(10_000).describe('training samples to draw'),
    test: z.int().min(1).default(2_000).describe('test samples to draw'),
  },
  origin: { from: 'drawn from the seed', licence: 'none needed' },
  read(settings, { seed }) {
    const { train, test, shape, classes } = settings;
    const what = `${number(train + test)} samples of ${number(sizeOf(shape))} numbers`;
    requireMemory(
      4 * (train + test + classes) * sizeOf(shape),
      what,
      'make data.train, data.test or data.shape smaller',
    );
    return {
      task: 'classification',
      name: 'synthetic',
      shape,
      classes,
      train: draw(settings, train, seed, trainStream),
      test: draw(settings, test, seed, testStream),
    };
  },
});
