import { z } from 'zod';
import { constant, kind, refuse, undirected } from '../kind.ts';

/** The side nearest to a square: the largest divisor of n that is at most √n. */
function squarestSide(n: number): number {
  let side = Math.floor(Math.sqrt(n));
  while (n % side !== 0) side--;
  return side;
}

/** The composite numbers around n, for the hint. */
function compositesNear(n: number): string {
  const composite = (m: number) => m >= 4 && squarestSide(m) > 1;
  const up = [n + 1, n + 2].find(composite)!;
  return [n - 1, up].filter(composite).join(' or ');
}

export const torus = kind({
  name: 'torus',
  aliases: ['grid', '2d-torus', 'torus2d', 'grid2d'],
  summary: 'an a×b grid that wraps around; a is the largest divisor of n up to √n',
  settings: { rows: z.int().min(2).optional().describe('side a of the grid; must divide n') },
  directed: false,
  weights: 'uniform',
  build(n, { rows }) {
    if (squarestSide(n) === 1)
      refuse(
        'torus',
        { n },
        `n is prime, so there is no grid a×b with both sides at least 2`,
        `use n = ${compositesNear(n)}, or "ring"`,
      );
    const a = rows ?? squarestSide(n);
    const b = n / a;
    if (!Number.isInteger(b) || b < 2)
      refuse(
        'torus',
        { n, rows: a },
        `rows must divide n and leave at least 2 columns`,
        `leave it out for ${squarestSide(n)}×${n / squarestSide(n)}`,
      );
    // A side of 2 has one neighbour that way, not two: the set of edges drops the double.
    const edges = new Map<number, [number, number]>();
    const connect = (i: number, j: number) => edges.set(Math.min(i, j) * n + Math.max(i, j), [i, j]);
    for (let r = 0; r < a; r++)
      for (let c = 0; c < b; c++) {
        connect(r * b + c, r * b + ((c + 1) % b));
        connect(r * b + c, ((r + 1) % a) * b + c);
      }
    return { ...constant(undirected(n, edges.values())), columns: b };
  },
});
