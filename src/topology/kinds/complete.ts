import { circulant, constant, everyone, kind } from '../kind.ts';

/** Lists of more neighbours take more memory than the replicas of a small model. */
const mostListed = 1024;

export const complete = kind({
  name: 'complete',
  aliases: ['full', 'fully-connected', 'fully_connected', 'all-to-all'],
  summary: 'every replica with every other',
  settings: {},
  directed: false,
  weights: 'uniform',
  build: (n) =>
    constant(
      n > mostListed
        ? everyone(n)
        : circulant(
            n,
            Array.from({ length: n - 1 }, (_, o) => o + 1),
          ),
    ),
});
