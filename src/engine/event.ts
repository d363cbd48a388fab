/** What happened in a run, in the order in which it happened. Metrics are computed from stored events, never in the loop. */
export type Event = StartEvent | StepEvent | NormsEvent | EvaluationEvent | CheckpointEvent | LostEvent | EndEvent;

/** A value for each replica, null for one that is lost. */
export type PerReplica = readonly (number | null)[];

/** The first event: what is about to happen. */
export interface StartEvent {
  readonly type: 'start';
  /** Steps done before, where a run is resumed. */
  readonly step: number;
  readonly steps: number;
  readonly stepsPerEpoch: number;
  readonly ranks: number;
  readonly tensors: readonly {
    readonly name: string;
    readonly shape: readonly number[];
    readonly kind: string;
    readonly size: number;
  }[];
}

/** Milliseconds of one step by what was done, mean over the ranks. */
export interface PhaseMs {
  readonly data: number;
  readonly compute: number;
  readonly mix: number;
  readonly wait: number;
  readonly probe: number;
}

export interface StepEvent {
  readonly type: 'step';
  /** Counted from 0 over the whole run. */
  readonly step: number;
  readonly epoch: number;
  /** Neighbours per replica, mean. */
  readonly connections: number;
  readonly learningRate: number;
  /** Per replica, on its own batch, before the step. */
  readonly loss: PerReplica;
  readonly accuracy: PerReplica;
  readonly gradientNorm: PerReplica;
  /** Ξ after the local step, before averaging; null where it was not probed. */
  readonly distance: number | null;
  /** Ξ after the last gossip, and the target it was held against; null without consensus control. */
  readonly controlledDistance: number | null;
  readonly targetDistance: number | null;
  /** Averagings with the neighbours in this step. */
  readonly gossips: number;
  /** Sent by one replica, mean over the replicas: what the algorithm needs. Measuring is not counted, Ξ and Γ included. */
  readonly sentBytes: number;
  readonly sentMessages: number;
  readonly ms: PhaseMs;
}

/** L2 norm of every parameter tensor on every replica, before averaging. */
export interface NormsEvent {
  readonly type: 'norms';
  readonly step: number;
  /** norms[tensor][replica] */
  readonly norms: readonly PerReplica[];
}

export interface Score {
  readonly loss: number;
  readonly accuracy: number;
}

/** Local models, and the average of all replicas, on the test set. */
export interface EvaluationEvent {
  readonly type: 'evaluation';
  /** Steps done. */
  readonly step: number;
  readonly epoch: number;
  /** Which local models, and on how many test samples. */
  readonly replicas: readonly number[];
  readonly samples: number;
  readonly local: readonly Score[];
  readonly merged: Score | null;
  readonly ms: number;
}

export interface CheckpointEvent {
  readonly type: 'checkpoint';
  readonly step: number;
}

/** A rank that is gone; the others go on without it. */
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

export interface EndEvent {
  readonly type: 'end';
  readonly status: 'complete' | 'diverged' | 'stopped';
  readonly step: number;
  /** Why it diverged, or what it ended without. */
  readonly reason?: string;
  /** What was lost on the way, where anything was. */
  readonly lost?: readonly Omit<LostEvent, 'type'>[];
  /** Of all replicas' parameters in order: equal for equal experiments, wherever they ran. Without those that are lost. */
  readonly paramsSha256: string;
}
