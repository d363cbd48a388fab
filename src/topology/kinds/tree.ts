import { z } from 'zod';
import { constant, kind, undirected } from '../kind.ts';

export const tree = kind({
  name: 'tree',
  aliases: ['binary-tree'],
  summary: 'replica 0 is the root, and the parent of i is ⌊(i−1)/branches⌋',
  settings: { branches: z.int().min(1).default(2).describe('children per replica') },
  directed: false,
  weights: 'metropolis',
  build: (n, { branches }) =>
    constant(
      undirected(
        n,
        Array.from({ length: n - 1 }, (_, i) => [Math.floor(i / branches), i + 1] as const),
      ),
    ),
});
