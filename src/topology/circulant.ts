import { type Mixing, stopsOf } from './mixing.ts';

/**
 * Second largest eigenvalue modulus of a product of circulants, by their Fourier transforms, whose products are the product's:
 * λ_j = Σ_o w_o e^(2πi·jo/n).
 */
export function circulantModulus(factors: readonly Mixing[]): number {
  const { n } = factors[0]!;
  const [cos, sin] = [Math.cos, Math.sin].map((f) =>
    Float64Array.from({ length: n }, (_, m) => f((2 * Math.PI * m) / n)),
  );
  let largest = 0;
  for (let j = 1; j <= n / 2; j++) {
    let modulus = 1;
    for (const mixing of factors) {
      const { start, source, weight } = mixing;
      const stop = stopsOf(mixing)[0]!;
      let [re, im] = [0, 0];
      for (let e = start[0]!; e < stop; e++) {
        const m = (j * source[e]!) % n;
        re += weight[e]! * cos![m]!;
        im += weight[e]! * sin![m]!;
      }
      modulus *= Math.hypot(re, im);
    }
    largest = Math.max(largest, modulus);
  }
  return largest;
}

/** Is every row the first one shifted? */
export function isCirculant(mixing: Mixing): boolean {
  const { n, start, source, weight } = mixing;
  const stop = stopsOf(mixing);
  const first = new Float64Array(n).fill(Number.NaN);
  for (let e = 0; e < stop[0]!; e++) first[source[e]!] = weight[e]!;
  for (let i = 1; i < n; i++) {
    if (stop[i]! - start[i]! !== stop[0]!) return false;
    for (let e = start[i]!; e < stop[i]!; e++)
      if (!(Math.abs(first[(source[e]! - i + n) % n]! - weight[e]!) <= 1e-14)) return false;
  }
  return true;
}
