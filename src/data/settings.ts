import { z } from 'zod';

/** How the training samples are dealt to the replicas; no sample goes to two. */
export const partitionSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('iid').describe('shuffled, equally many each; of a text: equally long pieces') }),
  z.strictObject({
    kind: z.literal('dirichlet').describe('class shares drawn from a Dirichlet distribution'),
    alpha: z.number().min(1e-6).max(1e6).describe('large: alike; small: each replica sees few classes'),
    equalSizes: z
      .boolean()
      .default(true)
      .describe(
        'equally many samples each, which makes few replicas more alike than alpha says (at n = 4 and alpha 0.1 class shares deviate by 0.14 instead of 0.21); false: sizes follow from the draw as well',
      ),
  }),
  z.strictObject({
    kind: z.literal('shards').describe('sorted by label, cut into shards'),
    perReplica: z.int().min(1).default(2).describe('shards per replica'),
  }),
  z.strictObject({
    kind: z.literal('group').describe('whole writers (MNIST) or speakers (Shakespeare) to one replica'),
  }),
]);

export type PartitionSettings = z.output<typeof partitionSchema>;

const partition = partitionSchema
  .prefault({ kind: 'iid' })
  .describe('how the training samples are dealt to the replicas; no sample goes to two');

/** Settings of every classification set. */
export const sampleSettings = {
  train: z.int().min(1).optional().describe('training samples to use, chosen by the seed; all by default'),
  test: z.int().min(1).optional().describe('test samples to use, chosen by the seed; all by default'),
  partition,
  dropLast: z.boolean().default(true).describe('leave out the last batch of a pass over the data when it is not full'),
};

/** Settings of every text. */
export const textSettings = {
  train: z.int().min(2).optional().describe('tokens of training text to use, from its beginning; all by default'),
  test: z.int().min(2).optional().describe('tokens of test text to use, from its beginning; all by default'),
  partition,
};

/** What is to be predicted, for sets of the user's that may hold any of it. */
export const task = z
  .enum(['classification', 'regression', 'multi-label'])
  .default('classification')
  .describe(
    'one class of several (cross entropy), numbers (mean squared error), or yes or no for each of several labels (binary cross entropy)',
  );

export const normalizeTargets = z
  .boolean()
  .default(true)
  .describe('of regression: bring the targets to mean 0 and standard deviation 1 over the training samples');

export const augment = z.boolean().default(true).describe('random crops and flips');
