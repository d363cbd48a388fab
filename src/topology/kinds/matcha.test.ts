import fc from 'fast-check';
import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { describe, expect, it } from 'vitest';
import { Random } from '../../base/random.ts';
import { summarize } from '../summary.ts';
import { buildTopology, type Topology } from '../topology.ts';
import { activation, matchings } from './matcha.ts';

type Edge = [number, number];
const key = ([u, v]: readonly [number, number]) => `${Math.min(u, v)} ${Math.max(u, v)}`;

function randomEdges(n: number, p: number, seed: number): Edge[] {
  const random = new Random(seed, 'test');
  const edges: Edge[] = [];
  for (let i = 0; i < n; i++)
    for (let j = i + 1; j < n; j++) if (random.uniform() < p) edges.push(random.below(2) === 0 ? [i, j] : [j, i]);
  // In any order: the colouring must not depend on it.
  return [...random.permutation(edges.length)].map((at) => edges[at]!);
}

function degreeOf(n: number, edges: readonly Edge[]): number {
  const degree = new Array<number>(n).fill(0);
  for (const [u, v] of edges) {
    degree[u]!++;
    degree[v]!++;
  }
  return Math.max(...degree);
}

function wrongSplit(n: number, edges: readonly Edge[]): string | undefined {
  const degree = degreeOf(n, edges);
  const parts = matchings(n, edges, degree);
  if (parts.length > degree + 1) return `${parts.length} parts for degree ${degree}`;
  if (parts.some((part) => new Set(part.flat()).size !== 2 * part.length)) return 'a part is not a matching';
  if (parts.flat().map(key).sort().join() !== edges.map(key).sort().join()) return 'the parts are not the edges';
  return undefined;
}

describe('matchings', () => {
  it('split any topology into at most Δ+1 parts', () => {
    const edges = fc
      .record({ n: fc.integer({ min: 2, max: 24 }), p: fc.double({ min: 0, max: 1, noNaN: true }), seed: fc.nat() })
      .map(({ n, p, seed }) => ({ n, edges: randomEdges(n, p, seed) }));
    fc.assert(
      fc.property(edges, ({ n, edges }) => {
        const wrong = wrongSplit(n, edges);
        if (wrong !== undefined) throw new Error(wrong);
      }),
      { numRuns: 400 },
    );
  });

  it('split the complete topologies, where n odd needs Δ+1 parts', () => {
    const wrong = Array.from({ length: 20 }, (_, i) => wrongSplit(i + 2, randomEdges(i + 2, 1, i)));
    expect(wrong.filter(Boolean)).toEqual([]);
  });
});

describe('matcha', () => {
  const partsOf = (kind: string, n: number) => {
    const { sources } = buildTopology({ kind }, n, 1).round(0);
    const edges = sources.flatMap((row, i) => row.filter((j) => j > i).map((j): Edge => [i, j]));
    return matchings(n, edges, degreeOf(n, edges));
  };

  const laplacian = (n: number, edges: readonly (readonly [number, number])[], weight: number) => {
    const L = Matrix.zeros(n, n);
    for (const [i, j] of edges) {
      L.set(i, j, L.get(i, j) - weight);
      L.set(j, i, L.get(j, i) - weight);
      L.set(i, i, L.get(i, i) + weight);
      L.set(j, j, L.get(j, j) + weight);
    }
    return L;
  };

  // The largest λ2 by a long ascent over dense decompositions, elsewhere.
  it.each([
    ['ring', 6, 0.7, 0.7],
    ['ring', 7, 0.5, 0.37651],
    ['torus', 16, 0.5, 1.00085],
    ['lattice', 16, 0.5, 0.4208],
    ['lattice', 96, 0.5, 0.01573],
    ['lattice', 96, 0.2, 0.0063],
    ['torus', 96, 0.3, 0.08059],
    ['erdos-renyi', 30, 0.3, 0.55579],
    ['random-regular', 32, 0.3, 0.29927],
  ])('activates the matchings of %s, n = %i, budget %d, so that λ2 is largest', (base, n, budget, largest) => {
    const parts = partsOf(base, n);
    const p = activation(n, parts, budget);
    expect(p.reduce((a, b) => a + b)).toBeCloseTo(budget * parts.length, 6);
    expect(p.every((x) => x >= 0 && x <= 1)).toBe(true);
    const mean = parts.reduce((sum, part, m) => sum.add(laplacian(n, part, p[m]!)), Matrix.zeros(n, n));
    const [, second] = new EigenvalueDecomposition(mean).realEigenvalues.sort((a, b) => a - b);
    expect(second! / largest).toBeGreaterThan(0.98);
    expect(second! / largest).toBeLessThan(1.002);
  });

  describe('of every set of active matchings of a ring of 6', () => {
    const [n, budget] = [6, 0.7];
    const parts = partsOf('ring', n);
    const p = activation(n, parts, budget);
    /** λ2 of E[W²] − J with a W for each set. */
    const meanSquare = (mixing: (edges: readonly (readonly [number, number])[]) => Matrix) => {
      const mean = Matrix.ones(n, n).div(-n);
      for (let active = 0; active < 2 ** parts.length; active++) {
        const on = parts.filter((_, m) => active & (1 << m));
        const share = p.reduce((product, x, m) => product * (active & (1 << m) ? x : 1 - x), 1);
        const W = mixing(on.flat());
        mean.add(W.mmul(W).mul(share));
      }
      return Math.max(...new EigenvalueDecomposition(mean).realEigenvalues);
    };
    const rate = (alpha: number) => meanSquare((edges) => Matrix.sub(Matrix.eye(n), laplacian(n, edges, alpha)));
    const built = (settings: object) => buildTopology({ kind: 'matcha', base: 'ring', budget, ...settings }, n, 1);
    const alphaOf = (topology: Topology) => [0, 1, 2, 3].flatMap((step) => topology.round(step).weights!.flat())[0]!;

    it.each([
      ['nonnegative', 0.5],
      ['fastest', 2],
    ])('the %s weight is that with which differences shrink fastest on average', (alpha, most) => {
      const grid = Array.from({ length: 1000 * most }, (_, i) => (i + 1) / 1000);
      const best = grid.reduce((a, b) => (rate(b) < rate(a) ? b : a));
      expect(alphaOf(built({ alpha }))).toBeCloseTo(best, 2);
    });

    it('the spectral gap is 1 − √λ2(E[W²])', () => {
      const { spectralGap, spectralGapOf, spectralGapError } = summarize(built({}));
      expect(spectralGap).toBeCloseTo(1 - Math.sqrt(rate(alphaOf(built({})))), 10);
      expect([spectralGapOf, spectralGapError]).toEqual(['E[WᵀW]', 0]);
    });

    it('the gap with other weights is sampled, and as near as it says', () => {
      const halves = (edges: readonly (readonly [number, number])[]) => {
        const W = Matrix.eye(n);
        const degree = edges
          .flat()
          .reduce((count, i) => count.set(i, (count.get(i) ?? 0) + 1), new Map<number, number>());
        for (const [i, j] of edges) W.sub(laplacian(n, [[i, j]], 1 / (1 + Math.max(degree.get(i)!, degree.get(j)!))));
        return W;
      };
      const { spectralGap, spectralGapOf, spectralGapError } = summarize(built({ weights: 'metropolis' }));
      expect(spectralGapOf).toMatch(/^E\[WᵀW\], sample of \d+ steps$/);
      expect(Math.abs(spectralGap - 1 + Math.sqrt(meanSquare(halves)))).toBeLessThan(spectralGapError);
    });
  });

  it('without the bound of nonnegative weights is faster on larger topologies', () => {
    const gap = (alpha: string) => summarize(buildTopology({ kind: 'matcha', alpha }, 97, 1)).spectralGap;
    expect(gap('fastest') / gap('nonnegative')).toBeGreaterThan(1.5);
  });

  const edgesAt = ({ round }: ReturnType<typeof buildTopology>, step: number) =>
    round(step).sources.flatMap((row, i) => row.filter((j) => j > i).map((j) => key([i, j])));

  it.each(['ring', 'torus', 'lattice', 'random-regular', 'erdos-renyi'])(
    'with budget 1 is the whole %s every step',
    (base) => {
      const topology = buildTopology({ kind: 'matcha', base, budget: 1 }, 24, 3);
      const whole = edgesAt(buildTopology({ kind: base }, 24, 3), 0).sort();
      const differing = [0, 1, 7, 1000].filter((step) => edgesAt(topology, step).sort().join() !== whole.join());
      expect(differing).toEqual([]);
    },
  );

  it.each([
    ['ring', 0.25],
    ['lattice', 0.5],
    ['torus', 0.4],
    ['random-regular', 0.75],
    ['erdos-renyi', 0.3],
  ])('uses the matchings of %s as often as a budget of %d allows', (base, budget) => {
    const topology = buildTopology({ kind: 'matcha', base, budget }, 24, 3);
    const { sources } = buildTopology({ kind: base }, 24, 3).round(0);
    const whole = sources.flatMap((row, i) => row.filter((j) => j > i).map((j): Edge => [i, j]));
    const parts = matchings(24, whole, degreeOf(24, whole));
    const known = new Map(parts.flatMap((part, m) => part.map((edge) => [key(edge), m] as const)));
    const steps = 4000;
    let [active, foreign] = [0, 0];
    for (let step = 0; step < steps; step++) {
      const used = edgesAt(topology, step);
      foreign += used.filter((edge) => !known.has(edge)).length;
      active += new Set(used.map((edge) => known.get(edge))).size;
    }
    expect(foreign).toBe(0);
    // Σ of M independent draws: three standard deviations of the mean, of at most √(M/4) each.
    expect(Math.abs(active / steps - budget * parts.length)).toBeLessThan(3 * Math.sqrt(parts.length / 4 / steps));
  });

  it('mixes faster with a larger budget', () => {
    const gap = (budget: number) =>
      summarize(buildTopology({ kind: 'matcha', base: 'torus', budget }, 24, 3)).spectralGap;
    const [low, middle, high] = [0.1, 0.4, 1].map(gap) as [number, number, number];
    expect(low > 0 && low < middle && middle < high).toBe(true);
  });

  it('is accepted at any size before its matchings are made', () => {
    expect(buildTopology({ kind: 'matcha' }, 20_000, 1).period).toBe(Number.POSITIVE_INFINITY);
  });

  it('says why it cannot be built', () => {
    expect(() => buildTopology({ kind: 'matcha', base: 'torus' }, 7, 0)).toThrow('torus(n=7): n is prime');
    expect(() => buildTopology({ kind: 'matcha', base: 'star' }, 8, 0)).toThrow('base: must be one of: ring, torus');
    expect(() => buildTopology({ kind: 'matcha', budget: 0 }, 8, 0)).toThrow(
      'matcha: budget: must be a number above 0 and at most 1, got 0',
    );
  });
});
