import { z } from 'zod';

/** The learning rate as a fraction of its full value, at a point in training counted in epochs (whole or not). */
export type Schedule = (epoch: number) => number;

export const constant = (): Schedule => () => 1;

/** × factor at each milestone. */
export const multiStep =
  (milestones: readonly number[], factor = 0.1): Schedule =>
  (epoch) =>
    factor ** milestones.filter((milestone) => epoch >= milestone).length;

/** From 1 to `end` along half a cosine over `epochs`, then at the end. */
export const cosine =
  (epochs: number, end = 0): Schedule =>
  (epoch) =>
    end + ((1 - end) * (1 + Math.cos(Math.PI * Math.min(1, epoch / epochs)))) / 2;

/**
 * Up along half a cosine from 1/25 to 1 over the first 30 % of training, then down to 1/250,000.
 * Smith & Topin, "Super-convergence", 2018; numbers as PyTorch's OneCycleLR.
 */
export function oneCycle(epochs: number, rise = 0.3, start = 1 / 25, end = start / 1e4): Schedule {
  const between = (from: number, to: number, at: number) => to + ((from - to) * (1 + Math.cos(Math.PI * at))) / 2;
  return (epoch) => {
    const at = Math.min(1, epoch / epochs);
    return at < rise ? between(start, 1, at / rise) : between(1, end, (at - rise) / (1 - rise));
  };
}

/** Linear from `start` to 1 over the first epochs; afterwards the schedule, whose epochs count from the beginning. */
export const warmUp =
  (epochs: number, start: number, then: Schedule): Schedule =>
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

const epochs = z.number().positive();

/** The schedules an experiment can name. */
export const scheduleSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('constant') }),
  z.strictObject({
    kind: z.literal('multiStep'),
    milestones: z.array(z.number().min(0)).min(1),
    factor: z.number().positive().default(0.1),
  }),
  z.strictObject({ kind: z.literal('cosine'), epochs, end: z.number().min(0).default(0) }),
  z.strictObject({ kind: z.literal('oneCycle'), epochs, rise: z.number().gt(0).lt(1).default(0.3) }),
]);
export type ScheduleSettings = z.infer<typeof scheduleSchema>;

export function schedule(settings: ScheduleSettings): Schedule {
  switch (settings.kind) {
    case 'constant':
      return constant();
    case 'multiStep':
      return multiStep(settings.milestones, settings.factor);
    case 'cosine':
      return cosine(settings.epochs, settings.end);
    case 'oneCycle':
      return oneCycle(settings.epochs, settings.rise);
  }
}

export interface RateSettings {
  readonly base: number;
  readonly scaled: number;
  readonly warmUpEpochs: number;
  readonly schedule: Schedule;
}

/** The learning rate itself: warm-up from the base rate to the scaled one, then the schedule of the scaled one. */
export function learningRate({ base, scaled, warmUpEpochs, schedule }: RateSettings): Schedule {
  const factor = warmUp(warmUpEpochs, base / scaled, schedule);
  return (epoch) => scaled * factor(epoch);
}
