import { expect, it } from 'vitest';
import { edgeSets } from './edges.ts';
import { buildTopology } from './topology.ts';

const partnersOf = (kind: string, n: number, choice: 'all' | 'tree' = 'all') =>
  edgeSets(buildTopology({ kind }, n, 1), choice).partners.map(({ source, weight }) =>
    Array.from(source, (j, i) => (weight[i] === 0 ? i : j)),
  );

it.each([
  ['ring', 8, 2],
  ['ring', 9, 3],
  ['star', 6, 5],
  ['tree', 15, 3],
  ['torus', 16, 4],
  ['complete', 7, 9],
])('%s of %i replicas has its edges in at most %i sets, and partners agree', (kind, n, most) => {
  const sets = partnersOf(kind, n);
  expect(sets.length).toBeLessThanOrEqual(most);
  for (const set of sets) expect(set.map((j) => set[j])).toEqual(set.map((_, i) => i));
  // Every edge once.
  const { sources } = buildTopology({ kind }, n, 1).round(0);
  const heard = sources.map((_, i) => sets.map((set) => set[i]!).filter((j) => j !== i));
  expect(heard.map((row) => row.toSorted((a, b) => a - b))).toEqual(sources);
});

it('a tree reaches all over n − 1 edges, and edges have their weights', () => {
  const { degree, weights } = edgeSets(buildTopology({ kind: 'torus' }, 16, 1), 'tree');
  expect(degree).toBe((2 * 15) / 16);
  expect(weights.flatMap((row) => [...row]).filter((w) => w > 0)).toEqual(Array(30).fill(1 / 5));
});
