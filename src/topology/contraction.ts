import { mean, variance } from '../base/statistics.ts';
import { circulantModulus, isCirculant } from './circulant.ts';
import { apply, isSymmetric, type Mixing, stopsOf } from './mixing.ts';
import { type Operator, spectralRadius, symmetricExtremes } from './spectrum.ts';
import type { Topology } from './topology.ts';

/** What rounding leaves of an exact average is no contraction rate: its root over a period would pretend to be one. */
export const negligible = 1e-12;

/** How fast differences between replicas shrink. */
export interface Contraction {
  /** The factor per step, |λ2|. */
  readonly modulus: number;
  /** What it was computed of. */
  readonly of: 'W' | 'product over the period' | 'E[WᵀW]' | `E[WᵀW], sample of ${number} steps`;
  /** By how much it may be off. */
  readonly error: number;
}

/** |λ2| of a mixing matrix: in closed form for circulants, iteratively otherwise; never by an n×n decomposition. */
export function secondModulus(mixing: Mixing, symmetric: boolean, operator: Operator): number {
  if (mixing.n === 1) return 0;
  if (isCirculant(mixing)) return circulantModulus([mixing]);
  if (!symmetric) return spectralRadius(mixing.n, operator);
  const { least, greatest } = symmetricExtremes(mixing.n, operator);
  return Math.max(Math.abs(least), Math.abs(greatest));
}

/** |λ2| of W; per step, that of the product over a period; the root of λ2(E[WᵀW]) if W is drawn anew each step. */
export function contraction(topology: Topology): Contraction {
  const { n, period } = topology;
  if (n === 1) return { modulus: 0, of: 'W', error: 0 };
  if (period === 1) {
    const mixing = topology.mixing(0);
    const modulus = secondModulus(mixing, isSymmetric(mixing), (x, out) => apply(mixing, x, out));
    return { modulus: modulus < negligible ? 0 : modulus, of: 'W', error: 0 };
  }
  if (period === Number.POSITIVE_INFINITY) return randomContraction(topology);
  const factors = Array.from({ length: period }, (_, step) => topology.mixing(step));
  const product = (x: Float64Array, out: Float64Array) => {
    let current = x;
    for (const [step, factor] of factors.entries()) {
      const next = step === period - 1 ? out : new Float64Array(n);
      apply(factor, current, next);
      current = next;
    }
  };
  const radius = factors.every(isCirculant) ? circulantModulus(factors) : spectralRadius(n, product);
  return { modulus: radius < negligible ? 0 : radius ** (1 / period), of: 'product over the period', error: 0 };
}

/**
 * Per step, differences shrink by λ2(E[WᵀW]) in the mean square, whatever came before, for steps are independent. (A mean of logarithms
 * would be another rate, −∞ as soon as one W averages exactly.) In closed form if the kind has one, else from a sample of steps.
 */
function randomContraction(topology: Topology): Contraction {
  const { meanSquare, exchangeable } = topology;
  if (meanSquare !== undefined) return { modulus: Math.sqrt(meanSquare()), of: 'E[WᵀW]', error: 0 };
  return exchangeable ? byTrace(topology) : bySample(topology);
}

const tracedSteps = 100;

/**
 * If every order of the replicas is as likely as any other, E[WᵀPW] (P takes the average away) is a multiple of the identity on vectors
 * that sum to 0: its trace by n − 1. The error is two standard errors.
 */
function byTrace({ n, mixing }: Topology): Contraction {
  const squares = Array.from({ length: tracedSteps }, (_, step) => {
    const { source, weight } = mixing(step);
    const columns = new Float64Array(n);
    source.forEach((j, e) => {
      columns[j]! += weight[e]!;
    });
    const square = (values: Float64Array) => values.reduce((sum, value) => sum + value * value, 0);
    return (square(weight) - square(columns) / n) / (n - 1);
  });
  const modulus = Math.sqrt(Math.max(0, mean(squares)));
  // Of a square root: half the relative error.
  const error = modulus === 0 ? 0 : Math.sqrt(variance(squares) / tracedSteps) / modulus;
  return error < negligible
    ? { modulus, of: 'E[WᵀW]', error: 0 }
    : { modulus, of: `E[WᵀW], sample of ${tracedSteps} steps`, error };
}

const [fewestSteps, mostSteps, parts] = [64, 1024, 4];

/**
 * λ2 of the mean of WᵀPW over a sample: a little too large, the more so the smaller the sample. Four parts of it tell how much they differ and by
 * how much they exceed the whole; the sample is doubled until that is less than 3 % of the gap, or the most steps are reached.
 */
function bySample({ n, mixing }: Topology): Contraction {
  const mixings: Mixing[] = [];
  for (let steps = fewestSteps; ; steps *= 2) {
    while (mixings.length < steps) mixings.push(mixing(mixings.length));
    const modulus = sampledModulus(n, mixings);
    const apart = Array.from({ length: parts }, (_, part) =>
      sampledModulus(
        n,
        mixings.filter((_, step) => step % parts === part),
      ),
    );
    const error = 2 * Math.sqrt(variance(apart) / (parts - 1)) + Math.abs(mean(apart) - modulus);
    if (error <= 0.03 * (1 - modulus) || steps === mostSteps)
      return { modulus, of: `E[WᵀW], sample of ${steps} steps`, error };
  }
}

function sampledModulus(n: number, mixings: readonly Mixing[]): number {
  const image = new Float64Array(n);
  const expected: Operator = (x, out) => {
    out.fill(0);
    for (const mixing of mixings) {
      apply(mixing, x, image);
      const average = mean(image);
      const { start, source, weight } = mixing;
      const stop = stopsOf(mixing);
      for (let i = 0; i < n; i++)
        for (let e = start[i]!; e < stop[i]!; e++)
          out[source[e]!]! += (weight[e]! * (image[i]! - average)) / mixings.length;
    }
  };
  return Math.sqrt(Math.max(0, symmetricExtremes(n, expected, 1e-4).greatest));
}

/**
 * Per n averagings of pairs, each a replica and one of its neighbours drawn at random: one of them is a projection W, so that differences shrink by
 * λ2(E[W]) in the mean square, E[W] = I − 1/(2n) Σ_i 1/d_i Σ_j (e_i − e_j)(e_i − e_j)ᵀ. (Boyd, Ghosh, Prabhakar, Shah, "Randomized gossip algorithms", 2006.)
 */
export function pairContraction({ n, round }: Pick<Topology, 'n' | 'round'>): number {
  const { sources } = round(0);
  const { greatest } = symmetricExtremes(n, (x, out) => {
    out.set(x);
    sources.forEach((row, i) => {
      for (const j of row) {
        const half = (x[i]! - x[j]!) / (2 * n * row.length);
        out[i]! -= half;
        out[j]! += half;
      }
    });
  });
  return Math.max(0, greatest) ** (n / 2);
}
