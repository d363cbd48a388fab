import { describe, expect, it } from 'vitest';
import type { Experiment } from '../experiment/schema.ts';
import { connectionsOf } from './connections.ts';
import { controlOf } from './control.ts';
import { correlate } from './correlation.ts';
import { estimate } from './estimate.ts';
import { cumulative, peakOf, tensorMeans, weightMeans } from './figures.ts';
import { rankVariance } from './rank.ts';
import { costTo } from './reach.ts';
import type { RunSeries } from './series.ts';
import { thin } from './thin.ts';

const floats = (...values: number[]) => Float64Array.from(values);

describe('an estimate over seeds', () => {
  it('is the mean with Student’s interval', () => {
    // t(2) = 4.302653, s = 1: half = 4.302653/√3.
    expect(estimate([1, 2, 3])).toEqual({ mean: 2, half: expect.closeTo(2.484138, 6), seeds: 3 });
    expect(estimate([5, null, undefined])).toEqual({ mean: 5, half: null, seeds: 1 });
    expect(estimate([null])).toBeNull();
  });
});

describe('a correlation', () => {
  // Exact two-sided probabilities of Spearman's ρ, as tables have them.
  it.each([
    [[1, 2, 3, 4], 1, 2 / 24],
    [[1, 2, 3, 4, 5], 1, 2 / 120],
    [[1, 2, 3, 5, 4], 0.9, 10 / 120],
    [[2, 1, 3, 5, 4], 0.8, 16 / 120],
    [[5, 4, 3, 2, 1], -1, 2 / 120],
    [[1, 2, 3, 6, 5, 4], 0.771429, 0.102778],
    [[1, 2, 3, 4, 7, 5, 6], 0.892857, 0.0123016],
  ])('of %j with ascending numbers is %f, p = %f', (y, rho, p) => {
    const found = correlate(
      y.map((_, i) => i),
      y,
    );
    expect(found.rho).toBeCloseTo(rho, 6);
    expect(found.p).toBeCloseTo(p, 6);
    expect(found.points).toBe(y.length);
  });

  it('counts ties once for each way to pair them', () => {
    // Ranks 1.5, 1.5, 3 against 1, 2, 3: of six pairings four have |ρ| ≥ .866.
    expect(correlate([1, 1, 2], [1, 2, 3])).toEqual({ rho: expect.closeTo(0.866025, 6), p: 4 / 6, points: 3 });
  });

  it('of many points takes a sample, always the same', () => {
    const x = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    // Σd² = 58: the exact probability, counted over all 10! pairings, is 0.048979.
    const y = [4, 2, 3, 1, 5, 10, 9, 8, 7, 6];
    expect(x.reduce((sum, value, i) => sum + (value - y[i]!) ** 2, 0)).toBe(58);
    const found = correlate(x, y);
    expect(found.rho).toBeCloseTo(0.648485, 6);
    expect(Math.abs(found.p! - 0.048979)).toBeLessThan(0.002);
    expect(correlate(x, y)).toEqual(found);
  });

  it('is never impossible, although no sample may show a ρ as large', () => {
    const x = Array.from({ length: 14 }, (_, i) => i);
    expect(correlate(x, x)).toMatchObject({ rho: expect.closeTo(1, 12), p: 1 / 100_001 });
  });

  it('is unknown for two points or where nothing changes', () => {
    expect(correlate([1, 2], [1, 2])).toEqual({ rho: null, p: null, points: 2 });
    expect(correlate([1, 2, 3], [7, 7, 7])).toEqual({ rho: null, p: null, points: 3 });
  });
});

describe('variance ranks', () => {
  /** Two tensors: the second has ten times the Gini of the first. */
  const table = (step: number[], gini: number[]) => ({
    step: floats(...step),
    gini: Float64Array.from(gini.flatMap((value) => [value, 10 * value])),
  });

  it('are means over steps and tensors, ties sharing theirs', () => {
    const steps = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    const low = table(steps, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    const high = table(steps, [1, 2, 0, 2, 2, 2, 2, 2, 2, 2]);
    const found = rankVariance([[low, high]], 2, 10, 5);
    // Early are steps 0 (a tie) and 1.
    expect(found.early).toEqual([1.25, 1.75]);
    expect(found.late).toEqual([9 / 8, 15 / 8]);
    expect(found.all).toEqual([11.5 / 10, 18.5 / 10]);
    expect(found.epoch).toEqual([1, 2]);
    expect(found.byEpoch).toEqual([
      [(1.5 + 1 + 2 + 1 + 1) / 5, 1],
      [(1.5 + 2 + 1 + 2 + 2) / 5, 2],
    ]);
    expect(found.byTensor).toEqual([
      [1.15, 1.15],
      [1.85, 1.85],
    ]);
  });

  it('are taken within each seed', () => {
    // Over both seeds the first has the smaller mean Gini; within the seeds each is first once.
    const seeds = [
      [table([0], [1]), table([0], [9])],
      [table([0], [5]), table([0], [4])],
    ];
    expect(rankVariance(seeds, 2, 1, 1).all).toEqual([1.5, 1.5]);
  });

  it('leave out what was not measured in all', () => {
    const whole = table([0, 2, 4], [1, 1, 1]);
    const part = table([0, 1, 4], [2, 2, Number.NaN]);
    const found = rankVariance([[whole, part]], 2, 5, 5);
    expect(found.all).toEqual([1, 2]);
    expect(found.late).toEqual([Number.NaN, Number.NaN]);
  });
});

describe('thinning', () => {
  it('leaves short series alone', () => {
    const { pointsPerBucket, mean } = thin(3, 3);
    expect([pointsPerBucket, ...mean(floats(1, 2, 3))]).toEqual([1, 1, 2, 3]);
  });

  it('makes buckets of equal size, with mean, least, largest and last', () => {
    const { pointsPerBucket, mean, min, max, last } = thin(5, 3);
    const values = floats(1, 3, Number.NaN, 8, 5);
    expect(pointsPerBucket).toBe(2);
    expect([mean, min, max, last].map((of) => [...of(values)])).toEqual([
      [2, 8, 5],
      [1, 8, 5],
      [3, 8, 5],
      [3, 8, 5],
    ]);
    expect([...mean(floats(Number.NaN, Number.NaN, 1, 1, 1))]).toEqual([Number.NaN, 1, 1]);
    for (const length of [1, 399, 400, 401, 799, 1000, 12345])
      expect(thin(length, 400).mean(new Float64Array(length)).length).toBeLessThanOrEqual(400);
  });
});

describe('consensus control', () => {
  const steps = {
    connections: floats(2, 2, 2, 4),
    gossips: floats(3, 5, 5, 1),
    controlledDistance: floats(0.9, 1.1, 1, Number.NaN),
    targetDistance: floats(1, 1, 1, Number.NaN),
  };
  const held = { consensus: { kind: 'fixed', fraction: 0.5, maxDistance: 2, cap: 5 } } as unknown as Experiment;
  const free = { consensus: { kind: 'none' } } as Experiment;

  it('counts the steps that its cap ended above the target', () => {
    expect(controlOf(held, { steps })).toEqual({ steps: 3, capped: 1 });
    expect(controlOf(free, { steps })).toBeNull();
  });

  it('counts every gossip as connections', () => {
    expect([...connectionsOf({ steps })]).toEqual([6, 10, 10, 4]);
  });
});

describe('cost to an accuracy', () => {
  const series = {
    steps: { sentBytes: floats(10, 10, 20, 20), ms: floats(500, 500, 1000, 1000) },
    evaluations: {
      step: floats(2, 4),
      epoch: floats(1, 2),
      replicas: floats(2, 2),
      samples: floats(50, 50),
      accuracy: { mean: floats(0.29, 0.75) },
      loss: { mean: floats(0.09, 0.04) },
    },
  } as unknown as RunSeries;

  it('is counted up to the first evaluation that shows it', () => {
    expect(costTo({ percent: 29 }, series)).toEqual({ epochs: 1, sentBytes: 20, seconds: 1 });
    expect(costTo({ percent: 30 }, series)).toEqual({ epochs: 2, sentBytes: 60, seconds: 3 });
    expect(costTo({ percent: 76 }, series)).toBeUndefined();
  });

  it('or to an error, the root of the loss', () => {
    expect(costTo({ error: 0.3 }, series)?.epochs).toBe(1);
    expect(costTo({ error: 0.29 }, series)?.epochs).toBe(2);
    expect(costTo({ error: 0.19 }, series)).toBeUndefined();
  });
});

it('figures of series', () => {
  expect([...cumulative(floats(1, 2, 3))]).toEqual([1, 3, 6]);
  expect(peakOf(floats(1, 5, Number.NaN, 5, Number.POSITIVE_INFINITY))).toEqual({ index: 1, value: 5 });
  expect(peakOf(floats(Number.NaN))).toBeUndefined();
  expect([...tensorMeans(floats(1, 3, 5, 7), 2)]).toEqual([2, 6]);
});

it('headline figures are means over the weight tensors alone, or over all where there are none', () => {
  const [matrix, kernel, bias] = [{ shape: '4×2' }, { shape: '4×3×3×3' }, { shape: '4' }];
  const values = floats(1, 90, 3, 2, 80, 6);
  expect([...weightMeans(values, [matrix, bias, kernel])]).toEqual([2, 4]);
  expect([...weightMeans(values, [bias, bias, bias])]).toEqual([94 / 3, 88 / 3]);
});
