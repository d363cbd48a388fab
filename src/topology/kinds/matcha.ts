import { z } from 'zod';
import { Random } from '../../base/random.ts';
import { kind, refuse, weighted } from '../kind.ts';
import { type Operator, probe, symmetricExtremes, towardsLeast } from '../spectrum.ts';
import { lattice } from './lattice.ts';
import { erdosRenyi, randomRegular } from './random.ts';
import { ring } from './ring.ts';
import { torus } from './torus.ts';

type Edge = readonly [number, number];

/** What MATCHA may thin out: static undirected kinds. */
const bases = { ring, torus, lattice, 'random-regular': randomRegular, 'erdos-renyi': erdosRenyi };

/**
 * Splits the edges into at most Δ+1 matchings: Misra & Gries, "A constructive proof of Vizing's theorem", 1992.
 */
export function matchings(n: number, edges: readonly Edge[], degree: number): Edge[][] {
  const colours = degree + 1;
  // at[u·colours + c]: u's neighbour along colour c, or −1.
  const at = new Int32Array(n * colours).fill(-1);
  const free = (u: number) => {
    for (let c = 0; ; c++) if (at[u * colours + c] === -1) return c;
  };
  const isFree = (u: number, c: number) => at[u * colours + c] === -1;
  const colourOf = (u: number, v: number) => {
    for (let c = 0; c < colours; c++) if (at[u * colours + c] === v) return c;
    return -1;
  };
  const paint = (u: number, v: number, c: number) => {
    at[u * colours + c] = v;
    at[v * colours + c] = u;
  };
  const wipe = (u: number, v: number, c: number) => {
    at[u * colours + c] = -1;
    at[v * colours + c] = -1;
  };
  for (const [u, v] of edges) {
    // A maximal fan of u: each next edge's colour is free at the one before.
    const fan = [v];
    for (let grown = true; grown; ) {
      grown = false;
      for (let c = 0; c < colours && !grown; c++) {
        const w = at[u * colours + c]!;
        if (w >= 0 && !fan.includes(w) && isFree(fan.at(-1)!, c)) grown = fan.push(w) > 0;
      }
    }
    const c = free(u);
    const d = free(fan.at(-1)!);
    // Swap c and d along the path that leaves u by d, so that d becomes free at u.
    const path: [number, number, number][] = [];
    for (let x = u, colour = d; at[x * colours + colour]! >= 0; colour = colour === d ? c : d) {
      const y = at[x * colours + colour]!;
      path.push([x, y, colour]);
      x = y;
    }
    for (const [x, y, colour] of path) wipe(x, y, colour);
    for (const [x, y, colour] of path) paint(x, y, colour === d ? c : d);
    // Shorten the fan to where it still is one and d is free, then rotate it.
    let w = fan.findIndex(
      (x, i) => isFree(x, d) && fan.slice(1, i + 1).every((y, m) => isFree(fan[m]!, colourOf(u, y))),
    );
    if (w < 0) w = 0;
    const shifted = fan.slice(1, w + 1).map((y) => colourOf(u, y));
    for (const [i, colour] of shifted.entries()) wipe(u, fan[i + 1]!, colour);
    for (const [i, colour] of shifted.entries()) paint(u, fan[i]!, colour);
    paint(u, fan[w]!, d);
  }
  const out = Array.from({ length: colours }, (): Edge[] => []);
  for (let u = 0; u < n; u++)
    for (let c = 0; c < colours; c++) if (at[u * colours + c]! > u) out[c]!.push([u, at[u * colours + c]!]);
  return out.filter((matching) => matching.length > 0);
}

/** x ↦ Σ_j p_j L_j x, L_j the Laplacian of matching j; edges in flat arrays, as this is the inner loop of all below. */
function laplacian(parts: readonly Edge[][], p: readonly number[]): Operator {
  const from = Int32Array.from(parts.flat(), ([u]) => u);
  const to = Int32Array.from(parts.flat(), ([, v]) => v);
  const weight = Float64Array.from(parts.flatMap((matching, m) => matching.map(() => p[m]!)));
  return (x, out) => {
    out.fill(0);
    for (let e = 0; e < from.length; e++) {
      const flow = weight[e]! * (x[from[e]!]! - x[to[e]!]!);
      out[from[e]!]! += flow;
      out[to[e]!]! -= flow;
    }
  };
}

/** The nearest point with Σp = total and 0 ≤ p ≤ 1: shift and clip, the shift by bisection. */
function project(p: readonly number[], total: number): number[] {
  let [low, high] = [-2, 2];
  const clip = (shift: number) => p.map((x) => Math.min(1, Math.max(0, x + shift)));
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (clip(middle).reduce((a, b) => a + b, 0) < total) low = middle;
    else high = middle;
  }
  return clip(high);
}

/**
 * Activation probabilities that maximise λ2(Σ p_j L_j) for Σ p_j = budget·M: projected supergradient ascent, the gradient along
 * p_j being v2ᵀ L_j v2, and the mean over the second half of it. Equal ones where that is no better, as on symmetric topologies, whose
 * λ2 has many v2.
 */
export function activation(n: number, parts: readonly Edge[][], budget: number): number[] {
  const equal = parts.map(() => budget);
  const sums = parts.map(() => 0);
  const rounds = 60;
  let p = equal;
  let v = probe(n);
  for (let round = 0; round < rounds; round++) {
    const flow = laplacian(parts, p);
    for (let i = 0; i < 2; i++) v = towardsLeast(flow, v);
    const slopes = parts.map((matching) => matching.reduce((s, [a, b]) => s + (v[a]! - v[b]!) ** 2, 0));
    const step = 0.3 / (1 + round) ** 0.7 / Math.max(...slopes);
    p = project(
      p.map((x, m) => x + step * slopes[m]!),
      budget * parts.length,
    );
    if (round >= rounds / 2) for (const [m, x] of p.entries()) sums[m]! += x;
  }
  const found = sums.map((sum) => sum / (rounds / 2));
  const gap = (each: readonly number[]) => symmetricExtremes(n, laplacian(parts, each), 1e-7).least;
  return gap(found) > gap(equal) ? found : equal;
}

/** E[W²] of W = I − αL(t): I − 2αL̄ + α²(L̄² + 2L̃) with L̄ = Σ p L_j, L̃ = Σ p(1−p) L_j, as L_j² = 2L_j of a matching. */
function secondMoments(n: number, parts: readonly Edge[][], p: readonly number[]): (alpha: number) => Operator {
  const average = laplacian(parts, p);
  const spread = laplacian(
    parts,
    p.map((x) => x * (1 - x)),
  );
  const [once, twice, noise] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)];
  return (alpha) => (x, out) => {
    average(x, once);
    average(once, twice);
    spread(x, noise);
    for (let i = 0; i < n; i++) out[i] = x[i]! - 2 * alpha * once[i]! + alpha ** 2 * (twice[i]! + 2 * noise[i]!);
  };
}

/** The α from 0 to `most` that contracts fastest in the mean square: minimises ‖E[W²] − J‖ by golden section. */
function bestStep(n: number, secondMoment: (alpha: number) => Operator, most: number): number {
  const norm = (alpha: number) => {
    // Close enough to tell two steps apart; the last digits of α change nothing.
    const { least, greatest } = symmetricExtremes(n, secondMoment(alpha), 1e-7);
    return Math.max(Math.abs(least), Math.abs(greatest));
  };
  const ratio = (Math.sqrt(5) - 1) / 2;
  let [low, high] = [0, most];
  let [a, b] = [high - ratio * high, ratio * high];
  let [atA, atB] = [norm(a), norm(b)];
  for (let i = 0; i < 16; i++)
    if (atA < atB) {
      [high, b, atB] = [b, a, atA];
      a = high - ratio * (high - low);
      atA = norm(a);
    } else {
      [low, a, atA] = [a, b, atB];
      b = low + ratio * (high - low);
      atB = norm(b);
    }
  return (low + high) / 2;
}

type Choice = 'nonnegative' | 'fastest';
type Prepared = ReturnType<typeof prepareMatchings>;

function prepareMatchings(n: number, edges: readonly Edge[], degree: number, budget: number, choice: Choice) {
  const parts = matchings(n, edges, degree);
  const p = activation(n, parts, budget);
  const secondMoment = secondMoments(n, parts, p);
  // W ≥ 0 up to 1/Δ. Beyond 2/λ_max(L̄) the norm is above the 1 of α = 0.
  const most = choice === 'nonnegative' ? 1 / degree : 2 / symmetricExtremes(n, laplacian(parts, p), 1e-7).greatest;
  return { parts, p, secondMoment, alpha: bestStep(n, secondMoment, most) };
}

/** Wang et al., "MATCHA: speeding up decentralized SGD via matching decomposition sampling", 2019. */
export const matcha = kind({
  name: 'matcha',
  aliases: ['matching', 'random-matchings'],
  summary: 'drawn anew every step: some of the matchings of a base topology, as often as the budget allows',
  settings: {
    base: z
      .enum(Object.keys(bases) as [keyof typeof bases])
      .default('lattice')
      .describe('the topology to thin out, with its default settings'),
    budget: z
      .number()
      .gt(0)
      .max(1)
      .default(0.5)
      .describe('share of the base topology’s matchings used per step, on average'),
    alpha: z
      .enum(['nonnegative', 'fastest'])
      .default('nonnegative')
      .describe(
        'weight of every edge: the one that mixes fastest on average without ever weighing a replica’s own parameters below 0, or the fastest of all, as in the paper',
      ),
  },
  directed: false,
  weights: 'uniform',
  build(n, { base, budget, alpha: choice }, seed) {
    const { sources } = bases[base].build(n, { countPerSide: false } as never, seed).round(0);
    const edges = sources.flatMap((row, i) => row.filter((j) => j > i).map((j): Edge => [i, j]));
    if (edges.length === 0) refuse('matcha', { n, base }, 'the base topology has no edges');
    const degree = Math.max(...sources.map((row) => row.length));
    // Long work on thousands of replicas, and not needed to know that the topology exists.
    let prepared: Prepared | undefined;
    const prepare = () => (prepared ??= prepareMatchings(n, edges, degree, budget, choice));
    return {
      period: Number.POSITIVE_INFINITY,
      meanSquare() {
        const { secondMoment, alpha } = prepare();
        return symmetricExtremes(n, secondMoment(alpha)).greatest;
      },
      round(step) {
        const { parts, p, alpha } = prepare();
        const random = new Random(seed, 'topology', 1, step);
        const active = parts.filter((_, m) => random.uniform() < p[m]!);
        return weighted(
          n,
          active.flat().map(([i, j]) => [i, j, alpha] as const),
        );
      },
    };
  },
});
