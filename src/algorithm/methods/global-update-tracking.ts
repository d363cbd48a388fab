import { z } from 'zod';
import { method } from '../method.ts';
import { momentum, share } from '../settings.ts';

const paper = 'Aketi, Hashemi, Roy, Global update tracking, NeurIPS 2023';

export const gut = method({
  name: 'gut',
  aliases: ['global-update-tracking'],
  title: 'GUT',
  summary: 'tracks the averaged update through the parameters themselves: one row is sent',
  paper,
  settings: { mu: share(0.9).describe('how much of the tracked difference is added') },
  rows: { a: 'x', p: 'zero' },
  needs: ['doubly', 'static'],
  step: () => `
    s = W(x)
    g = grad(s)
    y = g - (s - x)/eta + mu*((a - s)/etaBefore - p)
    a = s
    p = g
    x = x - eta*y`,
});

export const qgGut = method({
  name: 'qg-gutm',
  title: 'QG-GUTm',
  summary: 'global update tracking with quasi-global momentum',
  paper,
  settings: {
    beta: momentum(),
    mu: share(0.06).describe('how much of the tracked difference is added; published: .06 at 16 replicas to .08 at 32'),
    nesterov: z.boolean().default(false).describe('look ahead'),
  },
  rows: { a: 'x', p: 'zero', m: 'zero' },
  needs: ['doubly', 'static'],
  scalars: ({ beta, nesterov }) => ({ b: nesterov ? beta + beta * beta : beta }),
  step: () => `
    s = W(x)
    g = grad(s)
    y = g - (s - x)/eta + mu*((a - s)/etaBefore - b*(a - x - etaBefore*m)/etaBefore - p)
    a = s
    p = g
    m = beta*m + y
    x = x - eta*m`,
});
