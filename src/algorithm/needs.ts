import { apply, isDoublyStochastic, isSymmetric, type Mixing } from '../topology/mixing.ts';
import { symmetricExtremes } from '../topology/spectrum.ts';
import type { Topology } from '../topology/topology.ts';

/** What a method may ask of the topology: what it is, whether a topology has it, and what to do if not. */
interface Requirement {
  readonly what: string;
  readonly hint: string;
  holds(mixing: Mixing, topology: Topology): boolean;
}

export const requirements = {
  doubly: {
    what: 'weights whose rows and columns sum to 1',
    hint: 'use an undirected topology or a regular one, or a method for directed topologies',
    holds: (mixing) => isDoublyStochastic(mixing),
  },
  symmetric: {
    what: 'symmetric weights',
    hint: 'use an undirected topology, or a method that does without',
    holds: (mixing) => isSymmetric(mixing),
  },
  undirected: {
    what: 'an undirected topology',
    hint: 'use a topology in which whoever hears a replica is heard by it, such as ring, torus or tree',
    holds: (_, topology) => !topology.directed,
  },
  neighbours: {
    what: 'a neighbour for every replica',
    hint: 'use at least two replicas, and a topology in which each has a neighbour',
    holds: (_, topology) => topology.round(0).sources.every(({ length }) => length > 0),
  },
  static: {
    what: 'a topology that is the same in every step',
    hint: 'use a static topology, or a method that does without',
    holds: (_, topology) => topology.period === 1,
  },
  'above -1/3': {
    what: 'weights with no eigenvalue below −1/3',
    hint: 'use weights: lazy, or exact-diffusion, which halves the weights by itself',
    holds: (mixing) => leastEigenvalue(mixing) > -1 / 3 - 1e-9,
  },
} as const satisfies Readonly<Record<string, Requirement>>;

export type Need = keyof typeof requirements;

/** Of a symmetric W, besides the 1 that belongs to the mean. */
function leastEigenvalue(mixing: Mixing): number {
  if (mixing.n === 1) return 1;
  return symmetricExtremes(mixing.n, (x, out) => apply(mixing, x, out)).least;
}

/** Rounds that are looked at, if they are drawn anew or repeat late. */
const mostRounds = 16;

/** What a topology lacks that a method needs, as a sentence; `changes`: it is not the only one of the run. */
export function unmetNeed(
  needs: readonly Need[],
  topology: Topology,
  changes = false,
): { problem: string; hint: string } | undefined {
  const rounds = Array.from({ length: Math.min(topology.period, mostRounds) }, (_, step) => topology.mixing(step));
  const need = needs.find(
    (each) => (changes && each === 'static') || !rounds.every((mixing) => requirements[each].holds(mixing, topology)),
  );
  if (need === undefined) return undefined;
  const { what, hint } = requirements[need];
  return { problem: `needs ${what}, which ${topology.kind} with ${topology.n} replicas does not have`, hint };
}
