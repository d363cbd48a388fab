import { UserError } from '../base/error.ts';
import { type Round, requireEdges, type WeightRule } from './kind.ts';
import { symmetricExtremes } from './spectrum.ts';

/**
 * The mixing matrix W of `x_i ← Σ_j W_ij x_j`, by rows: row i has the entries start[i] … start[i+1]−1, or up to stop[i]−1 if rows share them,
 * ascending in `source`, its own among them.
 */
export interface Mixing {
  readonly n: number;
  readonly start: Int32Array;
  readonly stop?: Int32Array;
  readonly source: Int32Array;
  readonly weight: Float64Array;
}

/** Behind the last entry of each row. */
export const stopsOf = ({ start, stop }: Mixing): Int32Array => stop ?? start.subarray(1);

/** Entries of all rows; those that rows share are counted for each. */
export function entriesIn(mixing: Mixing): number {
  const stop = stopsOf(mixing);
  let entries = 0;
  for (let i = 0; i < mixing.n; i++) entries += stop[i]! - mixing.start[i]!;
  return entries;
}

/** Everybody's plain average, whose rows are one: those of ten thousand replicas would not fit into memory. */
const meanOfAll = (n: number): Mixing => ({
  n,
  start: new Int32Array(n),
  stop: new Int32Array(n).fill(n),
  source: Int32Array.from({ length: n }, (_, j) => j),
  weight: new Float64Array(n).fill(1 / n),
});

/** Fills W from the neighbours and a weight for each; replica i keeps the rest, so every row sums to 1. */
function assemble(sources: Round['sources'], weightOf: (i: number, a: number) => number): Mixing {
  const n = sources.length;
  const entries = sources.reduce((count, row) => count + row.length + 1, 0);
  requireEdges(n, Math.round(entries / n) - 1);
  const start = new Int32Array(n + 1);
  const source = new Int32Array(entries);
  const weight = new Float64Array(entries);
  let at = 0;
  for (let i = 0; i < n; i++) {
    const row = sources[i]!;
    let own = 1;
    let ownAt = -1;
    for (let a = 0; a < row.length; a++) {
      if (ownAt < 0 && row[a]! > i) ownAt = at++;
      source[at] = row[a]!;
      weight[at] = weightOf(i, a);
      own -= weight[at++]!;
    }
    if (ownAt < 0) ownAt = at++;
    source[ownAt] = i;
    // Where the parts make up the whole, what rounding leaves is not a weight.
    weight[ownAt] = Math.abs(own) < 1e-12 ? 0 : own;
    start[i + 1] = at;
  }
  return { n, start, source, weight };
}

/**
 * 1/(degree+1) for every neighbour and oneself: the plain average. Doubly stochastic on regular topologies.
 */
function uniform({ sources, everyone }: Round): Mixing {
  if (everyone) return meanOfAll(sources.length);
  const mixing = assemble(sources, (i) => 1 / (sources[i]!.length + 1));
  // The average is symmetric in its parts: 1 − Σ may differ from them in the last bit.
  for (let i = 0; i < mixing.n; i++)
    mixing.weight.fill(1 / (sources[i]!.length + 1), mixing.start[i], mixing.start[i + 1]);
  return mixing;
}

/**
 * Metropolis–Hastings weights: symmetric and doubly stochastic on any undirected topology.
 *
 *     W[i,j] = 1 / (1 + max(deg i, deg j))   for j ∈ N(i)
 *     W[i,i] = 1 − Σ_j W[i,j]
 *
 * Xiao & Boyd, "Fast linear iterations for distributed averaging", 2004.
 */
function metropolis({ sources }: Round): Mixing {
  return assemble(sources, (i, a) => 1 / (1 + Math.max(sources[i]!.length, sources[sources[i]![a]!]!.length)));
}

/**
 * The one weight α for all edges that mixes fastest, W = I − αL with α = 2/(λ_max(L) + λ_2(L)); own weights may be negative
 * on irregular topologies. Same paper.
 */
function bestConstant({ sources }: Round): Mixing {
  const laplacian = (x: Float64Array, out: Float64Array) => {
    for (let i = 0; i < sources.length; i++) {
      let sum = sources[i]!.length * x[i]!;
      for (const j of sources[i]!) sum -= x[j]!;
      out[i] = sum;
    }
  };
  const { least, greatest } = symmetricExtremes(sources.length, laplacian);
  return assemble(sources, () => 2 / (least + greatest));
}

/** Half of Metropolis–Hastings, half of staying put: no negative eigenvalue. */
function lazy({ sources }: Round): Mixing {
  return assemble(sources, (i, a) => 0.5 / (1 + Math.max(sources[i]!.length, sources[sources[i]![a]!]!.length)));
}

const rules: Record<WeightRule, (round: Round) => Mixing> = {
  uniform,
  metropolis,
  'best-constant': bestConstant,
  lazy,
};

/** Refuses a rule where it would not keep the average. */
export function checkRule(kind: string, rule: WeightRule | undefined, directed: boolean, period: number): void {
  const hint = 'leave weights out for the usual rule of this kind';
  if (directed && rule !== undefined && rule !== 'uniform')
    throw new UserError(`${kind}: weights "${rule}" need an undirected topology, this one is directed`, { hint });
  // The steps of these are often not connected by themselves: λ2(L) = 0, and α would make pairs swap instead of average.
  if (rule === 'best-constant' && period !== 1)
    throw new UserError(`${kind}: weights "best-constant" need a topology that is the same at every step`, { hint });
}

/** W of one round: by `rule` if given, else by the kind's own weights, else by its usual rule. */
export function mixingOf(round: Round, rule: WeightRule | undefined, usual: WeightRule): Mixing {
  if (round.weights !== undefined && rule === undefined)
    return assemble(round.sources, (i, a) => round.weights![i]![a]!);
  return rules[rule ?? usual](round);
}

/**
 * The same round with columns that sum to 1 instead of rows: replica j divides itself evenly among those who hear it and itself,
 * a_ij = 1/(1 + outdegree of j). For push-sum; Assran et al., "Stochastic gradient push", 2019.
 */
export function columnStochastic({ sources, everyone }: Round): Mixing {
  if (everyone) return meanOfAll(sources.length);
  const share = new Float64Array(sources.length).fill(1);
  for (const row of sources) for (const j of row) share[j]! += 1;
  const mixing = assemble(sources, (i, a) => 1 / share[sources[i]![a]!]!);
  for (const [e, j] of mixing.source.entries()) mixing.weight[e] = 1 / share[j]!;
  return mixing;
}

/** Whether i hears j. */
export type Hears = (i: number, j: number) => boolean;

/**
 * W of what is really heard: the weight of what is missing stays with the receiver. Rows still sum to 1; if i misses j wherever j misses i, a
 * symmetric W stays symmetric and keeps the average.
 */
export function heardOnly(mixing: Mixing, hears: Hears): Mixing {
  return keptEntries(mixing, hears, (own, missed) => own + missed);
}

/** The same of weights that the senders divide, as those of push-sum: what is missing is gone. */
export function arrivedOnly(mixing: Mixing, hears: Hears): Mixing {
  return keptEntries(mixing, hears, (own) => own);
}

function keptEntries(mixing: Mixing, hears: Hears, ownOf: (own: number, missed: number) => number): Mixing {
  const { n, start, source, weight } = mixing;
  const [stop, entries] = [stopsOf(mixing), entriesIn(mixing)];
  requireEdges(n, Math.round(entries / n) - 1);
  const kept: number[] = [];
  const weights: number[] = [];
  const starts = new Int32Array(n + 1);
  for (let i = 0; i < n; i++) {
    let [own, missed] = [-1, 0];
    for (let e = start[i]!; e < stop[i]!; e++) {
      const j = source[e]!;
      if (j !== i && !hears(i, j)) {
        missed += weight[e]!;
        continue;
      }
      if (j === i) own = kept.length;
      kept.push(j);
      weights.push(weight[e]!);
    }
    if (missed !== 0) weights[own] = ownOf(weights[own]!, missed);
    starts[i + 1] = kept.length;
  }
  if (kept.length === entries) return mixing;
  return { n, start: starts, source: Int32Array.from(kept), weight: Float64Array.from(weights) };
}

/**
 * W among those that are left when some replicas are lost or away: what i heard from them, it keeps of its own, so the average over those that
 * are left is kept by a symmetric W. The others hear nobody.
 */
export function without(mixing: Mixing, lost: readonly number[]): Mixing {
  if (lost.length === 0) return mixing;
  const gone = new Set(lost);
  return heardOnly(mixing, (i, j) => !gone.has(i) && !gone.has(j));
}

/** out ← W x. */
export function apply(mixing: Mixing, x: Float64Array, out: Float64Array): void {
  const { n, start, source, weight } = mixing;
  const stop = stopsOf(mixing);
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (let e = start[i]!; e < stop[i]!; e++) sum += weight[e]! * x[source[e]!]!;
    out[i] = sum;
  }
}

const tolerance = 1e-12;

/** No negative weight, and rows and columns that sum to 1: the average over replicas is kept. */
export function isDoublyStochastic(mixing: Mixing): boolean {
  const columns = new Float64Array(mixing.n);
  const rows = new Float64Array(mixing.n);
  const stop = stopsOf(mixing);
  for (let i = 0; i < mixing.n; i++)
    for (let e = mixing.start[i]!; e < stop[i]!; e++) {
      if (mixing.weight[e]! < -tolerance) return false;
      rows[i]! += mixing.weight[e]!;
      columns[mixing.source[e]!]! += mixing.weight[e]!;
    }
  const isOne = (sum: number) => Math.abs(sum - 1) < tolerance * mixing.n;
  return rows.every(isOne) && columns.every(isOne);
}

/** W_ij, 0 if i does not hear j: by bisection in row i. */
export function weightOf(mixing: Mixing, i: number, j: number): number {
  const { start, source, weight } = mixing;
  const stop = stopsOf(mixing)[i]!;
  let [low, high] = [start[i]!, stop];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (source[middle]! < j) low = middle + 1;
    else high = middle;
  }
  return low < stop && source[low] === j ? weight[low]! : 0;
}

export function isSymmetric(mixing: Mixing): boolean {
  const { n, start, source, weight } = mixing;
  const stop = stopsOf(mixing);
  for (let i = 0; i < n; i++)
    for (let e = start[i]!; e < stop[i]!; e++)
      if (Math.abs(weightOf(mixing, source[e]!, i) - weight[e]!) > tolerance) return false;
  return true;
}
