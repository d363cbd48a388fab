import { z } from 'zod';
import { method } from '../method.ts';
import { pairSteps } from '../pairs.ts';

/** Nobody waits for all: whoever has computed averages with one neighbour, and s is where the gradient that is being computed began. */
export const adPsgd = method({
  name: 'ad-psgd',
  aliases: ['adpsgd', 'async-dpsgd'],
  title: 'AD-PSGD',
  summary: 'whoever has computed averages with one neighbour, without waiting for the others; needs a network',
  paper: 'Lian, Zhang, Zhang, Liu, Asynchronous decentralized parallel stochastic gradient descent, ICML 2018',
  settings: {
    overlap: z.boolean().default(false).describe('whether a replica computes its next gradient while it exchanges'),
  },
  rows: { s: 'x' },
  needs: ['undirected', 'static', 'neighbours'],
  step: ({ overlap }) => pairSteps[overlap ? 'overlap' : 'wait'],
});
