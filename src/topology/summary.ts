import { isCirculant } from './circulant.ts';
import { type Contraction, contraction, negligible } from './contraction.ts';
import { distances, targetsOf } from './kind.ts';
import { isDoublyStochastic, isSymmetric } from './mixing.ts';
import type { Topology } from './topology.ts';

/** How many steps stand for a topology that is drawn anew each step. */
const sampledSteps = 100;

export interface Spread {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
}

/** What a topology offers before any training. */
export interface TopologySummary {
  readonly kind: string;
  readonly n: number;
  /** Neighbours per replica where all have equally many, else null. */
  readonly k: number | null;
  readonly directed: boolean;
  /** Replicas heard per step, over replicas and steps. */
  readonly degree: Spread;
  /** Edges used per step, on average; one-way edges if directed. */
  readonly edges: number;
  /** Longest way between two replicas, over the edges of all steps; null if some are never joined. */
  readonly diameter: number | null;
  /** 1 − |λ2| of W; of a period's product, or in the mean square of random steps, per step. */
  readonly spectralGap: number;
  /** What the gap was computed of. */
  readonly spectralGapOf: Contraction['of'];
  /** By how much the gap may be off, as it was sampled. */
  readonly spectralGapError: number;
  /** Steps until differences between replicas have shrunk to 1 %; null if they never do. */
  readonly mixingSteps: number | null;
  readonly doublyStochastic: boolean;
  readonly symmetric: boolean;
  /** Steps until the rounds repeat; null if they are drawn anew each step. */
  readonly periodSteps: number | null;
  /** Floats sent per step and model parameter: by each replica, and by all together. */
  readonly floatsSentPerParameter: Spread & { readonly total: number };
}

function spread(values: readonly number[]): Spread {
  // Not Math.min(...values): n × period values are too many arguments.
  let [min, max, sum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
  for (const value of values) {
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
  }
  return { min, max, mean: sum / values.length };
}

/** Everyone's neighbours over several steps together. */
function union(lists: readonly (readonly (readonly number[])[])[]): readonly (readonly number[])[] {
  if (lists.length === 1) return lists[0]!;
  return lists[0]!.map((_, i) => [...new Set(lists.flatMap((sources) => sources[i]!))].sort((a, b) => a - b));
}

function diameter(sources: readonly (readonly number[])[], transitive: boolean): number | null {
  const targets = targetsOf(sources);
  let longest = 0;
  // From every replica, or from one where all look alike.
  for (let start = 0; start < (transitive ? 1 : sources.length); start++)
    for (const distance of distances(targets, start)) {
      if (distance < 0) return null;
      longest = Math.max(longest, distance);
    }
  return longest;
}

/** Steps that stand for all: a period, or a sample where every step is drawn anew. */
const stepsOf = ({ period }: Topology): number[] =>
  Array.from({ length: period === Number.POSITIVE_INFINITY ? sampledSteps : period }, (_, step) => step);

/** Replicas heard per step, mean over replicas and steps. */
export function meanDegree(topology: Topology): number {
  // Random rounds with a k differ in who is heard, not in how many; drawing them only to count would take long.
  if (topology.period === Number.POSITIVE_INFINITY && topology.k !== undefined) return topology.k;
  const steps = stepsOf(topology);
  let sum = 0;
  for (const step of steps) for (const row of topology.round(step).sources) sum += row.length;
  return sum / (steps.length * topology.n);
}

export function summarize(topology: Topology): TopologySummary {
  const { n, period, directed } = topology;
  const random = period === Number.POSITIVE_INFINITY;
  const steps = stepsOf(topology);
  const rounds = steps.map((step) => topology.round(step).sources);
  const mixings = steps.map((step) => topology.mixing(step));
  const degree = spread(rounds.flatMap((sources) => sources.map((row) => row.length)));
  const sent = spread(rounds.flatMap((sources) => targetsOf(sources).map((row) => row.length)));
  const arcs = degree.mean * n;
  const { modulus, of, error } = contraction(topology);
  return {
    kind: topology.kind,
    n,
    k: degree.min === degree.max ? degree.max : (topology.k ?? null),
    directed,
    degree,
    edges: directed ? arcs : arcs / 2,
    diameter: diameter(union(rounds), mixings.every(isCirculant)),
    spectralGap: 1 - modulus,
    spectralGapOf: of,
    spectralGapError: error,
    mixingSteps: mixingSteps(modulus, random ? 1 : period),
    doublyStochastic: mixings.every(isDoublyStochastic),
    symmetric: mixings.every(isSymmetric),
    periodSteps: random ? null : period,
    floatsSentPerParameter: { ...sent, total: arcs },
  };
}

function mixingSteps(modulus: number, period: number): number | null {
  if (modulus < negligible) return period;
  return modulus > 1 - 1e-12 ? null : Math.ceil(Math.log(100) / -Math.log(modulus));
}
