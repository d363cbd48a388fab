import type { Rows } from '../kernel/rows.ts';

/**
 * How ranks work together: each owns a block of replicas, all run the same loop in step. Every method is collective (all
 * ranks call it, in the same order) and its result is a pure function of what the replicas hold, never of the number of ranks.
 */
export interface Transport {
  readonly rank: number;
  readonly ranks: number;
  readonly replicas: number;
  /** Own replicas: first ≤ i < last. */
  readonly first: number;
  readonly last: number;
  /** A matrix with a row for every replica; a rank writes its own rows only. */
  matrix(name: string): Rows;
  /** Waits for all ranks: what they wrote to their rows before it can be read after it. */
  barrier(): void;
  /** Everyone's numbers in replica order, from `width` numbers for each own replica. */
  gather(own: Float64Array, width: number): Float64Array;
  /** Sums over the ranks, for times and counts: their last bits depend on the number of ranks. */
  reduce(values: readonly number[]): number[];
  /** What rank 0 says. */
  broadcast(value: number): number;
  /** Not collective: whether the user asked to stop. */
  stopRequested(): boolean;
}

/** The block of replicas that a rank owns; the first ones take what is left over. */
export function blockOf(replicas: number, ranks: number, rank: number): { first: number; last: number } {
  const [size, rest] = [Math.floor(replicas / ranks), replicas % ranks];
  const first = rank * size + Math.min(rank, rest);
  return { first, last: first + size + (rank < rest ? 1 : 0) };
}
