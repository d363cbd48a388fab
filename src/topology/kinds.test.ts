import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { isConnected } from './kind.ts';
import { kinds, needsFile } from './kinds.ts';
import { apply, isDoublyStochastic, isSymmetric, type Mixing } from './mixing.ts';
import { probe } from './spectrum.ts';
import { buildTopology, findKind, type Topology } from './topology.ts';

type Settings = Readonly<Record<string, unknown>>;

/** What one kind allows and claims: a kind without a row here fails the suite. */
interface Row {
  /** Whether it exists for this n; every n unless said. */
  readonly allows?: (n: number) => boolean;
  readonly settings: (n: number) => fc.Arbitrary<Settings>;
  readonly random?: boolean;
  /** Settings tried for each n. */
  readonly runs?: number;
  /** Not doubly stochastic under these settings. */
  readonly oneSided?: (settings: Settings) => boolean;
  /** After one period everyone has the exact average. */
  readonly exact?: (n: number, settings: Settings) => boolean;
}

const all = Array.from({ length: 63 }, (_, i) => i + 2);
const isPowerOfTwo = (n: number) => Number.isInteger(Math.log2(n));
const isComposite = (n: number) => all.some((d) => d < n && n % d === 0);
const none = () => fc.constant({});
const flag = fc.boolean();

/** A k from `min` to `max`, or none. */
const count = (min: number, max: number, allowed: (k: number) => boolean = () => true) => {
  const values = Array.from({ length: max - min + 1 }, (_, i) => min + i).filter(allowed);
  return fc.option(fc.constantFrom(...values), { nil: undefined, freq: 8 });
};
const evenSum = (n: number) => count(Math.min(2, n - 1), n - 1, (k) => (n * k) % 2 === 0);

const folder = mkdtempSync(join(tmpdir(), 'topology-'));
/** Writes a connected topology (a random tree, or a one-way ring, and some more edges) in one of the forms a file may have. */
function writeFile(n: number, seed: number, form: 'plain' | 'directed' | 'weighted' | 'matrix'): Settings {
  const random = new Random(seed, 'test');
  const edges = new Map<string, readonly [number, number]>();
  const add = (u: number, v: number) => {
    const known = edges.has(`${u} ${v}`) || (form !== 'directed' && edges.has(`${v} ${u}`));
    if (u !== v && !known) edges.set(`${u} ${v}`, [u, v]);
  };
  for (let i = 0; i < n; i++)
    if (form === 'directed') add(i, (i + 1) % n);
    else if (i > 0) add(random.below(i), i);
  for (let i = 0; i < n; i++) add(random.below(n), random.below(n));
  const weight = form === 'weighted' ? ` ${1 / n}` : '';
  const list = [...edges.values()].map(([u, v]) => `${u} ${v}${weight}`);
  const matrix = Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) => (edges.has(`${i} ${j}`) || edges.has(`${j} ${i}`) ? 1 : 0)).join(' '),
  );
  const path = join(folder, `${form}-${n}-${seed}.txt`);
  const header = form === 'directed' ? `${n} directed` : `${n}`;
  writeFileSync(path, (form === 'matrix' ? matrix : [header, ...list]).join('\n'));
  return { path };
}

/** 0–1, 2–3, … or 1–2, 3–4, …: together a path. */
const pairsFrom = (n: number, first: number) => ({
  sources: Array.from({ length: n }, (_, i) => {
    const other = (i + first) % 2 === 0 ? i + 1 : i - 1;
    return other < 0 || other >= n ? [] : [other];
  }),
});

const rows: Record<string, Row> = {
  ring: { settings: none },
  torus: {
    allows: isComposite,
    settings: (n) => fc.record({ rows: count(2, n / 2, (a) => n % a === 0) }),
  },
  lattice: {
    settings: (n) =>
      fc.oneof(
        fc.record({ k: evenSum(n) }),
        fc.record({ k: count(1, Math.floor(n / 2)), countPerSide: fc.constant(true) }),
      ),
  },
  complete: { settings: none, exact: () => true },
  star: { settings: none },
  tree: { settings: (n) => fc.record({ branches: count(1, n - 1) }) },
  exponential: { settings: (n) => fc.record({ k: count(1, n - 1) }) },
  'one-peer-exponential': { settings: none, exact: isPowerOfTwo },
  hypercube: {
    allows: isPowerOfTwo,
    settings: (n) => fc.record({ k: count(1, Math.log2(n)) }),
    exact: (_, { k }) => k === 1,
  },
  base: { settings: (n) => fc.record({ k: count(1, n - 1) }), exact: () => true },
  equistatic: {
    settings: (n) =>
      fc.oneof(fc.record({ k: evenSum(n) }), fc.record({ k: count(1, n - 1), directed: fc.constant(true) })),
    random: true,
  },
  equidyn: {
    settings: () => fc.record({ directed: flag, eta: fc.double({ min: 0.05, max: 1, noNaN: true }) }),
    random: true,
  },
  'random-regular': { settings: (n) => fc.record({ k: evenSum(n) }), random: true },
  'erdos-renyi': {
    settings: (n) =>
      fc.record({
        p: fc.option(fc.double({ min: Math.min(1, (2 * Math.log(n)) / n), max: 1, noNaN: true }), { nil: undefined }),
      }),
    random: true,
  },
  'small-world': {
    settings: (n) => fc.record({ k: evenSum(n), p: fc.double({ min: 0, max: 0.5, noNaN: true }) }),
    random: true,
  },
  epidemic: {
    settings: (n) =>
      fc.oneof(fc.record({ k: evenSum(n) }), fc.record({ k: count(1, n - 1), variant: fc.constant('local') })),
    random: true,
    oneSided: ({ variant }) => variant === 'local',
  },
  matcha: {
    settings: (n) =>
      fc.record({
        base: fc.constantFrom('ring', 'lattice', 'random-regular', 'erdos-renyi', ...(isComposite(n) ? ['torus'] : [])),
        budget: fc.double({ min: 0.1, max: 1, noNaN: true }),
      }),
    random: true,
    runs: 1,
  },
  file: {
    settings: (n) =>
      fc
        .tuple(fc.nat(5), fc.constantFrom('plain', 'directed', 'weighted', 'matrix'))
        .map(([seed, form]) => writeFile(n, seed, form)),
    oneSided: ({ path }) => String(path).includes('directed'),
  },
  module: {
    settings: (n) => fc.constant({ path: 'mine.ts', rounds: [0, 1].map((first) => pairsFrom(n, first)) }),
  },
};

/** Everything wrong with one step's neighbours and W, by definition and entry by entry. */
function stepViolations(
  { sources }: { sources: readonly (readonly number[])[] },
  W: Mixing,
  claims: { undirected: boolean; columns: boolean },
): string[] {
  const out: string[] = [];
  const columns = new Float64Array(W.n);
  const dense = Array.from({ length: W.n }, () => new Float64Array(W.n));
  if (sources.length !== W.n || W.start[W.n] !== W.weight.length || W.source.length !== W.weight.length)
    out.push('sizes');
  for (let i = 0; i < W.n; i++) {
    const heard = sources[i]!;
    if (heard.includes(i)) out.push(`${i} hears itself`);
    if (heard.some((j, a) => !Number.isInteger(j) || j < 0 || j >= W.n || (a > 0 && heard[a - 1]! >= j)))
      out.push(`sources of ${i} are not ascending in range: ${heard.join()}`);
    const entries = W.source.subarray(W.start[i], W.start[i + 1]);
    const before = heard.findIndex((j) => j > i);
    const expected = heard.toSpliced(before < 0 ? heard.length : before, 0, i);
    if (entries.length !== expected.length || expected.some((j, a) => entries[a] !== j))
      out.push(`row ${i} of W has other columns`);
    let sum = 0;
    for (let e = W.start[i]!; e < W.start[i + 1]!; e++) {
      const [j, w] = [W.source[e]!, W.weight[e]!];
      if (!(w >= 0 && w <= 1) || (j !== i && w === 0)) out.push(`W[${i},${j}] = ${w}`);
      sum += w;
      columns[j]! += w;
      dense[i]![j] = w;
    }
    if (Math.abs(sum - 1) > 1e-12) out.push(`row ${i} sums to ${sum}`);
  }
  const worst = columns.reduce((a, b) => Math.max(a, Math.abs(b - 1)), 0);
  if (claims.columns && worst > 1e-12) out.push(`a column is off 1 by ${worst}`);
  if (isDoublyStochastic(W) !== worst < 1e-10) out.push('isDoublyStochastic is wrong');
  const asymmetry = dense.reduce(
    (a, row, i) => row.reduce((b, w, j) => Math.max(b, Math.abs(w - dense[j]![i]!)), a),
    0,
  );
  if (claims.undirected && asymmetry > 1e-14) out.push(`W is asymmetric by ${asymmetry}`);
  if (isSymmetric(W) !== asymmetry < 1e-10) out.push('isSymmetric is wrong');
  return out;
}

/** Do the edges of all steps together join the replicas? Random topologies get many steps. */
function joins({ n, period, round }: Topology): boolean {
  const union = Array.from({ length: n }, () => new Set<number>());
  for (let step = 0; step < Math.min(period, 5000); step++) {
    round(step).sources.forEach((row, i) => {
      for (const j of row) union[i]!.add(j);
    });
    if ((step < 50 || step % 50 === 0 || step === period - 1) && isConnected(union.map((row) => [...row]))) return true;
  }
  return false;
}

/** How far one period of averaging is from the exact average, on a random vector. */
function inexactness({ n, period, mixing }: Topology): number {
  let x = probe(n, 1);
  for (let step = 0; step < period; step++) {
    const next = new Float64Array(n);
    apply(mixing(step), x, next);
    x = next;
  }
  return x.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
}

const isSame = (a: Mixing, b: Mixing) =>
  (['start', 'source', 'weight'] as const).every((part) =>
    Buffer.from(a[part].buffer).equals(Buffer.from(b[part].buffer)),
  );

const snapshot = (topology: Topology, steps: readonly number[]) =>
  JSON.stringify(steps.map((step) => [topology.round(step).sources, [...topology.mixing(step).weight]]));

const isDirected = (kind: string, settings: Settings) =>
  findKind(kind).directed === true ||
  settings.directed === true ||
  settings.variant === 'local' ||
  String(settings.path).includes('directed');

describe('every kind keeps its promises for n = 2 … 64', () => {
  it('has a row in the table of this suite', () => {
    expect(Object.keys(rows).sort()).toEqual(kinds.map((kind) => kind.name).sort());
  });

  it.each(kinds.map((kind) => kind.name))('%s', (kind) => {
    const row = rows[kind]!;
    for (const n of all.filter(row.allows ?? (() => true))) {
      const rule = fc.constantFrom(undefined, undefined, 'metropolis', 'lazy');
      const property = fc.property(row.settings(n), rule, fc.nat(1000), (settings, wished, seed) => {
        const weights = isDirected(kind, settings) ? undefined : wished;
        const topology = buildTopology({ kind, ...settings, weights }, n, seed);
        const { period } = topology;
        const claims = { undirected: !topology.directed, columns: row.oneSided?.(settings) !== true };
        const steps = Array.from({ length: Math.min(period, row.random ? 4 : period) }, (_, step) => step);
        const out = steps.flatMap((step) =>
          stepViolations(topology.round(step), topology.mixing(step), claims).map((text) => `step ${step}: ${text}`),
        );
        if (topology.n !== n || topology.kind !== kind) out.push('describes itself wrongly');
        if (!joins(topology)) out.push('not connected');
        // Steps are pure functions of their number: asked again, elsewhere and in another order, they are the same.
        const again = buildTopology({ kind, ...settings, weights }, n, seed);
        if (!steps.toReversed().every((step) => isSame(again.mixing(step), topology.mixing(step))))
          out.push('not a function of the seed and the step');
        if (period < Number.POSITIVE_INFINITY && !isSame(topology.mixing(period), topology.mixing(0)))
          out.push('does not repeat after its period');
        const exact = weights === undefined && row.exact?.(n, settings) === true;
        if (exact && inexactness(topology) > 1e-14) out.push(`off the average by ${inexactness(topology)}`);
        if (settings.k !== undefined && !settings.countPerSide && kind !== 'small-world' && topology.k !== settings.k)
          out.push(`k = ${topology.k}`);
        if (out.length > 0) throw new Error(out.slice(0, 8).join('\n'));
      });
      fc.assert(property, { numRuns: row.runs ?? 2, seed: n });
    }
  });

  it('has at most k neighbours and the exact average for every k of base', () => {
    const wrong: string[] = [];
    for (const n of all)
      for (let k = 1; k < n; k++) {
        const topology = buildTopology({ kind: 'base', k }, n, 0);
        const steps = Array.from({ length: topology.period }, (_, step) => topology.round(step));
        if (steps.some(({ sources }) => sources.some((row) => row.length > k))) wrong.push(`n=${n} k=${k}: degree`);
        if (!(inexactness(topology) < 1e-14)) wrong.push(`n=${n} k=${k}: ${inexactness(topology)}`);
      }
    expect(wrong).toEqual([]);
  });

  it('has k neighbours where it says k', () => {
    const wrong: string[] = [];
    for (const n of all)
      for (const kind of ['lattice', 'exponential', 'equistatic', 'random-regular', 'epidemic'])
        for (let k = 2; k < n; k++) {
          if (n % 2 === 1 && k % 2 === 1 && kind !== 'exponential') continue;
          if (n > 16 && k % 11 !== 4) continue;
          const { sources } = buildTopology({ kind, k }, n, 1).round(0);
          if (sources.some((row) => row.length !== k)) wrong.push(`${kind}(n=${n}, k=${k})`);
        }
    expect(wrong).toEqual([]);
  });

  it.each(kinds.filter((kind) => !needsFile(kind)))('$name follows the seed iff it is random', ({ name }) => {
    const steps = Array.from({ length: 12 }, (_, step) => step);
    const seen = new Set([0, 1, 2, 3, 2 ** 40].map((seed) => snapshot(buildTopology({ kind: name }, 32, seed), steps)));
    expect(seen.size).toBe(rows[name]!.random ? 5 : 1);
  });

  it('draws time-varying random kinds anew each step', () => {
    for (const kind of ['equidyn', 'epidemic', 'matcha']) {
      const topology = buildTopology({ kind }, 32, 1);
      const seen = new Set(Array.from({ length: 12 }, (_, step) => snapshot(topology, [step])));
      expect([kind, topology.period, seen.size > 2]).toEqual([kind, Number.POSITIVE_INFINITY, true]);
    }
  });
});
