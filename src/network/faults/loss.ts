import { Random } from '../../base/random.ts';
import { nanoseconds } from '../units.ts';
import type { LossSettings } from './settings.ts';

export type Sources = readonly (readonly number[])[];

/** How often each message of a gossip is lost on its way: by receiver, in the order of its sources. */
export type Losses = (gossip: number, sources: Sources) => readonly (readonly number[])[];

/**
 * Drawn by receiver and gossip, one number for each source in ascending order. That a message is lost k times in a row has the probability p^k, so
 * it is lost at all if its number is below p.
 */
export function lossesOf(loss: LossSettings, seed: number): Losses {
  const { probability: p } = loss;
  const times = (u: number) =>
    p === 0 || u >= p ? 0 : p === 1 ? 1 : Math.floor(Math.log(Math.max(u, 2 ** -53)) / Math.log(p));
  const drawn: Losses = (gossip, sources) =>
    sources.map((row, i) => {
      const random = new Random(seed, 'loss', i, gossip);
      return row.map(() => times(random.uniform()));
    });
  if (loss.kind === 'retransmit' || loss.scope === 'message') return drawn;
  // An edge is lost with the message to the lower of its ends, if there is one.
  return (gossip, sources) => {
    const found = drawn(gossip, sources);
    return sources.map((row, i) =>
      row.map((j, place) => {
        const other = j < i ? sources[j]!.indexOf(i) : -1;
        return other < 0 ? found[i]![place]! : found[j]![other]!;
      }),
    );
  };
}

/** How much later a message arrives that was lost so often, ∞ if it is not sent again. */
export function delayNs(loss: LossSettings, times: number): number {
  if (times === 0) return 0;
  return loss.kind === 'keep' ? Number.POSITIVE_INFINITY : times * Math.round(nanoseconds(loss.after));
}
