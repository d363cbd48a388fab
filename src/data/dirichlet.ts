import type { Random } from '../base/random.ts';

/**
 * log of a Gamma(alpha, 1) number. In logarithms because for small alpha the number itself is often below the smallest double.
 *
 * Marsaglia & Tsang, "A simple method for generating gamma variables", 2000; for alpha < 1 by Gamma(alpha) = Gamma(alpha + 1) · U^(1/alpha).
 */
function logGamma(random: Random, alpha: number): number {
  if (alpha < 1) return logGamma(random, alpha + 1) + Math.log(1 - random.uniform()) / alpha;
  const d = alpha - 1 / 3;
  for (;;) {
    const x = random.normal();
    const v = (1 + x / Math.sqrt(9 * d)) ** 3;
    if (v > 0 && Math.log(1 - random.uniform()) < (x * x) / 2 + d - d * v + d * Math.log(v)) return Math.log(d * v);
  }
}

/** Shares that sum to 1, drawn from a Dirichlet distribution with these parameters. */
export function dirichlet(random: Random, alphas: ArrayLike<number>): Float64Array {
  const logs = Float64Array.from(alphas, (alpha) => (alpha > 0 ? logGamma(random, alpha) : Number.NEGATIVE_INFINITY));
  const top = logs.reduce((a, b) => Math.max(a, b));
  const shares = logs.map((log) => Math.exp(log - top));
  const sum = shares.reduce((a, b) => a + b);
  return shares.map((share) => share / sum);
}

/** Whole numbers with the given sum, in these proportions: rounded down, the rest to the largest remainders. */
export function apportion(shares: ArrayLike<number>, total: number): number[] {
  const exact = Array.from(shares, (share) => share * total);
  const counts = exact.map(Math.floor);
  const left = total - counts.reduce((a, b) => a + b, 0);
  const order = exact.map((_, i) => i).sort((a, b) => exact[b]! - counts[b]! - (exact[a]! - counts[a]!) || a - b);
  for (let i = 0; i < left; i++) counts[order[i % order.length]!]! += 1;
  return counts;
}

/**
 * counts[replica][class] for replicas of equal size: each draws its class shares from Dir(alpha · classes · prior), alpha for each class
 * if all are equally frequent. Hsu et al., "Measuring the effects of non-identical data distribution", 2019, write Dir(α · prior): their
 * α is alpha · classes. There replicas are served one after the other and the last get what is left; here all shares are fitted together
 * to what each class has and each replica gets (Sinkhorn), so all samples are used and the order of the replicas does not matter.
 */
export function equalCounts(classCounts: readonly number[], n: number, alpha: number, random: Random): number[][] {
  const classes = classCounts.length;
  const total = classCounts.reduce((a, b) => a + b, 0);
  const sizes = apportion(new Float64Array(n).fill(1 / n), total);
  const alphas = classCounts.map((count) => (alpha * classes * count) / total);
  const fit = sizes.map((size) => dirichlet(random, alphas).map((share) => size * (share + tiny)));
  for (let round = 0; round < fitRounds; round++) {
    scaleColumns(fit, classCounts);
    for (const [r, row] of fit.entries()) {
      const factor = sizes[r]! / row.reduce((a, b) => a + b);
      for (let c = 0; c < classes; c++) row[c]! *= factor;
    }
  }
  return rounded(fit, sizes, classCounts);
}

/** Keeps every class possible on every replica, otherwise a fit need not exist. */
const tiny = 1e-9;
const fitRounds = 200;

function scaleColumns(rows: readonly Float64Array[], sums: readonly number[]): void {
  for (const [c, sum] of sums.entries()) {
    const found = rows.reduce((a, row) => a + row[c]!, 0);
    if (found > 0) for (const row of rows) row[c]! *= sum / found;
  }
}

/** Whole numbers near `fit` with exactly these row and column sums. */
function rounded(fit: readonly Float64Array[], rowSums: readonly number[], columnSums: readonly number[]): number[][] {
  const left = [...columnSums];
  const counts = fit.map((row, r) => {
    let room = rowSums[r]!;
    return Array.from(row, (value, c) => {
      const count = Math.min(Math.floor(value), left[c]!, room);
      left[c]! -= count;
      room -= count;
      return count;
    });
  });
  // What rounding left over goes where the fit is most above the count, as far as the class has samples.
  for (const [r, row] of counts.entries()) {
    const order = row.map((_, c) => c).sort((a, b) => fit[r]![b]! - row[b]! - (fit[r]![a]! - row[a]!) || a - b);
    let room = rowSums[r]! - row.reduce((a, b) => a + b, 0);
    while (room > 0)
      for (const c of order) {
        if (room === 0 || left[c] === 0) continue;
        row[c]! += 1;
        left[c]! -= 1;
        room -= 1;
      }
  }
  return counts;
}

/** counts[replica][class] if each class is divided over the replicas by Dir(alpha): sizes differ, a replica may get nothing. */
export function freeCounts(classCounts: readonly number[], n: number, alpha: number, random: Random): number[][] {
  const byClass = classCounts.map((count) => apportion(dirichlet(random, new Float64Array(n).fill(alpha)), count));
  return Array.from({ length: n }, (_, r) => byClass.map((counts) => counts[r]!));
}
