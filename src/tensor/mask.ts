/**
 * Dropout masks: whether an element is dropped is a pure function of (key, salt, element), with few enough integer
 * operations that every backend can do them: one table of constants and, per element, an add, an xor, a multiply and a
 * comparison.
 *
 *     t[i] = lowbias32(i) | 1                    (constant)
 *     a = key[0] + salt · 0x9e3779b9             b = 2 · (key[1] + salt · 0x85ebca6b)
 *     dropped = (t[i] + a) · (t[i] ⊕ b) < rate · 2³² − 2³¹     (all modulo 2³², compared as signed)
 *
 * The second factor is odd, so the product is uniform when key[0] is. The key itself is drawn from Philox by
 * (seed, 'dropout', replica, step). lowbias32: Wellons, "Prospecting for hash functions", 2018.
 */

export const saltFactors = [0x9e3779b9 | 0, 0x85ebca6b | 0] as const;

/** The xor-shift and multiply constants of lowbias32. */
export const lowbias = { shifts: [16, 15, 16], factors: [0x7feb352d, 0x846ca68b] } as const;

export function lowbias32(x: number): number {
  const [s0, s1, s2] = lowbias.shifts;
  const [f0, f1] = lowbias.factors;
  let h = Math.imul(x ^ (x >>> s0), f0);
  h = Math.imul(h ^ (h >>> s1), f1);
  return h ^ (h >>> s2);
}

/** Products below this, as signed numbers, are dropped. */
export const dropBelow = (rate: number): number => Math.round(rate * 2 ** 32) - 2 ** 31;

/** Factors 0 and 1/(1−rate) for `size` elements. */
export function dropoutMask(key: ArrayLike<number>, salt: number, rate: number, size: number): Float64Array {
  const a = (key[0]! + Math.imul(salt, saltFactors[0])) | 0;
  const b = ((key[1]! + Math.imul(salt, saltFactors[1])) | 0) << 1;
  const bound = dropBelow(rate);
  return Float64Array.from({ length: size }, (_, i) => {
    const t = lowbias32(i) | 1;
    return Math.imul(t + a, t ^ b) < bound ? 0 : 1 / (1 - rate);
  });
}
