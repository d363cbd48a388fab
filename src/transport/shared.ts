import { allocateRows, type RowMemory } from '../kernel/memory.ts';
import { stop } from './barrier.ts';
import { divisionOf } from './division.ts';
import { contribution } from './exchange.ts';
import type { RankPlace } from './group.ts';

/** What the threads of one process share: handed to every one as it is. */
export interface SharedTransport {
  readonly threads: number;
  readonly replicas: number;
  /** This process among the ranks of the run, if it has several. */
  readonly place: RankPlace | undefined;
  readonly matrices: readonly string[];
  readonly memory: RowMemory;
  /** As in barrier.ts: arrived, generation, stop, again. */
  readonly control: Int32Array;
  /** 1 for each rank that is lost. */
  readonly gone: Int32Array;
  /** Places for the numbers of all replicas and for those of each thread; two of each, used in turns. */
  readonly ofReplicas: readonly [Float64Array, Float64Array];
  readonly ofThreads: readonly [Float64Array, Float64Array];
  /** 1 for each own replica whose row may be sent ahead; undefined if rows wait for each other. */
  readonly announced: Int32Array | undefined;
  /** Compressed messages, one for each replica; undefined if there are none, or all who hear them are in this process. */
  readonly messages: Uint8Array | undefined;
}

/** Numbers that a replica or thread can put down at once. */
export const numbersAtOnce = 64;

const doubles = (count: number) => new Float64Array(new SharedArrayBuffer(8 * count));
const twice = (count: number) => [doubles(count), doubles(count)] as const;
const integers = (count: number) => new Int32Array(new SharedArrayBuffer(4 * count));

/** Parameters of all replicas, and a matrix to write the next ones to. */
const twoMatrices = ['current', 'spare'] as const;

export interface ShareOptions {
  /** The names of the matrices, each with a row for every replica of the process. */
  readonly matrices?: readonly string[];
  /** This process among the ranks of the run. */
  readonly place?: RankPlace | undefined;
  /** Whether rows are sent to other ranks while the next replica computes. */
  readonly overlap?: boolean | undefined;
  /** Length of a compressed message; if there are any, matrices have rows for what is known of other ranks' replicas, too. */
  readonly messageBytes?: number;
  /** The most that rows take in one memory. */
  readonly memoryBytes?: number;
}

/**
 * Rows of a process: those of its own replicas in each matrix, and of all others behind them if messages are compressed; sums it contributes
 * to means, rows and sums that it hears from others, a mean, and a mixed row of each thread. Of what others may send there are as many rows as replicas elsewhere; those that are never written take no memory.
 */
export function shareTransport(
  threads: number,
  replicas: number,
  columns: number,
  { place, overlap = false, matrices = twoMatrices, messageBytes = 0, ...options }: ShareOptions = {},
): SharedTransport {
  const ranks = place?.ranks ?? 1;
  const division = divisionOf(replicas, ranks, place?.rank ?? 0);
  const own = division.last - division.first;
  const compressed = place !== undefined && messageBytes > 0;
  const sums = place === undefined ? 0 : contribution(division, division).sums.length;
  return {
    threads,
    replicas,
    place,
    matrices,
    memory: allocateRows(
      columns,
      {
        ...Object.fromEntries(matrices.map((name) => [name, compressed ? replicas : own])),
        sums,
        heard: replicas - own,
        parts: replicas - own,
        mean: 1,
        mixed: threads,
      },
      options,
    ),
    control: integers(4),
    gone: integers(ranks),
    ofReplicas: twice(replicas * numbersAtOnce),
    ofThreads: twice(threads * numbersAtOnce),
    announced: overlap && place !== undefined ? integers(own) : undefined,
    messages: compressed ? new Uint8Array(new SharedArrayBuffer(replicas * messageBytes)) : undefined,
  };
}

/** Asks all workers to stop after the step they are in. */
export function requestStop({ control }: SharedTransport): void {
  Atomics.store(control, stop, 1);
}
