import { z } from 'zod';

/** How the training samples are dealt to the replicas; no sample goes to two. */
export const partitionSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('iid').describe('shuffled, equally many each') }),
  z.strictObject({
    kind: z.literal('dirichlet').describe('class shares drawn from a Dirichlet distribution'),
    alpha: z.number().gt(0).describe('large: alike; small: each replica sees few classes'),
  }),
  z.strictObject({
    kind: z.literal('shards').describe('sorted by label, cut into shards'),
    perReplica: z.int().min(1).default(2).describe('shards per replica'),
  }),
  z.strictObject({
    kind: z.literal('group').describe('whole writers (MNIST) or speakers (Shakespeare) to one replica'),
  }),
]);

const common = {
  train: z.int().min(1).optional().describe('training samples to use; all by default'),
  test: z.int().min(1).optional().describe('test samples to use; all by default'),
  partition: partitionSchema.prefault({ kind: 'iid' }),
  dropLast: z.boolean().default(true).describe('leave out an epoch’s last batch when it is not full'),
};
const augment = z.boolean().default(true).describe('random crops and flips');

export const dataSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('mnist').describe('handwritten digits, 28×28'), ...common }),
  z.strictObject({ kind: z.literal('fashion-mnist').describe('clothes, 28×28'), ...common }),
  z.strictObject({
    kind: z.literal('cifar10').describe('photographs of 10 classes, 32×32 in colour'),
    augment,
    ...common,
  }),
  z.strictObject({ kind: z.literal('wikitext-2').describe('Wikipedia articles by words'), ...common }),
  z.strictObject({ kind: z.literal('shakespeare').describe('plays by characters'), ...common }),
  z.strictObject({
    kind: z.literal('libsvm').describe('files in LIBSVM format'),
    trainPath: z.string().min(1),
    testPath: z.string().min(1).optional(),
    ...common,
  }),
  z.strictObject({
    kind: z.literal('images').describe('a folder train/ and val/ with a folder of JPEG or PNG files per class'),
    path: z.string().min(1),
    size: z.int().min(8).default(224).describe('side in pixels after cropping'),
    augment,
    ...common,
  }),
  z.strictObject({
    kind: z.literal('synthetic').describe('seeded Gaussian classes'),
    classes: z.int().min(2).default(10),
    shape: z.array(z.int().min(1)).min(1).default([32]).describe('shape of one sample'),
    noise: z
      .number()
      .min(0)
      .default(1)
      .describe('difficulty: spread within a class against the distance between classes'),
    ...common,
  }),
]);
