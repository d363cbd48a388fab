import { circulant, constant, kind } from '../kind.ts';

export const ring = kind({
  name: 'ring',
  aliases: ['cycle'],
  summary: 'replica i with i−1 and i+1',
  settings: {},
  directed: false,
  weights: 'uniform',
  build: (n) => constant(circulant(n, [1, n - 1])),
});
