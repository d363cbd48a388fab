/** Statistics over plain number arrays, in float64. */

export type NumberList = ArrayLike<number>;

export function mean(values: NumberList): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

/** Population variance Σ(v−m)²/n. */
export function variance(values: NumberList): number {
  const m = mean(values);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (values[i]! - m) ** 2;
  return sum / values.length;
}

function sorted(values: NumberList): Float64Array {
  return new Float64Array(values).sort();
}

/** Quantile q ∈ [0, 1], linear between order statistics (the default of NumPy and R). */
export function quantile(values: NumberList, q: number): number {
  const v = sorted(values);
  const at = (v.length - 1) * q;
  const low = Math.floor(at);
  const high = Math.min(low + 1, v.length - 1);
  return v[low]! + (at - low) * (v[high]! - v[low]!);
}

/** How unequal the values of one quantity are over the replicas; all 0 when they are equal. */
export interface Dispersion {
  /** s²/m */
  readonly indexOfDispersion: number;
  /** s/m */
  readonly coefficientOfVariation: number;
  /** (Q3−Q1)/(Q3+Q1) with Q1 = sorted[⌊n/4⌋], Q3 = sorted[⌊3n/4⌋] */
  readonly quartileCoefficient: number;
  /** Σ_i Σ_j |v_i−v_j| / (2 n² m) */
  readonly gini: number;
}

/** The four dispersion statistics of nonnegative values (norms); an all-zero vector counts as equal. */
export function dispersion(values: NumberList): Dispersion {
  const n = values.length;
  const v = sorted(values);
  // Exactly 0 for equal values, where the formulas below would leave rounding errors.
  if (n === 0 || v[0] === v[n - 1])
    return { indexOfDispersion: 0, coefficientOfVariation: 0, quartileCoefficient: 0, gini: 0 };
  const m = mean(v);
  const s2 = variance(v);
  const [q1, q3] = [v[Math.floor(n / 4)]!, v[Math.floor((3 * n) / 4)]!];
  let weighted = 0;
  // Σ i·v_(i) centred on the middle rank: the same sum without the cancellation of 2Σ i·v/(nΣv) − (n+1)/n.
  for (let i = 0; i < n; i++) weighted += (2 * i + 1 - n) * v[i]!;
  return {
    indexOfDispersion: s2 / m,
    coefficientOfVariation: Math.sqrt(s2) / m,
    quartileCoefficient: q1 + q3 === 0 ? 0 : (q3 - q1) / (q3 + q1),
    gini: weighted / (n * n * m),
  };
}

/** Ranks 1..n; ties share the mean of their ranks. */
export function ranks(values: NumberList): Float64Array {
  const order = Array.from({ length: values.length }, (_, i) => i).sort((a, b) => values[a]! - values[b]!);
  const out = new Float64Array(values.length);
  for (let start = 0; start < order.length; ) {
    let end = start + 1;
    while (end < order.length && values[order[end]!] === values[order[start]!]) end++;
    for (let i = start; i < end; i++) out[order[i]!] = (start + 1 + end) / 2;
    start = end;
  }
  return out;
}

/** Pearson correlation; NaN when either side is constant. */
export function pearson(x: NumberList, y: NumberList): number {
  if (x.length !== y.length) throw new RangeError(`correlation needs equal lengths, got ${x.length} and ${y.length}`);
  const [mx, my] = [mean(x), mean(y)];
  let [xy, xx, yy] = [0, 0, 0];
  for (let i = 0; i < x.length; i++) {
    const [dx, dy] = [x[i]! - mx, y[i]! - my];
    xy += dx * dy;
    xx += dx * dx;
    yy += dy * dy;
  }
  return xx === 0 || yy === 0 ? Number.NaN : xy / Math.sqrt(xx * yy);
}

/**
 * P(|T| < √df·tan θ) for Student's t with a whole number of degrees of freedom: a finite sum in θ.
 *
 * Abramowitz and Stegun, "Handbook of mathematical functions", 1964, 26.7.3 and 26.7.4.
 */
function studentWithin(theta: number, df: number): number {
  const [sin, cos] = [Math.sin(theta), Math.cos(theta)];
  const odd = df % 2 === 1;
  let term = odd ? cos : 1;
  let series = df === 1 ? 0 : term;
  for (let i = odd ? 3 : 2; i <= df - 2; i += 2) {
    term *= ((i - 1) / i) * cos * cos;
    series += term;
  }
  return odd ? (2 / Math.PI) * (theta + sin * series) : sin * series;
}

/** P(T ≥ t) for a whole number of degrees of freedom. */
export function studentTail(t: number, df: number): number {
  const within = studentWithin(Math.atan(Math.abs(t) / Math.sqrt(df)), df);
  return t < 0 ? (1 + within) / 2 : (1 - within) / 2;
}

/** The t that |T| stays below with the given probability, for a whole number of degrees of freedom. */
export function studentQuantile(probability: number, df: number): number {
  let [low, high] = [0, Math.PI / 2];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (studentWithin(middle, df) < probability) low = middle;
    else high = middle;
  }
  return Math.sqrt(df) * Math.tan((low + high) / 2);
}
