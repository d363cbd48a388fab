import { type Block, partialBlocks } from '../kernel/blocks.ts';
import type { ColumnRange } from '../kernel/kernel.ts';
import type { FloatView, Rows } from '../kernel/memory.ts';
import type { Mixing } from '../topology/mixing.ts';
import { blockOf } from './transport.ts';

/** How the replicas of a run are dealt to its processes, as one of them sees it. */
export interface Deal {
  readonly replicas: number;
  readonly processes: number;
  readonly index: number;
  /** Own replicas: first ≤ i < last. */
  readonly first: number;
  readonly last: number;
  /** The process that owns each replica. */
  readonly owner: Int32Array;
  /** Processes that are there, and their replicas, ascending. */
  readonly members: readonly number[];
  readonly present: readonly number[];
}

/** Those who are lost keep their replicas: nobody else has them. */
export function dealOf(replicas: number, processes: number, index: number, lost: readonly number[] = []): Deal {
  const owner = new Int32Array(replicas);
  for (let p = 0; p < processes; p++) {
    const { first, last } = blockOf(replicas, processes, p);
    owner.fill(p, first, last);
  }
  const members = Array.from({ length: processes }, (_, p) => p).filter((p) => !lost.includes(p));
  const present = Array.from(owner.keys()).filter((i) => !lost.includes(owner[i]!));
  return { replicas, processes, index, ...blockOf(replicas, processes, index), owner, members, present };
}

/** A replica's row that goes to or comes from another process. */
export interface RowMessage {
  readonly replica: number;
  readonly peer: number;
}

/** What W makes processes send each other: every row once to each process that needs it. In ascending order of peers and replicas. */
export function rowExchange(
  { n, start, source }: Mixing,
  { owner, index }: Deal,
): { readonly sends: readonly RowMessage[]; readonly receives: readonly RowMessage[] } {
  const needed = new Set<number>();
  const given = new Set<number>();
  for (let i = 0; i < n; i++) {
    const reader = owner[i]!;
    for (let e = start[i]!; e < start[i + 1]!; e++) {
      const j = source[e]!;
      if (reader === index && owner[j] !== index) needed.add(j);
      if (reader !== index && owner[j] === index) given.add(reader * n + j);
    }
  }
  const ascending = (set: Set<number>) => [...set].sort((a, b) => a - b);
  return {
    sends: ascending(given).map((key) => ({ replica: key % n, peer: Math.floor(key / n) })),
    receives: ascending(needed).map((replica) => ({ replica, peer: owner[replica]! })),
  };
}

/** The sums that a process contributes to the mean over all replicas; those of several replicas take rows of their own. */
export function contribution({ present }: Deal, { first, last }: { readonly first: number; readonly last: number }) {
  const blocks = partialBlocks(present, first, last);
  return { blocks, sums: blocks.filter(({ size }) => size > 1) };
}

/** The parts of row i in these columns, in place. */
export function pieces(rows: Rows, i: number, [from, to]: ColumnRange): FloatView[] {
  return rows
    .views(i)
    .map((view, s) => {
      const { first, end } = rows.memory.shards[s]!;
      return view.subarray(Math.max(from, first) - first, Math.max(0, Math.min(to, end) - first));
    })
    .filter(({ length }) => length > 0);
}

/** A row that holds nothing of use. */
const nothing: Block = { first: -1, size: 0 };

/** What the rows from the first of a matrix on hold: own replicas, others of no use here, own sums, others again, what was received. */
export function heldRows(
  { first, last }: Deal,
  before: number,
  sums: readonly Block[],
  between: number,
  received: readonly Block[],
): Block[] {
  const own = Array.from({ length: last - first }, (_, i): Block => ({ first: first + i, size: 1 }));
  const unused = (count: number) => Array.from({ length: count }, () => nothing);
  return [...own, ...unused(before), ...sums, ...unused(between), ...received];
}
