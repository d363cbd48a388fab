import { method } from '../method.ts';

/**
 * A message passed on along a tree holds the sum of all models behind its sender, each once, and how many they are; models that have not
 * arrived yet count as the start.
 */
export const relay = method({
  name: 'relaysgd',
  aliases: ['relay', 'relay-sgd'],
  title: 'RelaySGD',
  summary: 'models passed on along a tree, so that all hear all, late but exactly; not hurt by different data',
  paper:
    'Vogels, He, Koloskova, Karimireddy, Lin, Stich, Jaggi, RelaySum for decentralized deep learning on heterogeneous data, NeurIPS 2021',
  settings: {},
  rows: { x0: 'x' },
  edges: { of: 'tree', rows: { m: 'zero' }, numbers: { c: 0 } },
  needs: ['undirected', 'static'],
  step: () => `
    g = grad(x); x = x - eta*T(g)
    m = over(x + others(m)); c = over(1 + others(c))
    x = (x + sum(m) + (n - 1 - sum(c))*x0)/n`,
});
