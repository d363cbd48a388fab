import { z } from 'zod';
import { method } from '../method.ts';
import { positive } from '../settings.ts';

export const adaptiveConsensus = method({
  name: 'dsgd-ac',
  title: 'DSGD-AC',
  summary: 'averages less and less as the learning rate falls: differences between replicas help in the end',
  paper: 'Wang et al., public code decent-sam-grc',
  settings: {
    power: positive(3).describe('how fast averaging falls with the learning rate'),
    gammaMin: z.number().min(0).max(1).default(0).describe('the least of it'),
    etaMax: positive(0.1).describe('learning rate from which on it falls'),
  },
  needs: ['doubly'],
  step: () => `
    gamma = min(1, gammaMin + (1 - gammaMin)*(eta/etaMax)^power)
    g = grad(x)
    x = (1 - gamma)*x + gamma*W(x) - eta*T(g)`,
});
