import type { Observation } from './report.ts';

/** A claim of DBench's paper, and when it counts as true. */
export type Claim = Pick<Observation, 'kind' | 'claim' | 'criterion'>;

export const claims: Readonly<Record<Observation['kind'], Claim>> = {
  scale: {
    kind: 'scale',
    claim: 'Accuracy falls as the number of replicas grows, centralized and decentralized alike.',
    criterion:
      'for every implementation the change of accuracy from the smallest n to the largest, seed by seed, is below −0.5 points with its 95 % interval below 0.',
  },
  connections: {
    kind: 'connections',
    claim: 'Accuracy rises with the number of connections.',
    criterion:
      'over four or more implementations and three or more seeds the change of accuracy along the ranks of connections is above 0.5 points with its 95 % interval above 0, and at most one in ten pairs that differ clearly goes the other way.',
  },
  variance: {
    kind: 'variance',
    claim: 'Accuracy falls with the variance of parameters across replicas.',
    criterion: 'the same along the variance ranks, downwards.',
  },
  peak: {
    kind: 'peak',
    claim: 'The variance of parameters across replicas peaks early and fades.',
    criterion:
      'for every implementation the Gini coefficient, mean over the weight tensors, is largest in the first fifth of the steps and in the last fifth below half of that, with its 95 % interval.',
  },
  ada: {
    kind: 'ada',
    claim: 'Ada is as accurate as the complete topology and sends fewer bytes.',
    criterion:
      'the 95 % interval of the difference Ada − complete, seed by seed, lies above −0.5 points, and Ada sends fewer bytes.',
  },
};
