import { expect, it } from 'vitest';
import type { Facts } from './evidence.ts';
import { observe } from './observe.ts';

const run = (seed: number, status: string, peakGiniAt: number) => ({
  experiment: { seed, algorithm: { kind: 'dpsgd' }, topology: { kind: 'ring' }, consensus: { kind: 'none' } },
  summary: { status, accuracy: { mean: 0.9 } },
  peakGini: 0.1,
  peakGiniAt,
  lateGini: 0.02,
});
const unknown = { rho: null, p: null, points: 0 };

/** What is said of the peak of one implementation with these runs. */
function peakOf(runs: readonly object[]) {
  const all = [...runs.keys()];
  const comparison = {
    label: 'n = 8',
    points: [0],
    groups: [0],
    ranked: [],
    rank: { all: [] },
    connectionsAccuracy: unknown,
    varianceAccuracy: unknown,
  };
  const group = { name: 'D_ring', runs: all, complete: 5, accuracy: { mean: 0.9 }, connections: { mean: 2 } };
  const facts = { runs, groups: [group], scaling: [], comparisons: [comparison] } as unknown as Facts;
  return observe(facts).find(({ kind }) => kind === 'peak')!;
}

it('a peak is that of complete runs: what one that diverged did does not count', () => {
  const complete = [1, 2, 3, 4, 5].map((seed) => run(seed, 'complete', 0.05 + seed / 1000));
  const alone = peakOf(complete);
  expect(alone.holds).toBe(true);
  expect(peakOf([...complete, run(6, 'diverged', 0.99), run(7, 'stopped', 0.9)])).toEqual(alone);
});
