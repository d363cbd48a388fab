import { method } from '../method.ts';

export const centralized = method({
  name: 'centralized',
  aliases: ['all-reduce', 'parallel-sgd'],
  title: 'Centralized',
  summary: 'average gradients over all replicas, then step; all replicas stay equal',
  paper: 'Dekel et al., Optimal distributed online prediction using mini-batches, JMLR 2012',
  settings: {},
  needs: [],
  step: () => 'g = mean(grad(x)); x = x - eta*T(g)',
});
