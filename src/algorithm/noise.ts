import { type Mixing, stopsOf } from '../topology/mixing.ts';

/**
 * How far replicas come apart if their gradients are noise and nothing else, x ← x − m with m ← β m + g: Ξ² in units of (learning rate × noise)². Curvature is left out, which
 * would hold them together: ratios between ways to average are what this is good for.
 */

/** After so many steps from where all had the same model and momentum. */
export function driftAlone(n: number, beta: number, steps: number): number {
  let [sum, reach] = [0, 0];
  // Of the gradient of k steps ago 1 + β + … + β^(k−1) has come into the model.
  for (let k = 0; k < steps; k++) {
    reach = beta * reach + 1;
    sum += reach ** 2;
  }
  return (1 - 1 / n) * sum;
}

/** Σ_j W_ij rows_j for all i; `rows` is n × n. */
function mixed(mixing: Mixing, rows: Float64Array): Float64Array {
  const { n, start, source, weight } = mixing;
  const [out, stop] = [new Float64Array(n * n), stopsOf(mixing)];
  for (let i = 0; i < n; i++)
    for (let e = start[i]!; e < stop[i]!; e++)
      for (let c = 0; c < n; c++) out[i * n + c]! += weight[e]! * rows[source[e]! * n + c]!;
  return out;
}

const transposed = (n: number, rows: Float64Array) => rows.map((_, k) => rows[(k % n) * n + Math.floor(k / n)]!);

/**
 * The same with a gossip every few steps, just before the one that comes after `gossips` of them: exactly, from how x_i and m_j vary together. A replica's momentum
 * is its own.
 */
export function driftUnderGossip(
  mixing: (gossip: number) => Mixing,
  {
    n,
    beta,
    every,
    gossips,
  }: { readonly n: number; readonly beta: number; readonly every: number; readonly gossips: number },
): number {
  // E x xᵀ, E x mᵀ, and E m mᵀ, which is a multiple of the unit matrix.
  let [xx, xm, mm]: [Float64Array, Float64Array, number] = [new Float64Array(n * n), new Float64Array(n * n), 0];
  const drift = () => {
    mm = beta ** 2 * mm + 1;
    const before = xm.map((value) => beta * value);
    xx = xx.map((value, k) => value - before[k]! - before[(k % n) * n + Math.floor(k / n)]!);
    xm = before;
    for (let i = 0; i < n; i++) {
      xx[i * (n + 1)]! += mm;
      xm[i * (n + 1)]! -= mm;
    }
  };
  for (let gossip = 0; gossip <= gossips; gossip++) {
    for (let step = 0; step < every; step++) drift();
    if (gossip === gossips) break;
    const w = mixing(gossip);
    xx = mixed(w, transposed(n, mixed(w, xx)));
    xm = mixed(w, xm);
  }
  let [own, all] = [0, 0];
  for (let i = 0; i < n; i++) own += xx[i * (n + 1)]!;
  for (const value of xx) all += value;
  return own / n - all / n ** 2;
}
