import { expect, it } from 'vitest';
import { hitsAt, percentOf, pooled, reaches, shareOf } from './hits.ts';
import type { RunSeries } from './series.ts';

const of = (correct: number, tested = 10) => ({ correct, tested });

it('hits are the whole numbers behind a mean that was rounded', () => {
  const evaluations = {
    accuracy: { mean: Float64Array.of((0.1 + 0.2) / 2, Number.NaN) },
    samples: Float64Array.of(10, 10),
    replicas: Float64Array.of(2, 2),
  } as unknown as RunSeries['evaluations'];
  expect((0.1 + 0.2) / 2).not.toBe(0.15);
  expect(hitsAt({ evaluations }, 0)).toEqual(of(3, 20));
  expect(shareOf(hitsAt({ evaluations }, 0)!)).toBe(0.15);
  expect([hitsAt({ evaluations }, 1), hitsAt({ evaluations }, -1)]).toEqual([undefined, undefined]);
});

it('means over seeds tie whatever their order, and however many were tested', () => {
  const [up, down] = [[7, 8, 9].map((n) => of(n)), [9, 8, 7].map((n) => of(n))];
  const mean = (all: readonly { correct: number; tested: number }[]) =>
    all.reduce((sum, each) => sum + shareOf(each), 0) / all.length;
  expect(mean(up)).not.toBe(mean(down));
  expect(shareOf(pooled(up)!)).toBe(shareOf(pooled(down)!));
  // 1/2 and 1/3 count alike, though more were tested for one of them.
  expect(pooled([of(5, 10), of(4, 12)])).toEqual(of(50, 120));
  expect(pooled([])).toBeUndefined();
});

it('a percentage is reached at the very hit, and targets are not lost to rounding', () => {
  // 29 of 100 are 28.999999999999996 percent in floating point.
  expect(100 * 0.29 >= 29).toBe(false);
  expect([28, 29].map((correct) => reaches(of(correct, 100), 29))).toEqual([false, true]);
  expect(Math.floor(100 * 0.9 * 0.7)).toBe(62);
  expect([percentOf(of(7), 90), percentOf(of(699, 1000), 90)]).toEqual([63, 62]);
});
