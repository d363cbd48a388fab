import { z } from 'zod';
import { method } from '../method.ts';
import { every } from '../settings.ts';

const orders = {
  'adapt-then-combine': 'x = x - eta*T(grad(x)); every localSteps { x = W(x) }',
  'combine-then-adapt': 'every localSteps { x = W(x) }; x = x - eta*T(grad(x))',
  'adapt-while-communicating': 'g = grad(x); d = T(g); every localSteps { x = W(x) }; x = x - eta*d',
} as const;

export const dpsgd = method({
  name: 'dpsgd',
  aliases: ['d-psgd', 'dsgd', 'gossip'],
  title: 'D-PSGD',
  summary: 'step alone, average parameters with the neighbours',
  paper: 'Lian et al., Can decentralized algorithms outperform centralized algorithms?, NeurIPS 2017',
  settings: {
    order: z
      .enum(Object.keys(orders) as (keyof typeof orders)[])
      .default('adapt-then-combine')
      .describe('whether replicas average after their step, before it, or average what they had before it'),
    localSteps: every(1, 'averagings'),
    finalMerge: z.boolean().default(false).describe('one exact average over all replicas at the end'),
  },
  needs: [],
  step: ({ order, finalMerge }) => `${orders[order]}${finalMerge ? '; last { x = mean(x) }' : ''}`,
});
