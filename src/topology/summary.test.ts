import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { describe, expect, it } from 'vitest';
import { kinds, needsFile } from './kinds.ts';
import { apply } from './mixing.ts';
import { meanDegree, summarize } from './summary.ts';
import { buildTopology } from './topology.ts';

const summary = (kind: string, n: number, settings = {}) => summarize(buildTopology({ kind, ...settings }, n, 0));

describe('published values', () => {
  it.each([
    ['ring', 8, {}, '0.195262'],
    ['ring', 96, {}, '0.00142738'],
    ['torus', 96, {}, '0.0535898'],
    ['exponential', 96, {}, '0.25'],
    ['exponential', 1008, {}, '0.181818'],
    ['lattice', 96, { k: 10 }, '0.0212827'],
    ['lattice', 1008, { k: 112 }, '0.0205427'],
    ['hypercube', 16, {}, '0.4'],
    ['star', 16, {}, '0.0625'],
    ['complete', 1008, {}, '1'],
    // By closed form.
    ['ring', 1008, {}, ((2 / 3) * (1 - Math.cos((2 * Math.PI) / 1008))).toPrecision(6)],
    ['star', 1008, {}, (1 / 1008).toPrecision(6)],
    ['torus', 1008, {}, ((2 / 5) * (1 - Math.cos((2 * Math.PI) / 36))).toPrecision(6)],
  ])('spectral gap of %s(%i, %o)', (kind, n, settings, gap) => {
    const digits = gap.replace(/^0\.0*/, '').replace('.', '').length;
    expect(Number(summary(kind, n, settings).spectralGap.toPrecision(digits))).toBe(Number(gap));
  });

  it('one-peer exponential averages exactly after log2 n steps for powers of two, and nearly so otherwise', () => {
    const errors = [8, 16, 12].map((n) => {
      const { period, mixing } = buildTopology({ kind: 'one-peer-exponential' }, n, 0);
      let worst = 0;
      for (let j = 0; j < n; j++) {
        let x = Float64Array.from({ length: n }, (_, i) => (i === j ? 1 : 0));
        for (let step = 0; step < period; step++) {
          const next = new Float64Array(n);
          apply(mixing(step), x, next);
          x = next;
        }
        worst = x.reduce((a, value) => Math.max(a, Math.abs(value - 1 / n)), worst);
      }
      return worst;
    });
    expect(errors[0]).toBe(0);
    expect(errors[1]).toBe(0);
    expect(errors[2]).toBeCloseTo(0.041667, 6);
  });

  it.each([
    [5, [5, 3, 3, 1]],
    [6, [4, 2, 2, 2]],
    [12, [5, 3, 2, 2]],
    [24, [6, 4, 3, 3]],
    [48, [7, 5, 3, 3]],
    [96, [8, 6, 4, 4]],
    [100, [11, 8, 6, 3]],
    [1008, [15, 10, 7, 7]],
  ])('steps in a cycle of base-(k+1) for n = %i and k = 1, 2, 3, 4', (n, lengths) => {
    const found = [1, 2, 3, 4].map((k) => summary('base', n, { k }));
    expect(found.map((s) => s.periodSteps)).toEqual(lengths);
    expect(found.map((s) => s.spectralGap)).toEqual([1, 1, 1, 1]);
  });
});

describe('summary', () => {
  it('is exact for a ring', () => {
    expect(summary('ring', 8)).toEqual({
      kind: 'ring',
      n: 8,
      k: 2,
      directed: false,
      degree: { min: 2, max: 2, mean: 2 },
      edges: 8,
      diameter: 4,
      spectralGap: expect.closeTo(0.195262, 6),
      spectralGapOf: 'W',
      spectralGapError: 0,
      mixingSteps: 22,
      doublyStochastic: true,
      symmetric: true,
      periodSteps: 1,
      floatsSentPerParameter: { min: 2, max: 2, mean: 2, total: 16 },
    });
  });

  it.each([
    ['complete', 12, {}, { k: 11, edges: 66, diameter: 1, mixingSteps: 1, spectralGap: 1 }],
    ['star', 12, {}, { k: null, edges: 11, diameter: 2, degree: { min: 1, max: 11, mean: 22 / 12 } }],
    ['torus', 12, {}, { k: 4, edges: 24, diameter: 3 }],
    ['torus', 8, {}, { k: 3, edges: 12, diameter: 3 }],
    ['torus', 4, {}, { k: 2, edges: 4, diameter: 2 }],
    ['lattice', 10, { k: 3 }, { k: 3, edges: 15, diameter: 3 }],
    ['exponential', 16, {}, { k: 4, edges: 64, diameter: 4, directed: true, symmetric: false, doublyStochastic: true }],
    ['hypercube', 32, {}, { k: 5, edges: 80, diameter: 5 }],
    [
      'one-peer-exponential',
      16,
      {},
      { k: 1, edges: 16, periodSteps: 4, spectralGap: 1, mixingSteps: 4, directed: true },
    ],
    ['hypercube', 16, { k: 1 }, { k: 1, edges: 8, periodSteps: 4, spectralGap: 1, mixingSteps: 4 }],
    ['epidemic', 16, { k: 4 }, { k: 4, edges: 32, periodSteps: null, spectralGapOf: 'E[WᵀW]' }],
    ['epidemic', 16, { k: 4, variant: 'local' }, { k: 4, edges: 64, directed: true, doublyStochastic: false }],
    ['matcha', 16, { base: 'ring', budget: 0.5 }, { doublyStochastic: true, symmetric: true, diameter: 8 }],
  ])('%s(%i, %o)', (kind, n, settings, expected) => {
    expect(summary(kind, n, settings)).toMatchObject(expected);
  });

  it('of a time-varying topology gives the contraction a step over the period', () => {
    // Two of four bits per step, each averaged with weight 1/3: a bit is damped by 1/3 every second step.
    const s = summary('hypercube', 16, { k: 2 });
    expect(s.spectralGapOf).toBe('product over the period');
    expect(s.spectralGap).toBeCloseTo(1 - Math.sqrt(1 / 3), 10);
    expect(s.mixingSteps).toBe(Math.ceil(Math.log(100) / Math.log(Math.sqrt(3))));
  });

  it('of a random k-regular topology is exact', () => {
    // The trace of W² is n/(k+1) whatever is drawn, and E[W²] has one eigenvalue besides 1.
    const { spectralGap, spectralGapError } = summary('epidemic', 64, { k: 4 });
    expect(spectralGap).toBeCloseTo(1 - Math.sqrt((64 / 5 - 1) / 63), 10);
    expect(spectralGapError).toBe(0);
  });

  it('of random one-way edges is a sample’s, within its error of another’s, even if some steps average exactly', () => {
    const samples = [0, 1, 2, 3].map((seed) =>
      summarize(buildTopology({ kind: 'epidemic', variant: 'local' }, 6, seed)),
    );
    for (const { spectralGap, spectralGapOf, spectralGapError, mixingSteps } of samples) {
      expect(spectralGapOf).toBe('E[WᵀW], sample of 100 steps');
      expect(spectralGapError).toBeLessThan(0.01);
      expect(Math.abs(spectralGap - samples[0]!.spectralGap)).toBeLessThan(2 * spectralGapError);
      expect(mixingSteps).toBeGreaterThan(2);
    }
  });

  it.each([
    [7, true],
    [7, false],
    [8, false],
    [12, false],
  ])('of one peer along a random shift is that of all shifts and starts: n = %i, directed %s', (n, directed) => {
    const { spectralGap } = summary('equidyn', n, { directed });
    // A long sample of its own, by dense matrices.
    const { mixing } = buildTopology({ kind: 'equidyn', directed }, n, 5);
    const mean = Matrix.zeros(n, n);
    const steps = 20_000;
    for (let step = 0; step < steps; step++) {
      const { start, source, weight } = mixing(step);
      const W = Matrix.zeros(n, n);
      for (let i = 0; i < n; i++) for (let e = start[i]!; e < start[i + 1]!; e++) W.set(i, source[e]!, weight[e]!);
      mean.add(W.transpose().mmul(W));
    }
    const [, second] = new EigenvalueDecomposition(mean.div(steps)).realEigenvalues.sort((a, b) => b - a);
    expect(Math.abs(1 - Math.sqrt(second!) - spectralGap)).toBeLessThan(0.015);
  });
});

it.each(kinds.filter((kind) => !needsFile(kind)))('one replica alone is the trivial $name', ({ name }) => {
  expect(summary(name, 1)).toMatchObject({
    kind: name,
    n: 1,
    degree: { min: 0, max: 0, mean: 0 },
    edges: 0,
    diameter: 0,
    spectralGap: 1,
    doublyStochastic: true,
    periodSteps: 1,
    floatsSentPerParameter: { total: 0 },
  });
});

it.each(kinds.filter((kind) => !needsFile(kind)))('the mean degree of $name is that of its summary', ({ name }) => {
  expect(meanDegree(buildTopology({ kind: name }, 16, 0))).toBe(summary(name, 16).degree.mean);
});
