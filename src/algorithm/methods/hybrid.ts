import { method } from '../method.ts';
import { share } from '../settings.ts';

/**
 * v is a gradient of less noise: what it was before, moved by the difference that the step made on the same batch. y tracks its mean.
 */
export const hybrid = method({
  name: 'gt-hsgd',
  title: 'GT-HSGD',
  summary: 'gradient tracking of gradients with less noise: each batch is used at this point and at the one before',
  paper:
    'Xin, Khan, Kar, A hybrid variance-reduced method for decentralized stochastic non-convex optimization, ICML 2021',
  settings: { beta: share(0.1).describe('weight of the fresh gradient; the rest is corrected from the step before') },
  rows: { v: 'zero', y: 'zero', o: 'x' },
  needs: ['doubly'],
  step: () => `
    g = grad(x)
    first { u = g } else { u = g + (1 - beta)*(v - again(o)) }
    y = W(y + u - v)
    v = u
    o = x
    x = W(x - eta*y)`,
});
