import type { Matrix, Problem } from '../../src/algorithm/reference.ts';
import { edgeSets } from '../../src/topology/edges.ts';
import { buildTopology } from '../../src/topology/topology.ts';

/**
 * The problem on which every method has known figures: eight replicas whose quadratics disagree,
 * f_i(x) = ½ Σ_j a_ij (x_j − b_ij)², in eight dimensions, from x = 0 with learning rate .05.
 */
export const n = 8;
const columns = Array.from({ length: 8 }, (_, j) => j);
const a = (i: number, j: number) => 1 + ((3 * i + 5 * j) % 7) / 7;
const b = (i: number, j: number) => ((7 * i + 11 * j) % 13) / 13 - 0.5;
const replicas = Array.from({ length: n }, (_, i) => i);
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** Where the mean of all f_i is least. */
export const optimum = columns.map(
  (j) => sum(replicas.map((i) => a(i, j) * b(i, j))) / sum(replicas.map((i) => a(i, j))),
);

export const gradient = (i: number, x: Float64Array): Float64Array => x.map((v, j) => a(i, j) * (v - b(i, j)));

export const matrix = (entry: (i: number, j: number) => number): Matrix =>
  replicas.map((i) => replicas.map((j) => entry(i, j)));
const distance = (i: number, j: number) => Math.min((i - j + n) % n, (j - i + n) % n);

export const ring = matrix((i, j) => (distance(i, j) <= 1 ? 1 / 3 : 0));
export const complete = matrix(() => 1 / n);
export const alone = matrix((i, j) => (i === j ? 1 : 0));
/** j tells j + 1, and an even j also j + 3. */
export const directed = matrix((i, j) => {
  const told = j % 2 === 0 ? [j, (j + 1) % n, (j + 3) % n] : [j, (j + 1) % n];
  return told.includes(i) ? 1 / told.length : 0;
});
/** (0,1)(2,3)… and (1,2)…(7,0) in turn. */
const turns = [0, 1].map((turn) =>
  matrix((i, j) => {
    const other = (i + turn) % 2 === 0 ? (i + 1) % n : (i + n - 1) % n;
    return j === i || j === other ? 0.5 : 0;
  }),
);
export const pairs = (t: number) => turns[t % 2]!;

/** The parent of i is ⌊(i−1)/2⌋. */
export const binaryTree = edgeSets(buildTopology({ kind: 'tree' }, n, 1), 'tree');
export const ringEdges = edgeSets(buildTopology({ kind: 'ring' }, n, 1), 'all');

export const problem: Problem = {
  n,
  start: new Float64Array(8),
  rate: () => 0.05,
  weights: () => ring,
  columns: () => directed,
  gradient,
};

/** ‖mean x − x*‖ and Ξ. */
export function figures(model: readonly Float64Array[]): { off: number; spread: number } {
  const mean = columns.map((j) => sum(model.map((x) => x[j]!)) / n);
  return {
    off: Math.hypot(...mean.map((v, j) => v - optimum[j]!)),
    spread: Math.sqrt(sum(model.map((x) => sum(columns.map((j) => (x[j]! - mean[j]!) ** 2)))) / n),
  };
}

type Direction = NonNullable<Problem['direction']>;

/** Heavy ball or Nesterov, as an optimizer of each replica. */
export function momentum(beta: number, nesterov = false): Direction {
  const slots = new Map<number, Float64Array>();
  return (i, g) => {
    const m = g.map((v, j) => beta * (slots.get(i)?.[j] ?? 0) + v);
    slots.set(i, m);
    return nesterov ? g.map((v, j) => v + beta * m[j]!) : m;
  };
}

/** Adam with bias correction. */
export function adam(beta1: number, beta2: number, epsilon: number): Direction {
  const slots = new Map<number, readonly [Float64Array, Float64Array]>();
  return (i, g, _, t) => {
    const [m0, v0] = slots.get(i) ?? [new Float64Array(8), new Float64Array(8)];
    const m = g.map((v, j) => beta1 * m0[j]! + (1 - beta1) * v);
    const v = g.map((each, j) => beta2 * v0[j]! + (1 - beta2) * each * each);
    slots.set(i, [m, v]);
    return m.map((each, j) => each / (1 - beta1 ** (t + 1)) / (Math.sqrt(v[j]! / (1 - beta2 ** (t + 1))) + epsilon));
  };
}

/** The two largest, all signs, and 16 levels with u = ½, on whole rows. */
export const compressors = {
  identity: (_: number, v: Float64Array) => v,
  top2: (_: number, v: Float64Array) => {
    const order = [...v.keys()].sort((p, q) => Math.abs(v[q]!) - Math.abs(v[p]!) || p - q).slice(0, 2);
    return v.map((each, j) => (order.includes(j) ? each : 0));
  },
  sign: (_: number, v: Float64Array) => {
    const scale = sum([...v].map(Math.abs)) / v.length;
    return v.map((each) => (each < 0 ? -scale : scale));
  },
  qsgd16: (_: number, v: Float64Array) => {
    const norm = Math.hypot(...v);
    return v.map((each) =>
      norm === 0 ? 0 : (Math.sign(each) * norm * Math.floor((16 * Math.abs(each)) / norm + 0.5)) / 16,
    );
  },
};
