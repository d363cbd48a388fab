import { countIn, kind, neighbourCount, weighted } from '../kind.ts';

/** A round as undirected weighted edges. */
type Links = readonly (readonly [number, number, number])[];

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

/** Factors of n that are at most k+1, largest first; undefined if n has a larger prime factor. */
function smoothFactors(n: number, k: number): number[] | undefined {
  const factors: number[] = [];
  let rest = n;
  for (let f = k + 1; f > 1; f--) for (; rest % f === 0; rest /= f) factors.push(f);
  return rest === 1 ? factors : undefined;
}

/** All pairs of a group, each weighing 1/|group|: the group averages exactly. */
function clique(group: readonly number[]): Links {
  return group.flatMap((i, a) => group.slice(a + 1).map((j) => [i, j, 1 / group.length] as const));
}

/** Nodes as the points of a box f1 × f2 × …: round l averages exactly along side l. Needs a (k+1)-smooth count. */
function hyperHypercube(nodes: readonly number[], k: number): Links[] {
  let stride = 1;
  return smoothFactors(nodes.length, k)!.map((factor) => {
    const corners = nodes.flatMap((_, i) => (Math.floor(i / stride) % factor === 0 ? [i] : []));
    const links = corners.flatMap((i) => clique(Array.from({ length: factor }, (_, m) => nodes[i + m * stride]!)));
    stride *= factor;
    return links;
  });
}

/** Splits a list into runs of the given sizes. */
function split(nodes: readonly number[], sizes: readonly number[]): number[][] {
  let end = 0;
  return sizes.map((size) => nodes.slice(end, (end += size)));
}

/** The digits of n in base k+1 that are not 0, as a·(k+1)^p, highest first. */
function digits(n: number, base: number): { count: number; power: number }[] {
  const out: { count: number; power: number }[] = [];
  for (let power = 1; n > 0; power *= base, n = Math.floor(n / base))
    if (n % base > 0) out.unshift({ count: n % base, power });
  return out;
}

/**
 * The simple base-(k+1) graph. With n = Σ a_l (k+1)^p_l, part l has a_l blocks of (k+1)^p_l nodes. (1) Every part averages within
 * itself. (2) Part s trades with all later parts, one node of each of its blocks against one of theirs, so that each block's mean
 * is the global one. (3) From then on its blocks average within themselves.
 */
function simpleBase(nodes: readonly number[], k: number): Links[] {
  const cube = smoothFactors(nodes.length, k);
  if (cube !== undefined) return hyperHypercube(nodes, k);
  const shape = digits(nodes.length, k + 1);
  const sizes = shape.map(({ count, power }) => count * power);
  const parts = split(nodes, sizes);
  const blocks = parts.map((part, l) =>
    split(part, shape[l]!.power === 1 ? [part.length] : Array(shape[l]!.count).fill(shape[l]!.power)),
  );
  const partRounds = parts.map((part) => hyperHypercube(part, k));
  const blockRounds = blocks.map((list) => list.map((block) => hyperHypercube(block, k)));
  const at = (rounds: readonly Links[], index: number): Links =>
    rounds.length === 0 ? [] : rounds[index % rounds.length]!;
  const first = partRounds[0]!.length;
  const last = parts.length - 1;

  const trade = (s: number): Links => {
    const units = split(parts[s]!, Array(shape[s]!.count).fill(shape[s]!.power));
    const later = parts.slice(s + 1).flat();
    const weight = sizes[s]! / sum(sizes.slice(s)) / units.length;
    const traded = later.flatMap((i, m) => units.map((unit) => [i, unit[m]!, weight] as const));
    // Those of part s left over average among themselves: not needed for exactness, but it is free of extra degree.
    const left = units.flatMap((unit) => unit.slice(later.length));
    const groups = Array.from({ length: Math.ceil(left.length / (k + 1)) }, (_, g) =>
      left.slice(g * (k + 1), (g + 1) * (k + 1)),
    );
    return [...traded, ...groups.flatMap(clique)];
  };

  const length = first + 1 + blockRounds[0]![0]!.length;
  return Array.from({ length }, (_, m) => {
    if (m < first) return partRounds.flatMap((rounds) => at(rounds, m));
    const s = m - first;
    const resting = parts.flatMap((_, l) => {
      const done = l === last ? s - last : s - l - 1;
      return l < s || (l === last && s >= last) ? blockRounds[l]!.flatMap((rounds) => at(rounds, done)) : [];
    });
    return s < last ? [...resting, ...trade(s)] : resting;
  });
}

/** The base-(k+1) graph: p blocks of q = n/p nodes, p the largest (k+1)-smooth divisor, or the simple one where that is shorter. */
function baseRounds(n: number, k: number): Links[] {
  const nodes = Array.from({ length: n }, (_, i) => i);
  const simple = simpleBase(nodes, k);
  let q = n;
  for (let f = k + 1; f > 1; f--) while (q % f === 0) q /= f;
  if (q === 1 || q === n) return simple;
  const blocks = split(nodes, Array(n / q).fill(q));
  const inside = blocks.map((block) => simpleBase(block, k));
  const across = Array.from({ length: q }, (_, j) =>
    hyperHypercube(
      blocks.map((block) => block[j]!),
      k,
    ),
  );
  const zip = (lists: readonly Links[][]) => lists[0]!.map((_, m) => lists.flatMap((rounds) => rounds[m]!));
  const blocked = [...zip(inside), ...zip(across)];
  return simple.length < blocked.length ? simple : blocked;
}

const baseCount = (n: number, { k }: { k?: number | undefined }) => countIn('base', n, k, 1, 1);

/**
 * Takezawa et al., "Beyond exponential graph: communication-efficient topologies for decentralized learning via finite-time
 * convergence", 2023.
 */
export const base = kind({
  name: 'base',
  aliases: ['base-graph', 'base-k', 'base-(k+1)', 'basegraph'],
  summary: 'base-(k+1): at most k neighbours per step, in turn; the exact average after one period for every n',
  settings: { k: neighbourCount },
  directed: false,
  weights: 'uniform',
  k: baseCount,
  build(n, settings) {
    const rounds = baseRounds(n, baseCount(n, settings)).map((links) => weighted(n, links));
    return { period: rounds.length, round: (step) => rounds[step % rounds.length]! };
  },
});
