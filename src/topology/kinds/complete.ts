import { circulant, constant, kind } from '../kind.ts';

export const complete = kind({
  name: 'complete',
  aliases: ['full', 'fully-connected', 'fully_connected', 'all-to-all'],
  summary: 'every replica with every other',
  settings: {},
  directed: false,
  weights: 'uniform',
  build: (n) =>
    constant(
      circulant(
        n,
        Array.from({ length: n - 1 }, (_, o) => o + 1),
      ),
    ),
});
