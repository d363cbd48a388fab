import type { Mixing } from '../topology/mixing.ts';
import type { Traffic } from './sent.ts';

const floatBytes = 4;
const doubleBytes = 8;

/** Each neighbour gets the whole row. Of W's replicas `n` are there; those that are lost keep to themselves in it. */
export function gossipTraffic(mixing: Mixing, n: number, columns: number): Traffic {
  const messages = (mixing.source.length - mixing.n) / n;
  return { messages, bytes: messages * columns * floatBytes };
}

/** The mean of a row on every replica, by ring all-reduce: 2(n−1) messages of an n-th of the row. */
export function meanTraffic(n: number, columns: number): Traffic {
  const messages = 2 * (n - 1);
  return { messages, bytes: (messages / n) * columns * floatBytes };
}

/** An n-th of the mean of a row on each replica, which is the first half of that: n−1 messages. */
export function scatteredMeanTraffic(n: number, columns: number): Traffic {
  const messages = n - 1;
  return { messages, bytes: (messages / n) * columns * floatBytes };
}

/** Sums of a few numbers on every replica, by recursive doubling. */
export function numbersTraffic(n: number, numbers: number): Traffic {
  const messages = Math.ceil(Math.log2(n));
  return { messages, bytes: messages * numbers * doubleBytes };
}

/**
 * To know Ξ on every replica. Because of
 *
 *     n Ξ² = Σ ‖x_i − x̄‖² = Σ ‖x_i‖² − n ‖x̄‖²
 *
 * nobody needs the whole x̄: each replica gets an n-th of it, and two numbers are summed over all, ‖x_i‖² and ‖·‖² of that n-th.
 * Gossip with a doubly stochastic W keeps x̄: if that is all that happened since Ξ was known, one new sum Σ ‖x_i‖² is enough.
 */
export function distanceTraffic(n: number, columns: number, meanKnown: boolean): readonly Traffic[] {
  return meanKnown ? [numbersTraffic(n, 1)] : [scatteredMeanTraffic(n, columns), numbersTraffic(n, 2)];
}
