import type { AlgorithmSettings } from './algorithm.ts';

/** What the rest of the system needs to know of an algorithm: it is asked here, never by the algorithm's name. */
export interface AlgorithmFacts {
  /** Whether replicas average with their neighbours. If not, the topology is not looked at. */
  readonly usesTopology: boolean;
  /** Whether all replicas have the same parameters after every step. */
  readonly keepsReplicasEqual: boolean;
  /** Whether the other ranks can continue if one is lost. */
  readonly survivesLoss: boolean;
}

const facts: { readonly [K in AlgorithmSettings['kind']]: AlgorithmFacts } = {
  centralized: { usesTopology: false, keepsReplicasEqual: true, survivesLoss: false },
  dpsgd: { usesTopology: true, keepsReplicasEqual: false, survivesLoss: true },
};

export const factsOf = ({ kind }: Pick<AlgorithmSettings, 'kind'>): AlgorithmFacts => facts[kind];
