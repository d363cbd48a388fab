import { z } from 'zod';

const norm = z.enum(['batch', 'group']).default('batch').describe('normalisation layers');
const residual = (depths: readonly number[], where: string) =>
  z.strictObject({
    kind: z.enum(depths.map((depth) => `resnet${depth}`)).describe(`residual networks for ${where}`),
    norm,
  });

export const modelSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('mlp').describe('dense layers'),
    hidden: z.array(z.int().min(1)).default([128]).describe('widths of the hidden layers'),
    activation: z.enum(['relu', 'tanh', 'sigmoid', 'gelu']).default('relu'),
  }),
  z.strictObject({ kind: z.literal('cnn').describe('a small LeNet-like convolutional network') }),
  residual([20, 32, 44, 56], 'CIFAR'),
  residual([18, 50], 'ImageNet'),
  z.strictObject({
    kind: z.literal('densenet100').describe('DenseNet of depth 100, growth 12'),
    bottleneck: z.boolean().default(false).describe('the BC variant: 1×1 bottlenecks'),
  }),
  z.strictObject({
    kind: z.literal('lstm').describe('a language model'),
    layers: z.int().min(1).default(3),
    hidden: z.int().min(1).default(650),
    dropout: z.number().min(0).lt(1).default(0.4),
    bptt: z.int().min(1).default(30).describe('time steps of one sample'),
  }),
]);
