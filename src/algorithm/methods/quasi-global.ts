import { z } from 'zod';
import { method } from '../method.ts';
import { momentum, share, weightDecay } from '../settings.ts';

export const quasiGlobal = method({
  name: 'qg-dsgdm',
  aliases: ['quasi-global-momentum', 'qg'],
  title: 'QG-DSGDm',
  summary: 'momentum of the averaged movement instead of the own gradients: for data that differ',
  paper: 'Lin, Karimireddy, Stich, Jaggi, Quasi-global momentum, ICML 2021',
  settings: {
    beta: momentum(),
    mu: share(0.9).describe('share of the averaged movement that is kept from step to step'),
    nesterov: z.boolean().default(false).describe('look ahead: QG-DSGDm-N'),
    weightDecay,
  },
  rows: { h: 'zero' },
  needs: ['doubly'],
  step: ({ nesterov }) => `
    g = grad(x) + weightDecay*x
    s = W(x - eta*${nesterov ? '(g + beta*(beta*h + g))' : '(g + beta*h)'})
    h = mu*h + (1 - mu)*(x - s)/max(eta, 1e-8)
    x = s`,
});
