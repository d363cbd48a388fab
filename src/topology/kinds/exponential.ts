import { circulant, constant, countIn, kind, neighbourCount } from '../kind.ts';

export const log2Ceil = (n: number) => Math.ceil(Math.log2(n));

/**
 * k offsets that grow geometrically: round(2^(jτ/k)), τ = ⌈log2 n⌉, j < k, kept distinct and below n.
 * k = τ gives the powers of two of the static exponential graph, k = n−1 every offset.
 */
function offsets(n: number, k: number): number[] {
  const tau = log2Ceil(n);
  const out: number[] = [];
  for (let j = 0; j < k; j++) {
    const grown = Math.max((out[j - 1] ?? 0) + 1, Math.round(2 ** ((j * tau) / k)));
    out.push(Math.min(grown, n - k + j));
  }
  return out;
}

const exponentialCount = (n: number, { k }: { k?: number | undefined }) => countIn('exponential', n, k, 1, log2Ceil(n));

/** Ying et al., "Exponential graph is provably efficient for decentralized deep training", 2021. */
export const exponential = kind({
  name: 'exponential',
  aliases: ['exp', 'exp2', 'static-exponential', 'static_exponential', 'expander'],
  summary: 'replica i sends to i+1, i+2, i+4, … (k = ⌈log2 n⌉; another k spreads the powers)',
  settings: { k: neighbourCount },
  directed: true,
  weights: 'uniform',
  k: exponentialCount,
  build: (n, settings) => constant(circulant(n, offsets(n, exponentialCount(n, settings)))),
});

/** The same paper's one-peer variant: one of the offsets per step, in turn; exact average after τ steps iff n is a power of two. */
export const onePeerExponential = kind({
  name: 'one-peer-exponential',
  aliases: ['one-peer', 'onepeer', 'one_peer_exponential', 'one-peer-exp', 'dynamic-exponential'],
  summary: 'at step t replica i sends to i+2^(t mod ⌈log2 n⌉) alone',
  settings: {},
  directed: true,
  weights: 'uniform',
  build(n) {
    const rounds = Array.from({ length: log2Ceil(n) }, (_, m) => circulant(n, [2 ** m]));
    return { period: rounds.length, round: (step) => rounds[step % rounds.length]! };
  },
});
