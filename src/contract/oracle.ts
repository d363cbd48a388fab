import type { Matrix, Problem } from '../algorithm/reference.ts';

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

export const problem: Problem = {
  n,
  start: new Float64Array(8),
  rate: () => 0.05,
  weights: () => ring,
  columns: () => directed,
  gradient,
  // Answers are the parameters themselves, and replicas take their differences to a teacher more or less seriously.
  distil: (i, at, teacher) => at.map((v, c) => (v - teacher[c]!) * (1 + i / 8)),
  // So many times the mean gradient of these replicas, as far as their mean loss is least.
  evolve(replicas, at, rate, taus) {
    const mean = at.map((_, j) => sum(replicas.map((i) => gradient(i, at)[j]!)) / replicas.length);
    const loss = (x: Float64Array) => sum(replicas.flatMap((i) => [...x].map((v, j) => a(i, j) * (v - b(i, j)) ** 2)));
    const moved = taus.map((tau) => at.map((v, j) => v - rate * tau * mean[j]!));
    return moved.reduce((best, x) => (loss(x) < loss(best) ? x : best));
  },
};

/** ‖mean x − x*‖ and Ξ. */
export function figures(model: readonly Float64Array[]): { off: number; spread: number } {
  const mean = columns.map((j) => sum(model.map((x) => x[j]!)) / n);
  return {
    off: Math.hypot(...mean.map((v, j) => v - optimum[j]!)),
    spread: Math.sqrt(sum(model.map((x) => sum(columns.map((j) => (x[j]! - mean[j]!) ** 2)))) / n),
  };
}
