import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { circulantModulus, isCirculant } from './circulant.ts';
import { pairContraction, secondModulus } from './contraction.ts';
import { apply, isSymmetric, type Mixing, mixingOf } from './mixing.ts';
import { spectralRadius, symmetricExtremes } from './spectrum.ts';
import { buildTopology } from './topology.ts';

const operator = (W: Mixing) => (x: Float64Array, out: Float64Array) => apply(W, x, out);

function dense(W: Mixing): Matrix {
  const out = Matrix.zeros(W.n, W.n);
  for (let i = 0; i < W.n; i++)
    for (let e = W.start[i]!; e < W.start[i + 1]!; e++) out.set(i, W.source[e]!, W.weight[e]!);
  return out;
}

/** |λ2| by a full decomposition: what the fast ways must agree with. */
function denseModulus(matrix: Matrix): number {
  const { realEigenvalues, imaginaryEigenvalues } = new EigenvalueDecomposition(matrix);
  const moduli = realEigenvalues.map((re, i) => Math.hypot(re, imaginaryEigenvalues[i]!));
  return moduli.sort((a, b) => b - a)[1] ?? 0;
}

const lanczos = (W: Mixing) => {
  const { least, greatest } = symmetricExtremes(W.n, operator(W));
  return Math.max(Math.abs(least), Math.abs(greatest));
};

describe('|λ2|', () => {
  it.each([
    [8, 2],
    [9, 4],
    [12, 5],
    [31, 6],
    [48, 47],
    [96, 10],
    [100, 33],
  ])('of lattice(%i, k=%i) is the same by its formula, Fourier, Lanczos, Arnoldi and decomposition', (n, k) => {
    const W = buildTopology({ kind: 'lattice', k }, n, 0).mixing(0);
    const h = Math.floor(k / 2);
    const formula = Array.from({ length: n - 1 }, (_, j) => {
      let sum = 1 + (k % 2 === 1 ? Math.cos(Math.PI * (j + 1)) : 0);
      for (let m = 1; m <= h; m++) sum += 2 * Math.cos((2 * Math.PI * (j + 1) * m) / n);
      return Math.abs(sum / (k + 1));
    });
    const expected = Math.max(...formula);
    const found = {
      fourier: circulantModulus([W]),
      lanczos: lanczos(W),
      arnoldi: spectralRadius(n, operator(W)),
      decomposition: denseModulus(dense(W)),
    };
    const off = Object.entries(found).filter(([, value]) => Math.abs(value - expected) > 1e-11);
    expect(isCirculant(W)).toBe(true);
    expect([expected, off]).toEqual([expected, []]);
  });

  it.each([
    ['torus', 24],
    ['torus', 96],
    ['star', 40],
    ['hypercube', 32],
    ['random-regular', 60],
    ['erdos-renyi', 50],
    ['small-world', 50],
    ['exponential', 50],
    ['equistatic', 50],
  ])('of %s(%i) is that of a decomposition', (kind, n) => {
    const topology = buildTopology({ kind }, n, 3);
    const W = topology.mixing(0);
    const expected = denseModulus(dense(W));
    expect(secondModulus(W, isSymmetric(W), operator(W))).toBeCloseTo(expected, 11);
    expect(spectralRadius(n, operator(W))).toBeCloseTo(expected, 11);
    if (!topology.directed) expect(lanczos(W)).toBeCloseTo(expected, 11);
  });

  it('of a directed W that is neither circulant nor doubly stochastic is that of a decomposition', () => {
    const found = [60, 150].map((n) => {
      const W = buildTopology({ kind: 'epidemic', variant: 'local', k: 4 }, n, 3).mixing(0);
      expect(isCirculant(W) || isSymmetric(W)).toBe(false);
      return Math.abs(secondModulus(W, false, operator(W)) - denseModulus(dense(W)));
    });
    expect(Math.max(...found)).toBeLessThan(1e-12);
  });

  it('of a one-way ring with a short cut, where many eigenvalues are nearly as large, is that of a decomposition', () => {
    const n = 120;
    const sources = Array.from({ length: n }, (_, i) => (i === 0 ? [n / 2, n - 1] : [i - 1]));
    const W = mixingOf({ sources }, undefined, 'uniform');
    expect(Math.abs(secondModulus(W, false, operator(W)) - denseModulus(dense(W)))).toBeLessThan(1e-11);
  });

  it('of a product of circulants is the product of their transforms', () => {
    const topology = buildTopology({ kind: 'one-peer-exponential' }, 12, 0);
    const factors = [0, 1, 2, 3].map((step) => topology.mixing(step));
    const product = factors.map(dense).reduce((a, b) => b.mmul(a));
    expect(circulantModulus(factors)).toBeCloseTo(denseModulus(product), 12);
  });

  it('of nearly circulant matrices does not take the circulant way', () => {
    const { n, start, source, weight } = buildTopology({ kind: 'lattice', k: 4 }, 16, 0).mixing(0);
    const bent = Float64Array.from(weight);
    bent[7]! += 1e-9;
    bent[8]! -= 1e-9;
    expect(isCirculant({ n, start, source, weight: bent })).toBe(false);
  });
});

describe('symmetricExtremes', () => {
  it('finds both ends of spectra of any scale, with their multiplicities, or of one point', () => {
    const random = new Random(1, 'test');
    const wrong: string[] = [];
    for (const scale of [1e-3, 1, 1e6])
      for (const n of [2, 3, 5, 20, 200]) {
        // x ↦ QΛQᵀx with Q the reflection that swaps e_0 and 1/√n: eigenvalues 1..n−1 of Λ are those on vectors that sum to 0.
        const values = Float64Array.from({ length: n }, () => scale * Math.round(20 * random.normal()));
        const v = Float64Array.from({ length: n }, (_, i) => (i === 0 ? 1 : 0) - 1 / Math.sqrt(n));
        const norm = v.reduce((a, b) => a + b * b, 0);
        const reflect = (x: Float64Array) => {
          const along = (2 * x.reduce((a, b, i) => a + b * v[i]!, 0)) / norm;
          return x.map((value, i) => value - along * v[i]!);
        };
        const found = symmetricExtremes(n, (x, out) =>
          out.set(reflect(reflect(x).map((value, i) => value * values[i]!))),
        );
        const inner = values.subarray(1);
        const off = Math.abs(found.least - Math.min(...inner)) + Math.abs(found.greatest - Math.max(...inner));
        if (!(off < 1e-11 * Math.max(scale, ...inner.map(Math.abs))))
          wrong.push(`n=${n}, scale=${scale}: off by ${off}`);
      }
    expect(wrong).toEqual([]);
  });
});

it('pairs drawn at random: in closed form where all may meet, and over all pairs of a ring', () => {
  expect(pairContraction(buildTopology({ kind: 'complete' }, 10, 1))).toBeCloseTo((1 - 1 / 9) ** 5, 12);
  const n = 6;
  const { sources } = buildTopology({ kind: 'ring' }, n, 1).round(0);
  const slowest = Array.from({ length: n }, (_, i) => Math.cos((2 * Math.PI * i) / n));
  const square = (x: readonly number[]) => x.reduce((sum, v) => sum + v * v, 0);
  const averaged = (i: number, j: number) =>
    slowest.map((v, k) => (k === i || k === j ? (slowest[i]! + slowest[j]!) / 2 : v));
  const left = sources.flatMap((row, i) => row.map((j) => square(averaged(i, j)) / (n * row.length)));
  const perAveraging = left.reduce((sum, v) => sum + v, 0) / square(slowest);
  expect(pairContraction(buildTopology({ kind: 'ring' }, n, 1))).toBeCloseTo(perAveraging ** (n / 2), 12);
});
