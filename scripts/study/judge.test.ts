import { expect, test } from 'vitest';
import { cells, differenceOf, holmCount, rows, standingOf } from './judge.ts';

// One-sided 95 % quantiles of Student's t: 6.314 with one degree of freedom, 2.132 with four.
test.each([
  { mean: -0.001, error: 0.001, seeds: 5, stands: 'passes' },
  { mean: -0.001, error: 0.0019, seeds: 5, stands: 'open' },
  { mean: -0.01, error: 0.0023, seeds: 5, stands: 'fails' },
  { mean: -0.01, error: 0.0024, seeds: 5, stands: 'open' },
  { mean: 0, error: 0.00078, seeds: 2, stands: 'passes' },
  { mean: 0, error: 0.0008, seeds: 2, stands: 'open' },
])('$seeds seeds: $mean ± $error beside a margin of half a point: $stands', ({ stands, ...difference }) => {
  expect(standingOf(difference, 0.005)).toBe(stands);
});

test("Holm's rule stops at the first test that does not hold at its level", () => {
  // Normal quantiles of p = .01, .02, .03, .04; levels .0125, .0167, .025, .05.
  const of = (t: number) => ({ t, df: 1e5 });
  expect(holmCount([2.054, 1.751, 2.326, 1.881].map(of))).toBe(1);
  // .01, .01, .02, .04.
  expect(holmCount([2.326, 2.326, 2.054, 1.751].map(of))).toBe(4);
  expect(holmCount([0].map(of))).toBe(0);
  // What is clearest is not the largest t: p = .016 with one degree of freedom, .002 with four.
  expect(holmCount([{ t: 20, df: 1 }, ...Array.from({ length: 10 }, () => ({ t: 6, df: 4 }))])).toBe(11);
});

test('a difference is that of the stored rows, paired by seed', () => {
  const accuracy = (variant: string, seed: number) =>
    rows.find(
      (row) =>
        [row.cell, row.data, row.variant, row.rate, row.seed].join(' ') === `mnist-64 skewed ${variant} 1 ${seed}`,
    )!.mergedAccuracy;
  const apart = [1, 2, 3, 4, 5].map((seed) => accuracy('tether', seed) - accuracy('C_complete', seed));
  const mean = apart.reduce((sum, value) => sum + value) / 5;
  const error = Math.sqrt(apart.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 4 / 5);
  const cell = cells.find(({ cell, data }) => cell === 'mnist-64' && data === 'skewed')!;
  const found = differenceOf(cell, 'tether', 'C_complete')!;
  expect(found.seeds).toBe(5);
  expect(found.mean).toBeCloseTo(mean, 12);
  expect(found.error).toBeCloseTo(error, 12);
});
