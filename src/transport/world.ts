import { hostname } from 'node:os';
import type { RankPlace } from './group.ts';

/**
 * The processes that carry out one command together, as the main thread of one of them sees the others: all go through the same
 * sequence of runs, and what must be decided is decided by rank 0. Methods are collective.
 */
export interface World {
  readonly rank: number;
  readonly size: number;
  /** Where each rank is: its machine and the number of its process there. */
  readonly members: readonly { readonly host: string; readonly process: number }[];
  /** For the worker threads; undefined if there is one process only. */
  readonly place: RankPlace | undefined;
  /** What carries the messages, for the record. */
  readonly transport: string;
  /** What rank 0 says; the others' value is not looked at. Plain data. */
  share<T>(value: T): Promise<T>;
  /** Everyone's value, in the order of ranks. Plain data. */
  gather<T>(value: T): Promise<T[]>;
  /** Ends the part in this world, together with all others or, if some are lost, alone. A process that ends without takes all down. */
  close(lost?: boolean): Promise<void>;
}

export interface WorldOptions {
  /** After so many seconds without any progress a process gives up. */
  readonly timeoutSeconds: number;
  /** Whether a run continues if ranks other than 0 are lost. */
  readonly survive?: boolean | undefined;
}

/** One process by itself. */
export const alone: World = {
  rank: 0,
  size: 1,
  members: [{ host: hostname(), process: process.pid }],
  place: undefined,
  transport: 'threads',
  share: async (value) => value,
  gather: async (value) => [value],
  close: async () => {},
};
