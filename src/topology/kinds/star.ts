import { constant, kind, undirected } from '../kind.ts';

export const star = kind({
  name: 'star',
  aliases: ['hub'],
  summary: 'replica 0 with every other; Metropolis–Hastings gives each edge 1/n',
  settings: {},
  directed: false,
  weights: 'metropolis',
  build: (n) =>
    constant(
      undirected(
        n,
        Array.from({ length: n - 1 }, (_, i) => [0, i + 1] as const),
      ),
    ),
});
