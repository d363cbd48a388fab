import { z } from 'zod';
import { method } from '../method.ts';
import { momentum } from '../settings.ts';

export const dsgt = method({
  name: 'dsgt',
  aliases: ['gradient-tracking'],
  title: 'DSGT',
  summary: 'each replica tracks the mean gradient and steps along it; two rows are sent',
  paper: 'Pu, Nedić, Distributed stochastic gradient tracking methods, Math. Program. 2021',
  settings: {},
  rows: { y: 'zero', p: 'zero' },
  needs: ['doubly'],
  step: () => 'g = grad(x); y = W(y) + g - p; p = g; x = W(x - eta*y)',
});

export const diging = method({
  name: 'diging',
  title: 'DIGing',
  summary: 'gradient tracking that averages before it steps',
  paper:
    'Nedić, Olshevsky, Shi, Achieving geometric convergence for distributed optimization over time-varying graphs, SIAM J. Optim. 2017',
  settings: {},
  rows: { y: 'zero', p: 'zero' },
  needs: ['doubly'],
  step: () => 'g = grad(x); y = W(y) + g - p; p = g; x = W(x) - eta*y',
});

export const momentumTracking = method({
  name: 'momentum-tracking',
  title: 'Momentum tracking',
  summary: 'tracks the mean momentum: as good on data that differ as on data that are alike',
  paper: 'Takezawa, Bao, Niwa, Sato, Yamada, Momentum tracking, TMLR 2023',
  settings: {
    beta: momentum(),
    exactStart: z.boolean().default(false).describe('begin with the exact mean of the first gradients, as published'),
  },
  rows: { u: 'zero', c: 'zero' },
  needs: ['doubly'],
  step: ({ exactStart }) => `
    g = grad(x)
    ${exactStart ? 'first { u = (g - mean(g))/(1 - beta); c = u }' : ''}
    u = beta*u + g
    s = W(x)
    k = W(c - u)
    x = s - eta*(u - c)
    c = k + u`,
});
