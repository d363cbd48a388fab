import { z } from 'zod';
import { circulant, constant, countIn, kind, neighbourCount, refuse } from '../kind.ts';

/** Offsets ±1 … ±⌊k/2⌋; an odd k adds the antipode n/2. */
export function latticeOffsets(n: number, k: number): number[] {
  const near = Array.from({ length: Math.floor(k / 2) }, (_, h) => [h + 1, n - h - 1]).flat();
  return k % 2 === 0 ? near : [...near, n / 2];
}

/** k neighbours in total: at least a ring, and even where n is odd. */
function latticeCount(n: number, wished: { k?: number | undefined; countPerSide: boolean }): number {
  if (wished.countPerSide && wished.k !== undefined && wished.k > Math.floor(n / 2))
    refuse(
      'lattice',
      { n, ...wished },
      `k per side must be at most ⌊n/2⌋ = ${Math.floor(n / 2)}`,
      'for all-to-all use "complete"',
    );
  // At n/2 a side both sides meet in the antipode.
  const total = wished.countPerSide && wished.k !== undefined ? Math.min(2 * wished.k, n - 1) : wished.k;
  const k = countIn('lattice', n, total, Math.min(2, n - 1), 4);
  if (k % 2 === 1 && n % 2 === 1)
    refuse('lattice', { n, k }, 'an odd k needs an antipode, so an even n', `use k = ${k - 1} or k = ${k + 1}`);
  return k;
}

export const lattice = kind({
  name: 'lattice',
  aliases: ['ring-lattice', 'ring_lattice', 'k-ring'],
  summary: 'replica i with the k nearest on the ring (Ada starts dense here and lets k fall)',
  settings: {
    k: neighbourCount,
    countPerSide: z.boolean().default(false).describe('k counts the neighbours on each side instead of in total'),
  },
  directed: false,
  weights: 'uniform',
  k: latticeCount,
  build: (n, settings) => constant(circulant(n, latticeOffsets(n, latticeCount(n, settings)))),
});
