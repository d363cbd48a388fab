import { expect, it } from 'vitest';
import { buildTopology } from '../topology.ts';

const pairs = (given: { kind: string; p?: number; k?: number }, n: number, seed: number) =>
  buildTopology(given, n, seed)
    .round(0)
    .sources.flatMap((row, i) => row.filter((j) => j > i).map((j): [number, number] => [i, j]));

it('a small world keeps an edge of the lattice unless it is rewired, with probability p', () => {
  const [n, k] = [200, 6];
  const near = ([i, j]: readonly [number, number]) => Math.min(j - i, n - j + i) <= k / 2;
  for (const p of [0, 0.1, 0.5, 1]) {
    const edges = pairs({ kind: 'small-world', k, p }, n, 7);
    expect(edges.length).toBe((n * k) / 2);
    // A few of those that are rewired find no other end that is free, or one nearby.
    expect(Math.abs(edges.filter((edge) => !near(edge)).length / edges.length - p)).toBeLessThan(0.06);
  }
});

it('a random topology has every edge with probability p, by default just enough to be connected', () => {
  const n = 300;
  const share = (given: { kind: string; p?: number }) => pairs(given, n, 3).length / ((n * (n - 1)) / 2);
  expect(share({ kind: 'erdos-renyi', p: 0.2 })).toBeCloseTo(0.2, 2);
  expect(share({ kind: 'erdos-renyi' })).toBeCloseTo((2 * Math.log(n)) / n, 2);
});
