import type { FloatView } from '../kernel/memory.ts';

/** Values that go from one process to another, again and again from or to the same place. */
export interface Message {
  readonly peer: number;
  /** Tells it from other messages between the same two. */
  readonly tag: number;
  readonly values: FloatView;
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

/** The processes of a run, as the first thread of one of them sees the others. Unless said otherwise a method is collective. */
export interface Group {
  readonly index: number;
  readonly count: number;
  /** Processes that are no longer there, ascending. Always none unless the run may go on without them. */
  readonly lost: readonly number[];
  /**
   * Does `work`, which is collective. False where someone was lost meanwhile: then it is left out from here on, on all alike, what
   * was opened must be opened again, and the work be done again.
   */
  together(work: () => void): boolean;
  /** Not collective. Every message has its counterpart in the channel that its peer opens. */
  open(sends: readonly Message[], receives: readonly Message[]): Channel;
  /** Process p gives the counts[p] values behind those of the processes before it, and all get all of them. */
  gather(values: Float64Array, counts: readonly number[]): void;
  /** What process 0 has in `values`. */
  broadcast(values: Float64Array): void;
  barrier(): void;
}

/** Where one process is among those of a run: plain data, handed to its worker threads. */
export interface Place {
  readonly index: number;
  readonly count: number;
  /** Names of the machines they run on, one a process. */
  readonly hosts: readonly string[];
  /** Processes on this machine, this one included. */
  readonly neighbours: number;
  /** How the threads reach the others. */
  readonly mpi: { readonly library: string; readonly comm: number | bigint };
  /** After so many seconds without any progress a process gives up. */
  readonly timeoutSeconds: number;
  /** Whether the others go on where one is lost. */
  readonly survive: boolean;
}
