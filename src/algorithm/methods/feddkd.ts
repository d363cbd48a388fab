import { z } from 'zod';
import { method } from '../method.ts';
import { every, positive } from '../settings.ts';

/** After the mean, all learn together what each of them answered before it. */
export const fedDkd = method({
  name: 'feddkd',
  aliases: ['fed-dkd'],
  title: 'FedDKD',
  summary: 'local steps, the exact mean, then a few steps in which the mean learns what the local models answer',
  paper: 'Li, Chen, Lu, FedDKD: federated learning with decentralized knowledge distillation, arXiv 2205.00706, 2022',
  settings: {
    period: every(8, 'means'),
    distillations: z.int().min(0).default(3).describe('steps towards the local models after each mean'),
    distilRate: positive(0.001).describe('learning rate of these steps'),
    temperature: positive(1).describe('by which logits are divided before answers are compared'),
  },
  needs: [],
  step: ({ distillations }) => `
    g = grad(x); x = x - eta*T(g)
    every period {
      k = x; x = mean(x)
      ${Array(distillations).fill('q = distil(x, k); x = x - distilRate*mean(q)').join('\n      ')}
    }`,
});
