import type { Kernel, MixForm } from '../kernel/kernel.ts';
import type { Rows } from '../kernel/memory.ts';
import type { Mixing } from '../topology/mixing.ts';

/** A row of a matrix, by its number there. */
export interface PlacedRow {
  readonly rows: Rows;
  readonly row: number;
}

/** A rank that was lost, with its replicas. */
export interface LostBlock {
  readonly rank: number;
  readonly replicas: readonly number[];
}

/**
 * Replicas of other ranks that own ones hear: each matrix has rows for them, by their numbers, and a worker looks after some of them. What
 * they say comes as short messages, from which it follows what their rows are.
 */
export interface HeardReplicas {
  /** Not collective: those that this worker looks after. */
  heard(mixing: Mixing): readonly number[];
  /** Not collective: where the message of a replica is. */
  message(replica: number): Uint8Array;
  /** The messages of own replicas, or the first bytes of them, go to those who hear them, and theirs come. */
  tell(mixing: Mixing, bytes?: number): void;
  /** The rows themselves, from those who have them. */
  fetch(mixing: Mixing, rows: Rows): void;
}

/** Two replicas that take their mean. */
export type ReplicaPair = readonly [number, number];

/**
 * How workers, the threads of all ranks, work together: each owns a block of replicas, all run the same loop in step. Unless said
 * otherwise a method is collective (all workers call it, in the same order), and its result is a pure function of what the replicas
 * hold, never of the number of workers.
 */
export interface Transport {
  /** This worker, counted over all ranks, and how many there are. */
  readonly worker: number;
  readonly workers: number;
  readonly replicas: number;
  /** What is no longer there: the same on all workers. Always nothing unless the run may continue without. */
  readonly lost: readonly LostBlock[];
  /** The replicas that are there, ascending: neither lost nor sent away. */
  readonly present: readonly number[];
  /** These replicas stay out of means and of what is measured, until others are sent away: an empty list brings all back. */
  sendAway(replicas: readonly number[]): void;
  /** Own replicas: first ≤ i < last. */
  readonly first: number;
  readonly last: number;
  /** The names of its matrices. */
  readonly matrices: readonly string[];
  /** Not collective: a matrix by its name, of which a worker reads and writes the rows of its own replicas, by their numbers. */
  rows(name: string): Rows;
  /** Whether the rows of all replicas are in this memory: between two barriers they can be read by anyone. */
  readonly alone: boolean;
  /** Not collective: passes over own rows. */
  readonly kernel: Kernel;
  /**
   * output_i ← Σ_j W_ij input_j for every replica, or Σ_j W_ij (input_j − input_i), with `surviving(W)`. Waits for what the own
   * replicas need from others, unless `known` says that it is in the input's own rows.
   */
  mix(mixing: Mixing, input: Rows, output: Rows, form?: MixForm, known?: boolean): void;
  /** Not collective: whether rows are best averaged one by one, just before they are used: by `mixRow`. */
  mixesRows(mixing: Mixing): boolean;
  /** Not collective: Σ_j W_ij input_j of an own replica, in its place until the next call; the rows that it hears must be there. */
  mixRow(mixing: Mixing, input: Rows, replica: number): PlacedRow;
  /** Not collective: the row of an own replica stays as it is until mix(mixing, input, …), so it may be sent ahead. */
  announce(mixing: Mixing, input: Rows, replica: number): void;
  /** x_i, x_j ← (x_i + x_j)/2 in place, for pairs of which no two meet; both sides add in float32, so both get the same bits. */
  pair(pairs: readonly ReplicaPair[], rows: Rows): void;
  /** Not collective: W without the replicas that are lost. */
  surviving(mixing: Mixing): Mixing;
  /** What is kept here of replicas of other ranks; undefined if nothing is. */
  readonly hearing: HeardReplicas | undefined;
  /** The mean over all replicas that are there, in row 0 of the result until the next mean or mix. */
  mean(input: Rows): Rows;
  barrier(): void;
  /** Everyone's numbers in replica order, from `width` numbers for each own replica; NaN for those that are lost. */
  gather(own: Float64Array, width: number): Float64Array;
  /** Sums over the workers, for times and counts: their last bits depend on the number of workers. */
  reduce(values: readonly number[]): number[];
  /** What worker 0 says. */
  broadcast(value: number): number;
  /** Not collective: bytes of the messages that this worker has sent to other ranks; numbers that all gather are not among them. */
  readonly sentBytes: number;
  /** Not collective: whether the user asked to stop. */
  stopRequested(): boolean;
  /** Not collective: milliseconds spent waiting for other workers since the last call. */
  takeWaitMs(): number;
  /** Not collective: gives back what it keeps ready. */
  close(): void;
}

/** The replicas first ≤ i < last that one of several owners has; the first owners take what is left over. */
export function blockOf(replicas: number, owners: number, owner: number): { first: number; last: number } {
  const [size, rest] = [Math.floor(replicas / owners), replicas % owners];
  const first = owner * size + Math.min(owner, rest);
  return { first, last: first + size + (owner < rest ? 1 : 0) };
}
