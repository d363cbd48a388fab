import { z } from 'zod';
import { method } from '../method.ts';
import { consensusStep } from '../settings.ts';

/** f holds the factors of an edge (low-rank.ts): both ends have the same, but for a sign. */
export const powerGossip = method({
  name: 'powergossip',
  aliases: ['power-gossip'],
  title: 'PowerGossip',
  summary: 'low-rank differences along each edge, by power iteration from step to step',
  paper:
    'Vogels, Karimireddy, Jaggi, Practical low-rank communication compression in decentralized deep learning, NeurIPS 2020',
  settings: {
    gamma: consensusStep(1),
    rank: z.int().min(1).default(1).describe('of the difference between two neighbours, per tensor and step'),
  },
  edges: { of: 'all', rows: { f: 'random' } },
  needs: ['symmetric', 'static'],
  step: () => `
    g = grad(x); x = x - eta*T(g)
    first {} else {
      s = product(x, f); f = refine(f, s, over(s))
      x = x + gamma*sum(weight*outer(f))
    }`,
});
