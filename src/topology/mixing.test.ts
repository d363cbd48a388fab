import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/error.ts';
import { type Round, undirected, type WeightRule } from './kind.ts';
import { entriesIn, isDoublyStochastic, isSymmetric, type Mixing, mixingOf, stopsOf, without } from './mixing.ts';
import { buildTopology } from './topology.ts';

function dense(W: Mixing): number[][] {
  const out = Array.from({ length: W.n }, () => new Array<number>(W.n).fill(0));
  for (let i = 0; i < W.n; i++) for (let e = W.start[i]!; e < stopsOf(W)[i]!; e++) out[i]![W.source[e]!] = W.weight[e]!;
  return out;
}

const eigenvalues = (matrix: number[][]) =>
  new EigenvalueDecomposition(new Matrix(matrix), { assumeSymmetric: true }).realEigenvalues.sort((a, b) => a - b);

/** 1 − |λ2| of symmetric W with rows that sum to 1. */
function gap(matrix: number[][]): number {
  const centred = matrix.map((row) => row.map((w) => w - 1 / matrix.length));
  return 1 - Math.max(...eigenvalues(centred).map(Math.abs));
}

const path = (n: number) =>
  undirected(
    n,
    Array.from({ length: n - 1 }, (_, i) => [i, i + 1] as const),
  );
const drawn = (kind: string, n: number, settings = {}) => buildTopology({ kind, ...settings }, n, 5).round(0);
const irregular: [string, Round][] = [
  ['a path', path(9)],
  ['a star', drawn('star', 10)],
  ['a random topology', drawn('erdos-renyi', 30)],
  ['a small world', drawn('small-world', 24, { p: 0.4 })],
  [
    'a kite',
    undirected(5, [
      [0, 1],
      [1, 2],
      [0, 2],
      [2, 3],
      [3, 4],
    ]),
  ],
];

describe.each(irregular)('on %s', (_, round) => {
  it.each<WeightRule>(['metropolis', 'lazy', 'best-constant'])(
    '%s weights are symmetric and keep the average',
    (rule) => {
      const W = mixingOf(round, rule, 'uniform');
      const matrix = dense(W);
      const sums = matrix.map((row) => row.reduce((a, b) => a + b, 0));
      expect(Math.max(...sums.map((sum) => Math.abs(sum - 1)))).toBeLessThan(1e-13);
      expect(isSymmetric(W)).toBe(true);
      expect(isDoublyStochastic(W)).toBe(W.weight.every((w) => w >= -1e-12));
      if (rule !== 'best-constant') expect(isDoublyStochastic(W)).toBe(true);
    },
  );

  it('Metropolis–Hastings weights are those of the definition', () => {
    const matrix = dense(mixingOf(round, 'metropolis', 'uniform'));
    const degree = round.sources.map((row) => row.length);
    const wrong = round.sources.flatMap((row, i) =>
      row.filter((j) => matrix[i]![j] !== 1 / (1 + Math.max(degree[i]!, degree[j]!))),
    );
    expect(wrong).toEqual([]);
  });

  it('lazy weights are half Metropolis–Hastings and leave no negative eigenvalue', () => {
    const lazy = dense(mixingOf(round, 'lazy', 'uniform'));
    const metropolis = dense(mixingOf(round, 'metropolis', 'uniform'));
    const off = lazy.flatMap((row, i) => row.map((w, j) => Math.abs(w - metropolis[i]![j]! / 2 - (i === j ? 0.5 : 0))));
    expect(Math.max(...off)).toBeLessThan(1e-14);
    expect(eigenvalues(lazy)[0]).toBeGreaterThan(-1e-12);
    expect(eigenvalues(metropolis)[0]).toBeLessThan(eigenvalues(lazy)[0]!);
  });

  it('no constant weight mixes faster than the best one', () => {
    const best = dense(mixingOf(round, 'best-constant', 'uniform'));
    const constant = (alpha: number) => best.map((row, i) => row.map((_, j) => entry(round.sources[i]!, i, j, alpha)));
    const entry = (heard: readonly number[], i: number, j: number, alpha: number) =>
      i === j ? 1 - alpha * heard.length : heard.includes(j) ? alpha : 0;
    const others = Array.from({ length: 60 }, (_, i) => gap(constant((i + 1) / 60)));
    expect(gap(best)).toBeGreaterThan(Math.max(...others) - 1e-12);
    expect(gap(best)).toBeGreaterThan(0);
  });
});

describe('weights', () => {
  it('best-constant is all-to-all averaging on a complete topology, at any size', () => {
    for (const n of [2, 3, 1008]) {
      const { weight } = buildTopology({ kind: 'complete', weights: 'best-constant' }, n, 0).mixing(0);
      expect(weight.reduce((a, w) => Math.max(a, Math.abs(w - 1 / n)), 0)).toBeLessThan(1e-12);
    }
    // λ_max(L) = n and λ_2(L) = 1 on a star.
    expect(buildTopology({ kind: 'star', weights: 'best-constant' }, 1008, 0).mixing(0).weight[1]).toBeCloseTo(
      2 / 1009,
      14,
    );
  });

  it('are equal to the last bit within a uniform row', () => {
    const W = buildTopology({ kind: 'complete' }, 49, 0).mixing(0);
    expect(new Set(W.weight)).toEqual(new Set([1 / 49]));
  });

  it.each(['uniform', 'metropolis', 'lazy', 'best-constant'])('%s leaves one replica alone', (weights) => {
    expect([...buildTopology({ kind: 'ring', weights }, 1, 0).mixing(0).weight]).toEqual([1]);
  });

  it('by rule replace those a kind prescribes', () => {
    const usual = buildTopology({ kind: 'equistatic' }, 8, 0).mixing(0);
    const uniform = buildTopology({ kind: 'equistatic', weights: 'uniform' }, 8, 0).mixing(0);
    expect(usual.weight[usual.source.indexOf(0)]).toBeCloseTo(1 / 8, 12);
    expect(uniform.weight[0]).toBe(1 / 4);
  });

  it.each([
    ['exponential', {}],
    ['one-peer-exponential', {}],
    ['equidyn', { directed: true }],
    ['epidemic', { variant: 'local' }],
  ])('by degree are refused on %s(%o), which is directed', (kind, settings) => {
    for (const weights of ['metropolis', 'lazy', 'best-constant'])
      expect(() => buildTopology({ kind, weights, ...settings }, 8, 0)).toThrow(
        new UserError(`${kind}: weights "${weights}" need an undirected topology, this one is directed`, {
          hint: 'leave weights out for the usual rule of this kind',
        }),
      );
    expect(buildTopology({ kind, weights: 'uniform', ...settings }, 8, 0).directed).toBe(true);
  });

  it.each(['matcha', 'base', 'epidemic'])('best-constant is refused on %s, whose steps differ', (kind) => {
    expect(() => buildTopology({ kind, weights: 'best-constant' }, 12, 0)).toThrow(
      `${kind}: weights "best-constant" need a topology that is the same at every step`,
    );
  });
});

describe('checks of W', () => {
  const ring = buildTopology({ kind: 'ring' }, 6, 0).mixing(0);
  const change = (at: number, by: number): Mixing => ({
    ...ring,
    weight: ring.weight.map((w, e) => (e === at ? w + by : w)),
  });

  it('see a column or a row that does not sum to 1, and a negative weight', () => {
    expect(isDoublyStochastic(ring)).toBe(true);
    expect(isDoublyStochastic(change(4, 1e-9))).toBe(false);
    expect(isDoublyStochastic(buildTopology({ kind: 'star', weights: 'uniform' }, 6, 0).mixing(0))).toBe(false);
    const swap = { n: 2, start: Int32Array.of(0, 2, 4), source: Int32Array.of(0, 1, 0, 1) };
    expect(isDoublyStochastic({ ...swap, weight: Float64Array.of(-0.5, 1.5, 1.5, -0.5) })).toBe(false);
  });

  it('see one asymmetric weight or edge', () => {
    expect(isSymmetric(ring)).toBe(true);
    expect(isSymmetric(change(1, 1e-9))).toBe(false);
    expect(isSymmetric(buildTopology({ kind: 'exponential' }, 6, 0).mixing(0))).toBe(false);
  });
});

describe('without lost replicas', () => {
  it.each(irregular)('W on %s stays symmetric and keeps the average of those that are left', (_, round) => {
    const W = mixingOf(round, 'metropolis', 'uniform');
    const lost = [1, 4];
    const rest = without(W, lost);
    expect(isSymmetric(rest)).toBe(true);
    expect(isDoublyStochastic(rest)).toBe(true);
    const before = dense(W);
    for (const [i, row] of dense(rest).entries())
      for (const [j, weight] of row.entries()) {
        const moved = lost.reduce((sum, l) => sum + before[i]![l]!, 0);
        if (lost.includes(i)) expect(weight).toBe(i === j ? 1 : 0);
        else if (i === j) expect(weight).toBeCloseTo(before[i]![i]! + moved, 12);
        else expect(weight).toBe(lost.includes(j) ? 0 : before[i]![j]!);
      }
  });

  it('rows of a directed topology still sum to 1', () => {
    const rest = dense(without(buildTopology({ kind: 'exponential' }, 16, 1).mixing(0), [3, 8, 9]));
    for (const row of rest) expect(row.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 12);
  });

  it('is W itself where nobody is lost', () => {
    const W = buildTopology({ kind: 'ring' }, 3, 0).mixing(0);
    expect(without(W, [])).toBe(W);
  });
});

it('everybody averages with everybody, however many: one row is that of all', () => {
  const { mixing, push, round } = buildTopology({ kind: 'complete' }, 10_080, 1);
  expect(mixing(0).source).toHaveLength(10_080);
  expect(entriesIn(mixing(0))).toBe(10_080 ** 2);
  expect(push(0)).toEqual(mixing(0));
  expect(round(0).sources[3]!.slice(0, 5)).toEqual([0, 1, 2, 4, 5]);
  const few = buildTopology({ kind: 'complete' }, 5, 1);
  expect(dense(few.mixing(0))).toEqual(dense(mixingOf({ sources: few.round(0).sources }, undefined, 'uniform')));
  expect(dense(without(few.mixing(0), [1]))[0]).toEqual([expect.closeTo(0.4, 12), 0, 0.2, 0.2, 0.2]);
  expect(() => without(mixing(0), [1])).toThrow('more edges than fit in memory');
});
