import { z } from 'zod';
import { method } from '../method.ts';
import { consensusStep } from '../settings.ts';

export const beer = method({
  name: 'beer',
  title: 'BEER',
  summary: 'gradient tracking with two compressed messages',
  paper: 'Zhao, Li, Li, Richtárik, Chi, BEER, NeurIPS 2022',
  settings: { gamma: consensusStep(0.1) },
  rows: { h: 'zero', v: 'zero', q: 'zero', p: 'zero' },
  compresses: true,
  needs: ['symmetric', 'static'],
  step: () => `
    g = grad(x)
    v = v + gamma*pull(q) + g - p
    p = g
    q += C(v - q)
    x = x + gamma*pull(h) - eta*v
    h += C(x - h)`,
});

export const lead = method({
  name: 'lead',
  title: 'LEAD',
  summary: 'exact diffusion with compressed messages',
  paper: 'Liu, Li, Wang, Tang, Yan, Linear convergent decentralized optimization with compression, ICLR 2021',
  settings: {
    gamma: consensusStep(1),
    alpha: z.number().gt(0).max(1).default(0.5).describe('how far the memory follows the messages'),
  },
  rows: { h: 'zero', c: 'zero' },
  compresses: true,
  needs: ['symmetric', 'static'],
  step: () => `
    g = grad(x)
    k = h
    k += C(x - eta*g - c - k)
    c = c - gamma*pull(k)/2
    h = (1 - alpha)*h + alpha*k
    x = x - eta*g - c`,
});
