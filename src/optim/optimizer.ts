import { z } from 'zod';
import type { DeepReadonly } from '../base/schema.ts';
import { adam, chain, clipByGlobalNorm, momentum, parameterKinds, type Transform, weightDecay } from './transform.ts';

const fraction = z.number().min(0).lt(1);
const common = {
  weightDecay: z.number().min(0).default(0).describe('share of a parameter that is added to its gradient'),
  decayExcept: z
    .array(z.enum(parameterKinds))
    .default(['norm', 'bias'])
    .describe('kinds of parameters that do not decay'),
  clipNorm: z.number().gt(0).optional().describe('scale gradients down to this norm over all tensors'),
};
const adamSettings = {
  beta1: fraction.default(0.9).describe('memory of the mean gradient'),
  beta2: fraction.default(0.999).describe('memory of the mean squared gradient'),
  epsilon: z.number().gt(0).default(1e-8).describe('added to the root of the mean squared gradient'),
};

/** The optimizers an experiment can name. */
export const optimizerSchema = z.discriminatedUnion('kind', [
  z
    .strictObject({
      kind: z.literal('sgd').describe('stochastic gradient descent'),
      momentum: fraction.default(0).describe('share of the last update that is kept'),
      nesterov: z.boolean().default(false).describe('Nesterov’s momentum, which looks ahead'),
      ...common,
    })
    .refine(
      ({ momentum, nesterov }) => !nesterov || momentum > 0,
      'nesterov needs a momentum above 0, as in momentum: 0.9',
    ),
  z.strictObject({
    kind: z.literal('adam').describe('Adam, weight decay as part of the gradient'),
    ...adamSettings,
    ...common,
  }),
  z.strictObject({
    kind: z.literal('adamw').describe('Adam with decoupled weight decay'),
    ...adamSettings,
    ...common,
    weightDecay: z
      .number()
      .min(0)
      .default(0.01)
      .describe('share of a parameter that is taken away per step, × learning rate'),
  }),
]);
export type OptimizerSettings = DeepReadonly<z.output<typeof optimizerSchema>>;

/** The chain of transforms that settings stand for, with PyTorch's order: clip, decay, direction; AdamW decays last. */
export function optimizer(settings: OptimizerSettings): Transform {
  const clip = settings.clipNorm === undefined ? [] : [clipByGlobalNorm(settings.clipNorm)];
  const decay = weightDecay(settings.weightDecay, settings.decayExcept);
  switch (settings.kind) {
    case 'sgd':
      return chain(...clip, decay, ...(settings.momentum > 0 ? [momentum(settings.momentum, settings)] : []));
    case 'adam':
      return chain(...clip, decay, adam(settings));
    case 'adamw':
      return chain(...clip, adam(settings), decay);
  }
}
