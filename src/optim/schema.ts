import { z } from 'zod';

const common = {
  weightDecay: z.number().min(0).default(0).describe('not applied to norm parameters and biases'),
  clipNorm: z.number().gt(0).optional().describe('scale gradients down to this global norm'),
};
const betas = {
  beta1: z.number().min(0).lt(1).default(0.9),
  beta2: z.number().min(0).lt(1).default(0.999),
  epsilon: z.number().gt(0).default(1e-8),
};

export const optimizerSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('sgd').describe('stochastic gradient descent'),
    momentum: z.number().min(0).lt(1).default(0),
    nesterov: z.boolean().default(false),
    ...common,
  }),
  z.strictObject({ kind: z.literal('adam'), ...betas, ...common }),
  z.strictObject({ kind: z.literal('adamw').describe('Adam with decoupled weight decay'), ...betas, ...common }),
]);

const epochs = z.number().min(0);
const by = z
  .union([z.enum(['degree', 'world']), z.number().gt(0)])
  .describe('scale by the number of neighbours + 1, by the number of replicas, or by a number');

export const learningRateSchema = z.strictObject({
  base: z.number().gt(0).describe('the learning rate before scaling'),
  warmup: epochs.default(0).describe('epochs of linear warm-up from the unscaled to the scaled rate'),
  schedule: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('constant') }),
      z.strictObject({
        kind: z.literal('multi-step').describe('multiplied by factor at each of the epochs'),
        epochs: z.array(epochs).min(1),
        factor: z.number().gt(0).lt(1).default(0.1),
      }),
      z.strictObject({
        kind: z.literal('cosine').describe('down to end × base over the run'),
        end: z.number().min(0).lt(1).default(0),
      }),
      z.strictObject({
        kind: z.literal('one-cycle').describe('up to peak × base, then down to almost nothing'),
        peak: z.number().gt(1).default(10),
        peakAt: z.number().gt(0).lt(1).default(0.3).describe('share of the run spent going up'),
      }),
    ])
    .prefault({ kind: 'constant' }),
  scaling: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('none') }),
      z.strictObject({ kind: z.literal('linear').describe('× batch/baseBatch × s'), by, baseBatch: z.int().min(1) }),
      z.strictObject({ kind: z.literal('sqrt').describe('× √(batch/baseBatch × s)'), by, baseBatch: z.int().min(1) }),
    ])
    .prefault({ kind: 'none' }),
});
