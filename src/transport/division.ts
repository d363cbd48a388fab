import { blockOf } from './transport.ts';

/** How the replicas of a run are divided among its ranks, as one of them sees it. */
export interface Division {
  readonly replicas: number;
  readonly ranks: number;
  readonly rank: number;
  /** Own replicas: first ≤ i < last. */
  readonly first: number;
  readonly last: number;
  /** The rank that owns each replica. */
  readonly owner: Int32Array;
  /** Ranks that are there, and those of their replicas that take part, ascending. */
  readonly members: readonly number[];
  readonly present: readonly number[];
}

/**
 * Ranks that are lost keep their replicas: nobody else has them.
 *
 * @param away replicas that take no part for a while
 */
export function divisionOf(
  replicas: number,
  ranks: number,
  rank: number,
  lost: readonly number[] = [],
  away: readonly number[] = [],
): Division {
  const owner = new Int32Array(replicas);
  for (let r = 0; r < ranks; r++) {
    const { first, last } = blockOf(replicas, ranks, r);
    owner.fill(r, first, last);
  }
  const members = Array.from({ length: ranks }, (_, r) => r).filter((r) => !lost.includes(r));
  const out = new Set(away);
  const present = Array.from(owner.keys()).filter((i) => !lost.includes(owner[i]!) && !out.has(i));
  return { replicas, ranks, rank, ...blockOf(replicas, ranks, rank), owner, members, present };
}
