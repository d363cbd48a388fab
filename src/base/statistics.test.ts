import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dispersion, mean, pearson, quantile, ranks, studentQuantile, studentTail } from './statistics.ts';

const norms = fc.array(fc.double({ min: 1e-3, max: 1e3, noNaN: true }), { minLength: 1, maxLength: 40 });

describe('dispersion', () => {
  it('gives the published values for 1, 2, 3, 4', () => {
    const d = dispersion([1, 2, 3, 4]);
    expect(d.indexOfDispersion).toBeCloseTo(0.5, 12);
    expect(d.coefficientOfVariation).toBeCloseTo(0.447214, 6);
    expect(d.quartileCoefficient).toBeCloseTo(0.333333, 6);
    expect(d.gini).toBeCloseTo(0.25, 12);
    expect(dispersion([0, 1]).gini).toBeCloseTo(0.5, 12);
  });

  it('is exactly 0 for equal values', () => {
    for (const values of [[], [0, 0], [0.1, 0.1, 0.1], new Float32Array(7).fill(0.3)])
      expect(Object.values(dispersion(values))).toEqual([0, 0, 0, 0]);
  });

  it('has the Gini coefficient of the double sum', () => {
    fc.assert(
      fc.property(norms, (v) => {
        let sum = 0;
        for (const a of v) for (const b of v) sum += Math.abs(a - b);
        expect(dispersion(v).gini).toBeCloseTo(sum / (2 * v.length ** 2 * mean(v)), 10);
      }),
    );
  });

  it('does not depend on order or, for the relative ones, on scale', () => {
    fc.assert(
      fc.property(norms, (v) => {
        const [a, b] = [dispersion(v), dispersion([...v].reverse().map((x) => 3 * x))];
        expect(b.gini).toBeCloseTo(a.gini, 10);
        expect(b.coefficientOfVariation).toBeCloseTo(a.coefficientOfVariation, 10);
        expect(b.quartileCoefficient).toBeCloseTo(a.quartileCoefficient, 10);
      }),
    );
  });
});

describe('correlation', () => {
  it('is ±1 on lines and NaN for a constant', () => {
    expect(pearson([1, 2, 3], [2, 4, 6])).toBeCloseTo(1, 12);
    expect(pearson([1, 2, 3], [3, 2, 1])).toBeCloseTo(-1, 12);
    expect(pearson([1, 1, 1], [1, 2, 3])).toBeNaN();
    expect(() => pearson([1], [1, 2])).toThrow(RangeError);
  });

  it('of ranks sees any monotone relation, ties included', () => {
    const spearman = (x: number[], y: number[]) => pearson(ranks(x), ranks(y));
    expect(spearman([1, 2, 3, 4], [1, 10, 100, 1000])).toBeCloseTo(1, 12);
    expect([...ranks([10, 20, 20, 5])]).toEqual([2, 3.5, 3.5, 1]);
    // By hand: ranks (1, 2.5, 2.5, 4, 5) and (5, 1, 3.5, 3.5, 2), Σdxdy = −4.75, Σdx² = Σdy² = 9.5.
    expect(spearman([1, 2, 2, 3, 5], [4, 1, 3, 3, 2])).toBeCloseTo(-0.5, 12);
  });
});

it('quantile interpolates as NumPy does', () => {
  expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
  expect(quantile([4, 1, 3, 2], 0.25)).toBe(1.75);
  expect(quantile([1, 2], 1)).toBe(2);
});

it('Student’s t has the quantiles of the tables', () => {
  const tabled = [
    [0.95, 1, 12.7062],
    [0.95, 2, 4.30265],
    [0.95, 3, 3.18245],
    [0.95, 4, 2.77645],
    [0.95, 9, 2.26216],
    [0.95, 30, 2.04227],
    [0.99, 5, 4.03214],
    [0.9, 8, 1.85955],
  ] as const;
  for (const [probability, df, t] of tabled) {
    expect(studentQuantile(probability, df)).toBeCloseTo(t, 4);
    expect(studentTail(t, df)).toBeCloseTo((1 - probability) / 2, 4);
    expect(studentTail(-t, df)).toBeCloseTo((1 + probability) / 2, 4);
  }
  // In closed form for two degrees of freedom.
  expect(studentQuantile(0.95, 2)).toBeCloseTo(0.95 * Math.sqrt(2 / (1 - 0.95 ** 2)), 12);
});
