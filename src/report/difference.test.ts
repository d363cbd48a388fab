import { expect, it } from 'vitest';
import { clearlyBest, differenceIn, isClear } from './difference.ts';
import type { Comparison } from './report.ts';

const of = (a: number, b: number, mean: number, half: number | null) => ({
  a,
  b,
  accuracy: { mean, half, seeds: 3 },
  error: null,
});
const comparison = (...differences: Comparison['differences']) => ({ differences }) as unknown as Comparison;

it('a difference is read from both sides', () => {
  const pair = comparison(of(4, 7, 0.02, 0.01), { a: 4, b: 9, accuracy: null, error: null });
  expect(differenceIn(pair, 4, 7)).toMatchObject({ mean: 0.02, half: 0.01 });
  expect(differenceIn(pair, 7, 4)).toMatchObject({ mean: -0.02, half: 0.01 });
  expect([differenceIn(pair, 9, 4), differenceIn(pair, 7, 9)]).toEqual([null, null]);
  // Not −0.
  expect(differenceIn(comparison(of(0, 1, 0, 0.1)), 1, 0)!.mean).toBe(0);
});

it('is clear only with several seeds and without 0 in its interval', () => {
  const clear = (mean: number, half: number | null) => isClear({ mean, half, seeds: 2 });
  expect([clear(-0.02, 0.01), clear(0.02, 0.02), clear(0.5, null), isClear(null)]).toEqual([true, false, false, false]);
});

it('the best is one that is clearly above every other', () => {
  expect(clearlyBest(comparison(of(0, 1, -0.03, 0.01), of(0, 2, 0.01, 0.02), of(1, 2, 0.04, 0.01)))).toBe(1);
  expect(clearlyBest(comparison(of(0, 1, -0.03, 0.01), of(0, 2, 0.01, 0.02), of(1, 2, 0.01, 0.02)))).toBeUndefined();
  expect(clearlyBest(comparison(of(0, 1, 0.3, null)))).toBeUndefined();
  expect(clearlyBest(comparison())).toBeUndefined();
  // Of errors, below every other.
  const error = ({ accuracy, ...pair }: ReturnType<typeof of>) => ({ ...pair, accuracy: null, error: accuracy });
  expect(clearlyBest(comparison(error(of(0, 1, -0.03, 0.01))))).toBe(0);
  expect(differenceIn(comparison(error(of(0, 1, -0.03, 0.01))), 1, 0)!.mean).toBe(0.03);
});
