import { z } from 'zod';
import type { DeepReadonly } from '../base/schema.ts';

/** The learning rate as a fraction of its full value, at a point in training counted in epochs (whole or not). */
export type RateSchedule = (epoch: number) => number;

export const constant = (): RateSchedule => () => 1;

/** × factor at each milestone. */
export const multiStep =
  (milestones: readonly number[], factor = 0.1): RateSchedule =>
  (epoch) =>
    factor ** milestones.filter((milestone) => epoch >= milestone).length;

/** From 1 to `end` along half a cosine over `epochs`, then at the end. */
export const cosine =
  (epochs: number, end = 0): RateSchedule =>
  (epoch) =>
    end + ((1 - end) * (1 + Math.cos(Math.PI * Math.min(1, epoch / epochs)))) / 2;

/** e^(−decay · epoch). */
export const exponential =
  (decay: number): RateSchedule =>
  (epoch) =>
    Math.exp(-decay * epoch);

/**
 * Up along half a cosine from 1/25 to 1 over the first 30 % of training, then down to 1/250,000.
 * Smith & Topin, "Super-convergence", 2018; numbers as PyTorch's OneCycleLR.
 */
export function oneCycle(epochs: number, rise = 0.3, start = 1 / 25, end = start / 1e4): RateSchedule {
  const between = (from: number, to: number, at: number) => to + ((from - to) * (1 + Math.cos(Math.PI * at))) / 2;
  return (epoch) => {
    const at = Math.min(1, epoch / epochs);
    return at < rise ? between(start, 1, at / rise) : between(1, end, (at - rise) / (1 - rise));
  };
}

/** Linear from `start` to 1 over the first epochs; afterwards the schedule, whose epochs count from the beginning. */
export const warmUp =
  (epochs: number, start: number, then: RateSchedule): RateSchedule =>
  (epoch) =>
    epoch < epochs ? start + ((1 - start) * epoch) / epochs : then(epoch);

/** How the base learning rate grows with the size of the global batch. */
export const scalingRules = ['none', 'linear', 'sqrt'] as const;
export type ScalingRule = (typeof scalingRules)[number];

/** s of the scaling rules: degree + 1 ("topology"), the number of replicas ("world"), or a number. */
export type ScaleBy = 'topology' | 'world' | number;

export function scaleFactor(by: ScaleBy, degree: number, replicas: number): number {
  if (by === 'topology') return degree + 1;
  return by === 'world' ? replicas : by;
}

/**
 * The scaled learning rate.
 *
 *     none: lr      linear: lr · batch/baseBatch · s      sqrt: lr · √(s · batch/baseBatch)
 */
export function scaledRate(rule: ScalingRule, base: number, s: number, batch: number, baseBatch: number): number {
  switch (rule) {
    case 'none':
      return base;
    case 'linear':
      return ((base * batch) / baseBatch) * s;
    case 'sqrt':
      return base * Math.sqrt((s * batch) / baseBatch);
  }
}

/** The learning rate as an experiment describes it. */
export const learningRateSchema = z.strictObject({
  base: z.number().gt(0).describe('the learning rate before scaling'),
  warmup: z.number().min(0).default(0).describe('epochs of linear warm-up to the scaled rate'),
  warmupFrom: z
    .number()
    .min(0)
    .optional()
    .describe('rate at the start of the warm-up; by default the unscaled base, or 0 if nothing is scaled'),
  schedule: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('constant').describe('the rate stays') }),
      z.strictObject({
        kind: z.literal('multi-step').describe('× factor at each of the epochs'),
        epochs: z.array(z.number().min(0)).min(1).describe('when the rate drops; fractions of an epoch are allowed'),
        factor: z.number().gt(0).lt(1).default(0.1).describe('what the rate is multiplied by at each drop'),
      }),
      z.strictObject({
        kind: z.literal('cosine').describe('down to a share of the rate over the run'),
        end: z.number().min(0).lt(1).default(0).describe('share of the rate at the end of the run'),
      }),
      z.strictObject({
        kind: z.literal('exponential').describe('× e^(−decay) per epoch'),
        decay: z.number().gt(0).default(0.07).describe('how fast the rate falls: to 37 % in 1/decay epochs'),
      }),
      z.strictObject({
        kind: z.literal('one-cycle').describe('up to the rate, then down to almost nothing'),
        rise: z.number().gt(0).lt(1).default(0.3).describe('share of the run spent going up'),
      }),
    ])
    .prefault({ kind: 'constant' })
    .describe('how the rate changes after the warm-up'),
  scaling: z
    .strictObject({
      kind: z
        .enum(scalingRules)
        .default('none')
        .describe('linear: × batch/baseBatch × s; sqrt: × √(batch/baseBatch × s)'),
      by: z
        .union([z.enum(['topology', 'world']), z.number().gt(0)])
        .default('topology')
        .describe('s: neighbours + 1, number of replicas, or a number'),
      baseBatch: z.int().min(1).default(256).describe('samples per step for which the base rate was chosen'),
    })
    .prefault({})
    .describe('how the base rate grows with the samples of a step'),
});
export type LearningRateSettings = DeepReadonly<z.output<typeof learningRateSchema>>;

function scheduleOf(settings: LearningRateSettings['schedule'], epochs: number): RateSchedule {
  switch (settings.kind) {
    case 'constant':
      return constant();
    case 'multi-step':
      return multiStep(settings.epochs, settings.factor);
    case 'cosine':
      return cosine(epochs, settings.end);
    case 'exponential':
      return exponential(settings.decay);
    case 'one-cycle':
      return oneCycle(epochs, settings.rise);
  }
}

export interface Surroundings {
  readonly batch: number;
  readonly replicas: number;
  /** Neighbours per replica: follows k where a schedule changes it. */
  readonly degree: number;
  /** Of the whole run. */
  readonly epochs: number;
}

/** The learning rate at a point in training: warm-up to the scaled rate, then the schedule of the scaled one. */
export function learningRate(settings: LearningRateSettings, around: Surroundings): RateSchedule {
  const { base, scaling } = settings;
  const s = scaleFactor(scaling.by, around.degree, around.replicas);
  const scaled = scaledRate(scaling.kind, base, s, around.batch, scaling.baseBatch);
  const from = settings.warmupFrom ?? (scaling.kind === 'none' ? 0 : base);
  const factor = warmUp(settings.warmup, from / scaled, scheduleOf(settings.schedule, around.epochs));
  return (epoch) => scaled * factor(epoch);
}
