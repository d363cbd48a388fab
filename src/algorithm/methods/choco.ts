import { z } from 'zod';
import { method } from '../method.ts';
import { consensusStep, positive, share, small } from '../settings.ts';

const orders = {
  'send-first': 'h += C(x - h); x = x + gamma*pull(h)',
  'mix-first': 'x = x + gamma*pull(h); h += C(x - h)',
} as const;

export const choco = method({
  name: 'choco',
  aliases: ['choco-sgd'],
  title: 'CHOCO-SGD',
  summary: 'sends compressed differences to what the neighbours know; they add up to the whole',
  paper:
    'Koloskova, Stich, Jaggi, Decentralized stochastic optimization and gossip algorithms with compressed communication, ICML 2019',
  settings: {
    gamma: consensusStep(0.4),
    order: z
      .enum(Object.keys(orders) as (keyof typeof orders)[])
      .default('send-first')
      .describe('whether the new message counts in the same step'),
  },
  rows: { h: 'zero' },
  compresses: true,
  needs: ['symmetric', 'static'],
  step: ({ order }) => `x = x - eta*T(grad(x)); ${orders[order]}`,
});

export const adaGossip = method({
  name: 'adagossip',
  title: 'AdaGossip',
  summary: 'CHOCO-SGD whose consensus step adapts to each parameter',
  paper: 'Aketi, Hashemi, Roy, AdaGossip, arXiv 2404.05919, 2024',
  settings: {
    gamma: positive(0.005).describe('scale of the consensus step'),
    beta: share(0.999).describe('memory of the squared differences'),
    epsilon: small(1e-8),
  },
  rows: { h: 'zero', v: 'zero' },
  compresses: true,
  needs: ['symmetric', 'static'],
  step: () => `
    x = x - eta*T(grad(x))
    h += C(x - h)
    r = pull(h)
    v = beta*v + (1 - beta)*r*r
    x = x + min(1, gamma/(sqrt(v/(1 - beta^(t + 1))) + epsilon))*r`,
});
