import type { RowFunction } from './function.ts';

/** Columns that share a scale: few enough that one large number spoils no others far away, enough that scales are a small part of what is sent. */
const block = 256;
const toWhole = 1.5 * 2 ** 52;

/**
 * rounded(x): each number to a multiple of the largest of its block / (2^(bits−1) − 1), sent as `bits` bits each and a scale per block. Whoever adds what
 * was lost to what is rounded next time loses nothing in the long run: error feedback (Seide et al., "1-bit stochastic gradient descent", 2014).
 */
export const rounded: RowFunction = {
  takes: 1,
  rounds: ({ scalar }) => ({ block, levels: 2 ** (scalar('bits') - 1) - 1 }),
  apply(given, out, x) {
    const values = x!;
    const { levels } = rounded.rounds!(given);
    for (let from = 0; from < out.length; from += block) {
      const to = Math.min(out.length, from + block);
      let largest = 0;
      for (let c = from; c < to; c++) largest = Math.max(largest, Math.abs(values[c]!));
      const scale = largest === 0 ? 1 : largest / levels;
      // Adding and taking away a large number rounds to a whole one, ties to even, in a fraction of the time of Math.round.
      for (let c = from; c < to; c++) out[c] = scale * (values[c]! / scale + toWhole - toWhole);
    }
  },
  bytes({ tensors, scalar }) {
    const columns = tensors.reduce((sum, { size }) => sum + size, 0);
    return Math.ceil((columns * scalar('bits')) / 8) + 4 * Math.ceil(columns / block);
  },
};
