import { type Block, partialBlocks } from '../kernel/blocks.ts';
import type { ColumnRange } from '../kernel/kernel.ts';
import type { FloatView, Rows } from '../kernel/memory.ts';
import { type Mixing, stopsOf } from '../topology/mixing.ts';
import type { Division } from './division.ts';
import type { ReplicaPair } from './transport.ts';

/** A replica's row that goes to or comes from another rank. */
export interface RowMessage {
  readonly replica: number;
  readonly peer: number;
}

/** What W makes ranks send each other: every row once to each rank that needs it. In ascending order of peers and replicas. */
export function rowExchange(
  mixing: Mixing,
  { owner, rank }: Division,
): { readonly sends: readonly RowMessage[]; readonly receives: readonly RowMessage[] } {
  const { n, start, source } = mixing;
  const stop = stopsOf(mixing);
  const needed = new Set<number>();
  const given = new Set<number>();
  for (let i = 0; i < n; i++) {
    const reader = owner[i]!;
    for (let e = start[i]!; e < stop[i]!; e++) {
      const j = source[e]!;
      if (reader === rank && owner[j] !== rank) needed.add(j);
      if (reader !== rank && owner[j] === rank) given.add(reader * n + j);
    }
  }
  const ascending = (set: Set<number>) => [...set].sort((a, b) => a - b);
  return {
    sends: ascending(given).map((key) => ({ replica: key % n, peer: Math.floor(key / n) })),
    receives: ascending(needed).map((replica) => ({ replica, peer: owner[replica]! })),
  };
}

/** Pairs of own replicas, and own replicas whose partner is elsewhere. */
export function pairExchange(pairs: readonly ReplicaPair[], { owner, rank }: Division) {
  const here = (i: number) => owner[i] === rank;
  return {
    within: pairs.filter(([i, j]) => here(i) && here(j)),
    across: pairs.flatMap(([i, j]) => {
      if (here(i) === here(j)) return [];
      const [own, other] = here(i) ? [i, j] : [j, i];
      return [{ own, other, peer: owner[other]! }];
    }),
  };
}

/** The sums that a rank contributes to the mean over all replicas; those of several replicas take rows of their own. */
export function contribution(
  { present }: Division,
  { first, last }: { readonly first: number; readonly last: number },
) {
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
  { first, last }: Division,
  before: number,
  sums: readonly Block[],
  between: number,
  received: readonly Block[],
): Block[] {
  const own = Array.from({ length: last - first }, (_, i): Block => ({ first: first + i, size: 1 }));
  const unused = (count: number) => Array.from({ length: count }, () => nothing);
  return [...own, ...unused(before), ...sums, ...unused(between), ...received];
}
