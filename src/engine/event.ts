import type { edgeColumns, evaluationColumns, linkColumns, PerReplica, PhaseMs, Row, stepColumns } from './columns.ts';

/** What happened in a run, in the order in which it happened. Metrics are computed from stored events, never in the loop. */
export type Event =
  | StartEvent
  | StepEvent
  | NormsEvent
  | EdgesEvent
  | LinksEvent
  | EvaluationEvent
  | CheckpointEvent
  | LostEvent
  | PresenceEvent
  | EndEvent;

/** The first event: what is about to happen. */
export interface StartEvent {
  readonly type: 'start';
  /** Steps done before, if the run is resumed. */
  readonly step: number;
  readonly steps: number;
  readonly stepsPerEpoch: number;
  /** Threads of all ranks together. */
  readonly workers: number;
  readonly tensors: readonly {
    readonly name: string;
    readonly shape: readonly number[];
    readonly kind: string;
    readonly size: number;
  }[];
}

type StepRow = Row<typeof stepColumns>;

export type StepEvent = { readonly type: 'step'; readonly ms: PhaseMs } & Omit<StepRow, `${keyof PhaseMs}Ms`>;

export function stepRow({ ms, type: _, ...row }: StepEvent): StepRow {
  const { data: dataMs, compute: computeMs, mix: mixMs, wait: waitMs, probe: probeMs } = ms;
  return { ...row, dataMs, computeMs, mixMs, waitMs, probeMs };
}

/** L2 norm of every parameter tensor on every replica: after the local step and before averaging; if all step together, after that. */
export interface NormsEvent {
  readonly type: 'norms';
  readonly step: number;
  /** norms[tensor][replica] */
  readonly norms: readonly PerReplica[];
}

/** How far those apart are who average with each other: over the edges of the step's round. */
export type EdgesEvent = { readonly type: 'edges' } & Row<typeof edgeColumns>;

/** What was sent over each link of the network since it was last told. */
export type LinksEvent = { readonly type: 'links' } & Row<typeof linkColumns>;

export interface Score {
  readonly loss: number;
  readonly accuracy: number;
}

/** Of local models, and of the average of all replicas. */
export interface Scores {
  readonly samples: number;
  readonly local: readonly Score[];
  readonly merged: Score | null;
}

/** Local models, and the average of all replicas, on the test set and, if asked for, on training samples of all replicas. */
export interface EvaluationEvent extends Scores {
  readonly type: 'evaluation';
  /** Steps done. */
  readonly step: number;
  readonly epoch: number;
  /** Which local models. */
  readonly replicas: readonly number[];
  readonly train: Scores | null;
  /** If the local models are servers: the mean over the clients that were tested. */
  readonly clients?: Score;
  readonly ms: number;
  /** Of the local models, and of the average of all; null without a network. */
  readonly virtualSeconds: PerReplica | null;
  readonly mergedVirtualSeconds: number | null;
}

/** Null for what was not measured: there is no accuracy if numbers are predicted. */
export const known = (value: number | undefined) => (value === undefined || Number.isNaN(value) ? null : value);

export function evaluationRow({
  local,
  merged,
  train,
  clients,
  type: _,
  ...row
}: EvaluationEvent): Row<typeof evaluationColumns> {
  return {
    ...row,
    loss: local.map(({ loss }) => loss),
    accuracy: local.map(({ accuracy }) => known(accuracy)),
    mergedLoss: merged?.loss ?? null,
    mergedAccuracy: known(merged?.accuracy),
    trainSamples: train?.samples ?? null,
    trainLoss: local.map((_, i) => train?.local[i]?.loss ?? null),
    trainAccuracy: local.map((_, i) => known(train?.local[i]?.accuracy)),
    mergedTrainLoss: train?.merged?.loss ?? null,
    mergedTrainAccuracy: known(train?.merged?.accuracy),
    clientLoss: clients?.loss ?? null,
    clientAccuracy: known(clients?.accuracy),
  };
}

export interface CheckpointEvent {
  readonly type: 'checkpoint';
  readonly step: number;
}

/** A rank that is gone; the others continue without it. */
export interface LostEvent {
  readonly type: 'lost';
  /** The step in which it was noticed. */
  readonly step: number;
  /** As the launcher counts. */
  readonly rank: number;
  readonly replicas: readonly number[];
}

export function lossText({ step, rank, replicas }: Omit<LostEvent, 'type'>): string {
  const which = replicas.length === 1 ? `replica ${replicas[0]}` : `replicas ${replicas[0]}–${replicas.at(-1)}`;
  return `rank ${rank} with ${which} was lost in step ${step}`;
}

/** Replicas that left before a step, or while they computed it, and those that are back in it. */
export interface PresenceEvent {
  readonly type: 'presence';
  readonly step: number;
  readonly left: readonly number[];
  readonly returned: readonly number[];
  /** How many are away in this step. */
  readonly away: number;
}

export interface EndEvent {
  readonly type: 'end';
  readonly status: 'complete' | 'diverged' | 'stopped';
  readonly step: number;
  /** Why it diverged, or what it ended without. */
  readonly reason?: string;
  /** The ranks that were lost on the way. */
  readonly lost?: readonly Omit<LostEvent, 'type'>[];
  /** Of all replicas' parameters in order: equal for equal experiments, wherever they ran. Without those that are lost. */
  readonly paramsSha256: string;
}
