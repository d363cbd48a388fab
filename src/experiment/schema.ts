import { z } from 'zod';
import { algorithmSchema, consensusSchema } from '../algorithm/schema.ts';
import { maxSeed } from '../base/random.ts';
import type { DeepReadonly } from '../base/schema.ts';
import { dataSchema } from '../data/schema.ts';
import { modelSchema } from '../model/models.ts';
import { devicesSchema } from '../network/devices.ts';
import { faultsSchema } from '../network/faults/settings.ts';
import { optimizerSchema } from '../optim/optimizer.ts';
import { learningRateSchema } from '../optim/schedule.ts';
import { scheduleSchema } from '../topology/schedule.ts';
import { networkSetting } from './network.ts';
import { sweepSchema } from './sweep.ts';

const name = z
  .string()
  .regex(/^[\w.+-]+$/)
  .describe('letters, digits, and . _ + -');
const someOf = z.union([z.literal('all'), z.int().min(1)]).default('all');

const shape = {
  name,
  description: z.string().optional().describe('free text'),
  seed: z.int().min(0).max(maxSeed).default(1).describe('every random number of the run follows from it'),
  replicas: z.int().min(1).max(20_000).describe('model copies that train together'),
  data: dataSchema.describe('what is learned, and how it is dealt to the replicas'),
  model: modelSchema.describe('the network that every replica trains'),
  batch: z.int().min(1).describe('samples per replica and step'),
  epochs: z.int().min(1).max(1_000_000).describe('passes over the training samples'),
  optimizer: optimizerSchema.prefault({ kind: 'sgd' }).describe('how a gradient becomes an update'),
  learningRate: learningRateSchema.describe('the learning rate over the run'),
  algorithm: algorithmSchema.prefault({ kind: 'dpsgd' }).describe('what a step does with gradients and parameters'),
  topology: scheduleSchema
    .prefault({ kind: 'ring' })
    .describe('who averages with whom; not used by the centralized algorithm'),
  consensus: consensusSchema
    .prefault({ kind: 'none' })
    .describe('consensus control: average again until the replicas are close enough'),
  network: networkSetting
    .optional()
    .describe(
      'what lies between the replicas, for virtual time: the name of one, a file of yours, or settings (a name as kind, and what differs from it); nothing is timed without',
    ),
  devices: devicesSchema.optional().describe('what replicas compute on; laid on top of what the network says of them'),
  until: z
    .strictObject({
      virtualSeconds: z
        .number()
        .gt(0)
        .describe('the run ends with the first step that some replica finishes at this virtual time or later'),
    })
    .optional()
    .describe('ends the run before all epochs are done'),
  faults: faultsSchema
    .optional()
    .describe('what goes wrong: messages that are lost, replicas that come and go, and how long others wait for them'),
  probes: z
    .strictObject({
      everySteps: z.int().min(1).default(1).describe('measure at every so many steps'),
      norms: z
        .boolean()
        .default(true)
        .describe('L2 norm of every tensor on every replica, after its step and before averaging'),
      normsEvery: z
        .int()
        .min(1)
        .optional()
        .describe(
          'norms at every so many of the measured steps; by default at all of them, and of more than 1,024 replicas at so few that what is stored grows no faster than with 1,024',
        ),
      distance: z.boolean().default(true).describe('consensus distance Ξ, and that of each replica to the mean'),
      edges: z
        .boolean()
        .default(false)
        .describe(
          'distances between replicas that average with each other, in rounds of up to 4,096 connections; takes as many exchanges as a replica has neighbours',
        ),
    })
    .prefault({})
    .describe('what is measured during the run'),
  evaluation: z
    .strictObject({
      everyEpochs: z.int().min(1).default(1).describe('evaluate after every so many epochs, and at the end'),
      replicas: someOf.describe('how many local models to evaluate'),
      samples: someOf.describe('how many test samples to evaluate on'),
      train: z
        .union([z.literal('all'), z.int().min(1)])
        .optional()
        .describe('how many training samples to evaluate on as well, the same for all models; none by default'),
      merged: z.boolean().default(true).describe('evaluate the average of all replicas as well'),
    })
    .prefault({})
    .describe('accuracy and loss on the test set'),
  checkpoints: z
    .strictObject({
      everyEpochs: z.int().min(1).default(1).describe('save after every so many epochs'),
      keep: z.int().min(1).default(2).describe('newest checkpoints that are kept'),
    })
    .prefault({})
    .describe('from which an interrupted run is resumed'),
};

/** One run, fully specified: all the defaults of an experiment are in this schema and those it is made of. */
export const runSchema = z.strictObject(shape);

/** What a file holds: a run, variants of it to compare, each a name and what differs, and a grid of settings to try them at. */
export const experimentSchema = z.strictObject({
  extends: z
    .string()
    .min(1)
    .optional()
    .describe(
      'an experiment to start from, by path or name: what this file says is laid on top, variants by their name',
    ),
  ...shape,
  compare: z
    .array(z.looseObject({ name }))
    .min(1)
    .optional()
    .describe('runs to compare: a name and what differs from the rest of the file'),
  sweep: sweepSchema
    .optional()
    .describe(
      'values to try by path, as in { seed: [1, 2, 3], learningRate.base: [0.05, 0.1] }: every variant at every point of the grid',
    ),
});

/** One fully specified run, as plain data. */
export type Experiment = DeepReadonly<z.output<typeof runSchema>>;

type Json = { [key: string]: unknown };

/** The schema of an override: everything may be left out, at every depth. */
function loosened(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(loosened);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(
    ([key, value]) => !(key === 'required' && Array.isArray(value)) && key !== 'default',
  );
  return Object.fromEntries(entries.map(([key, value]) => [key === 'oneOf' ? 'anyOf' : key, loosened(value)]));
}

/** JSON Schema of an experiment file that stands for itself. */
export function wholeSchema(): Json & { readonly properties: Json; readonly required?: unknown } {
  const schema = z.toJSONSchema(experimentSchema, { io: 'input' }) as Json & { properties: Json };
  const { extends: base, compare, sweep, ...settings } = schema.properties;
  const { description, ...network } = settings.network as Json;
  const properties = { ...settings, network: { description, anyOf: [{ type: 'string' }, network] } };
  const variant = { type: 'object', properties: loosened(properties), additionalProperties: false, required: ['name'] };
  return {
    ...schema,
    title: 'DBench experiment',
    properties: { extends: base, ...properties, compare: { ...(compare as Json), items: variant }, sweep },
  };
}

/** JSON Schema of experiment files, for editors: one that extends another may leave out everything. What may be left out is written once. */
export function jsonSchema(): Json {
  const { required, properties, ...schema } = wholeSchema();
  const { compare, ...others } = properties;
  const { items: variant, ...list } = compare as Json & { readonly items: { readonly properties: Json } };
  const variants = { ...list, items: { $ref: '#/$defs/variant' } };
  const part = ([key, value]: [string, unknown]) =>
    key in variant.properties ? { $ref: `#/$defs/variant/properties/${key}` } : loosened(value);
  return {
    ...schema,
    $defs: { variant },
    properties: {
      ...Object.fromEntries(Object.entries(others).map((entry) => [entry[0], part(entry)])),
      compare: variants,
    },
    if: { required: ['extends'] },
    else: { properties: { ...properties, compare: variants }, required },
  };
}
