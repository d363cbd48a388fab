/**
 * Every number that is recorded, in one place: what an event holds, the run's database, the tables that are asked and exported, and
 * the series of reports all follow from these rows. A new one is a row here and the place that measures it.
 */
export interface Column {
  readonly type: 'integer' | 'double' | 'text';
  /** Per replica: a list with a value for each, null for one that is lost. */
  readonly per: 'run' | 'replica';
  /** Null if it was not measured. */
  readonly optional: boolean;
  readonly unit: string;
  readonly description: string;
}

export type Columns = Readonly<Record<string, Column>>;

/** A value for each replica, null for one that is lost. */
export type PerReplica = readonly (number | null)[];

type Value<C extends Column> = C['per'] extends 'replica'
  ? C['optional'] extends true
    ? PerReplica | null
    : PerReplica
  : C['type'] extends 'text'
    ? string
    : C['optional'] extends true
      ? number | null
      : number;

/** One record with these columns. */
export type Row<C extends Columns> = { readonly [K in keyof C]: Value<C[K]> };

const one = <T extends Column['type']>(type: T, description: string, unit = '') =>
  ({ type, per: 'run', optional: false, unit, description }) as const;
const optional = (description: string, unit = '') =>
  ({ type: 'double', per: 'run', optional: true, unit, description }) as const;
const each = (description: string, unit = '') =>
  ({ type: 'double', per: 'replica', optional: false, unit, description }) as const;
const eachIfProbed = (description: string, unit = '') =>
  ({ type: 'double', per: 'replica', optional: true, unit, description }) as const;

/** What the time of a step is spent on. */
export const phases = {
  data: 'filling batches',
  compute: 'gradients and local steps',
  mix: 'averaging with the neighbours',
  wait: 'waiting for other workers',
  probe: 'measuring norms and distance',
} as const;
export type Phase = keyof typeof phases;

/** Milliseconds of one step by what was done, mean over the workers. */
export type PhaseMs = Readonly<Record<Phase, number>>;

type PhaseColumn = `${Phase}Ms`;
const phaseColumns = Object.fromEntries(
  Object.entries(phases).map(([phase, what]) => [`${phase}Ms`, one('double', `${what}, mean over the workers`, 'ms')]),
) as Record<PhaseColumn, ReturnType<typeof one<'double'>>>;

/** One row per step. */
export const stepColumns = {
  step: one('integer', 'counted from 0 over the whole run'),
  epoch: one('integer', 'counted from 0'),
  connections: one('double', 'neighbours per replica, mean'),
  learningRate: one('double', 'of this step'),
  loss: each('on its own batch, before the step'),
  accuracy: each('on its own batch, before the step'),
  gradientNorm: each('L2 norm of its gradient'),
  distance: optional('consensus distance Ξ after the local step, before averaging; null if it was not probed'),
  replicaDistance: eachIfProbed('‖x_i − x̄‖, its own distance to the mean, when Ξ was probed'),
  controlledDistance: optional('Ξ after the last averaging; null if consensus control did not measure it'),
  targetDistance: optional('what consensus control holds Ξ against; null without it'),
  estimatedDistance: optional('Ξ before averaging as sketches show it; null unless the method looks at it'),
  threshold: optional('Ξ from which on the method averages; null if it has none'),
  harm: optional(
    'harm of disagreement as measured at the last average, relative to the mean gradient; null if it is not',
  ),
  period: optional('steps between the last two averages of a method that decides by itself; null of others'),
  branch: optional('which conditions of the method held that hang on numbers: bit k for the k-th; null if it has none'),
  round: one('integer', 'with which round of the topology it averaged first, counted from 0 over the whole run'),
  gossips: one('integer', 'averagings with the neighbours in this step'),
  ownSteps: eachIfProbed('steps of its own that it has made, if replicas do not step together'),
  staleness: eachIfProbed(
    'how often its parameters changed while it computed, mean over the gradients that it applied in this step; null if it applied none',
  ),
  sentBytes: one(
    'double',
    'sent by one replica, mean: what the algorithm needs, consensus control included; probes are not counted',
    'bytes',
  ),
  sentMessages: one('double', 'sent by one replica, mean'),
  virtualStart: eachIfProbed('virtual time at which it began the step; null without a network', 's'),
  virtualComputed: eachIfProbed('virtual time at which it had computed', 's'),
  virtualFinished: eachIfProbed('virtual time at which it had finished the step', 's'),
  ...phaseColumns,
} as const satisfies Columns;

/** One row per probed step and tensor. */
export const normColumns = {
  step: one('integer', 'counted from 0 over the whole run'),
  tensor: one('integer', 'its position in the model'),
  norm: each('L2 norm of the tensor after the local step, before averaging'),
} as const satisfies Columns;

/** One row per step whose edges were probed: lists over the edges of its round. */
export const edgeColumns = {
  step: one('integer', 'counted from 0 over the whole run'),
  source: each('the replica that was heard'),
  replica: each('the replica that heard it'),
  distance: each('‖x_i − x_j‖ of the two after the local step, before averaging'),
} as const satisfies Columns;

/** One row per epoch, or part of one before the run was stopped: lists over the links that were used. Without a network there are none. */
export const linkColumns = {
  step: one('integer', 'steps done'),
  epoch: one('integer', 'counted from 0'),
  source: each('the replica that sent'),
  replica: each('the replica that heard it'),
  bytes: each('sent', 'bytes'),
  messages: each('sent'),
  lost: each('messages that were lost on their way, each time'),
  late: each('messages that came when their receiver had gone on'),
  busyNs: each('how long a port was busy with what was sent', 'ns'),
} as const satisfies Columns;

/** One row per evaluation. */
export const evaluationColumns = {
  step: one('integer', 'steps done'),
  epoch: one('integer', 'epochs done'),
  replicas: each('which local models'),
  samples: one('integer', 'of the test set'),
  loss: each('of the local model on the test set'),
  accuracy: each('of the local model on the test set'),
  mergedLoss: optional('of the average of all replicas; null if it was not evaluated'),
  mergedAccuracy: optional('of the average of all replicas; null if it was not evaluated'),
  trainSamples: optional('of the training set; null if it was not evaluated'),
  trainLoss: each('of the local model on training samples of all replicas'),
  trainAccuracy: each('of the local model on training samples of all replicas'),
  mergedTrainLoss: optional('of the average of all replicas on these samples'),
  mergedTrainAccuracy: optional('of the average of all replicas on these samples'),
  clientLoss: optional('if the local models are servers: of their clients on the test set, mean; null otherwise'),
  clientAccuracy: optional('if the local models are servers: of their clients on the test set, mean; null otherwise'),
  ms: one('double', 'the whole evaluation', 'ms'),
  virtualSeconds: eachIfProbed(
    'virtual time at which the local model had finished its last step; null without a network',
    's',
  ),
  mergedVirtualSeconds: optional('virtual time at which the last replica had finished its step', 's'),
} as const satisfies Columns;

/** One row per parameter tensor of the model. */
export const tensorColumns = {
  tensor: one('integer', 'its position in the model'),
  name: one('text', 'of the tensor'),
  shape: one('text', 'as in 3×4'),
  kind: one('text', 'weight, bias or norm'),
  size: one('integer', 'number of elements'),
} as const satisfies Columns;

/** One row per checkpoint up to which all events are stored. */
export const checkpointColumns = { step: one('integer', 'steps done') } as const satisfies Columns;
