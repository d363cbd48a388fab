/**
 * Counter-based random numbers: every number is a pure function of (seed, purpose, replica, step), never of how many
 * were drawn before or of which thread draws them.
 *
 * Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
 */

/** What a stream is for. The order is part of every seeded result: append, never reorder. */
const purposes = [
  'topology',
  'init',
  'partition',
  'shuffle',
  'augment',
  'dropout',
  'synthetic',
  'evaluate',
  'test',
  'permutation',
  'compress',
  'start',
  'device',
  'compute',
  'link',
  'loss',
  'churn',
  'pair',
  'schedule',
] as const;
export type Purpose = (typeof purposes)[number];

const [m0, m1, w0, w1] = [0xd2511f53, 0xcd9e8d57, 0x9e3779b9, 0xbb67ae85];

/** High 32 bits of a 32×32-bit product; the low ones are Math.imul. */
function mulHigh(a: number, b: number): number {
  const [aHigh, aLow, bHigh, bLow] = [a >>> 16, a & 0xffff, b >>> 16, b & 0xffff];
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const carry = (middle & 0xffff) + aLow * bHigh;
  return (aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(carry / 65536)) >>> 0;
}

/** One block: four 32-bit numbers from a counter of four words and a key of two, ten rounds. */
export function philox(counter: readonly number[], key: readonly number[], out: Uint32Array): void {
  let [c0, c1, c2, c3] = counter as [number, number, number, number];
  let [k0, k1] = key as [number, number];
  for (let round = 0; round < 10; round++) {
    const high0 = mulHigh(m0, c0);
    const low0 = Math.imul(m0, c0);
    const high1 = mulHigh(m1, c2);
    const low1 = Math.imul(m1, c2);
    [c0, c1, c2, c3] = [(high1 ^ c1 ^ k0) >>> 0, low1 >>> 0, (high0 ^ c3 ^ k1) >>> 0, low0 >>> 0];
    k0 = (k0 + w0) >>> 0;
    k1 = (k1 + w1) >>> 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/** The largest seed: an exact integer in a double, split over the two words of the key. */
export const maxSeed = Number.MAX_SAFE_INTEGER;

/** A cursor over the random numbers of one (seed, purpose, replica, step). */
export class Random {
  readonly #key: readonly number[];
  readonly #counter: number[];
  readonly #block = new Uint32Array(4);
  #used = 4;

  constructor(seed: number, purpose: Purpose, replica = 0, step = 0) {
    if (!Number.isSafeInteger(seed) || seed < 0)
      throw new RangeError(`seed must be a whole number from 0 to ${maxSeed}, got ${seed}`);
    this.#key = [seed >>> 0, Math.floor(seed / 2 ** 32)];
    this.#counter = [0, step >>> 0, replica >>> 0, purposes.indexOf(purpose)];
  }

  /** A whole number in [0, 2³²). */
  uint32(): number {
    if (this.#used === 4) {
      philox(this.#counter, this.#key, this.#block);
      this.#counter[0]! += 1;
      this.#used = 0;
    }
    return this.#block[this.#used++]!;
  }

  /** A number in [0, 1) with all 53 bits of a double. */
  uniform(): number {
    return (this.uint32() * 2 ** 21 + (this.uint32() >>> 11)) / 2 ** 53;
  }

  /** A standard normal number (Box–Muller). */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }

  /** A whole number in [0, n), without modulo bias. */
  below(n: number): number {
    const limit = 2 ** 32 - (2 ** 32 % n);
    for (;;) {
      const value = this.uint32();
      if (value < limit) return value % n;
    }
  }

  /** The numbers 0..n−1 in random order (Fisher–Yates). */
  permutation(n: number): Uint32Array {
    const order = Uint32Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    return order;
  }
}
