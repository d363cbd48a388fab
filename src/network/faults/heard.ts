import { arrivedOnly, columnStochastic, entriesIn, heardOnly, type Mixing } from '../../topology/mixing.ts';
import type { Sources } from './loss.ts';

/** Messages that do not count in a gossip, by sender · n + receiver. */
export type Missing = ReadonlySet<number>;

/** W among those who are there, of what they hear: the weight of what is missing stays with the receiver. */
export function mixingHeard(mixing: Mixing, absent: readonly number[], missing: Missing): Mixing {
  if (absent.length === 0 && missing.size === 0) return mixing;
  const out = new Set(absent);
  return heardOnly(mixing, (i, j) => !out.has(i) && !out.has(j) && !missing.has(j * mixing.n + i));
}

/**
 * The same of push-sum's weights. Those who are away get no share; what is lost on its way is gone, but where an edge is known to be down nothing is
 * sent over it.
 *
 * @param push of the whole round
 * @param sent who sends to whom in it
 */
export function pushHeard(push: Mixing, sent: Sources, missing: Missing, known: boolean): Mixing {
  const { n } = push;
  const arrives = (i: number, j: number) => !missing.has(j * n + i);
  const down = known && missing.size > 0;
  const sources = down ? sent.map((row, i) => row.filter((j) => arrives(i, j))) : sent;
  const count = sources.reduce((sum, row) => sum + row.length, n);
  const shares = count === entriesIn(push) ? push : columnStochastic({ sources });
  return missing.size === 0 || down ? shares : arrivedOnly(shares, arrives);
}
