import type { FloatView } from '../kernel/memory.ts';
import type { MpiLink } from './mpi/link.ts';

/** How threads reach the other ranks: plain data, handed to them by the main thread. */
export type RankLink = MpiLink;

/** Numbers or bytes that go from one rank to another, again and again from or to the same place. */
export interface Message {
  readonly peer: number;
  /** Tells it from other messages between the same two. */
  readonly tag: number;
  readonly values: FloatView | Uint8Array;
}

/** Messages that are sent and received together. */
export interface Channel {
  /** Starts what has not been started ahead. */
  start(): void;
  /** Starts one message to be sent ahead of the others. */
  startSend(index: number): void;
  /** Starts what is to be received, ahead of what is to be sent. */
  startReceives(): void;
  /** Lets messages on their way move on. */
  progress(): void;
  /** Waits until all have come and gone. */
  finish(): void;
  /** With whom messages are on their way. */
  pending(): number[];
  free(): void;
}

export interface GroupOptions {
  /** More threads on this machine than cores. */
  readonly crowded: boolean;
}

/** The ranks of a run, as the first thread of one of them sees the others. Unless said otherwise a method is collective. */
export interface RankGroup {
  readonly rank: number;
  readonly ranks: number;
  /** Ranks that are no longer there, ascending. Always none unless the run may continue without them. */
  readonly lost: readonly number[];
  /** Bytes of all messages that were sent so far through what `open` gives. */
  readonly sentBytes: number;
  /**
   * Does `work`, which is collective. False if someone was lost meanwhile: then it is left out from here on, on all alike, what
   * was opened must be opened again, and the work be done again.
   */
  together(work: () => void): boolean;
  /** Not collective. Every message has its counterpart in the channel that its peer opens. */
  open(sends: readonly Message[], receives: readonly Message[]): Channel;
  /** Rank r gives the counts[r] values behind those of the ranks before it, and all get all of them. */
  gather(values: Float64Array, counts: readonly number[]): void;
  /** What rank 0 has in `values`. */
  broadcast(values: Float64Array): void;
  barrier(): void;
}

/** Where one rank is among those of a run: plain data, handed to its worker threads. */
export interface RankPlace {
  readonly rank: number;
  readonly ranks: number;
  /** Names of the machines they run on, one per rank. */
  readonly hosts: readonly string[];
  /** Ranks on this machine, this one included. */
  readonly neighbours: number;
  /** How the threads reach the others. */
  readonly link: RankLink;
  /** After so many seconds without any progress a rank gives up. */
  readonly timeoutSeconds: number;
  /** Whether the others continue if one is lost. */
  readonly survive: boolean;
}
