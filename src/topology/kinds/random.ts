import { z } from 'zod';
import { Random } from '../../base/random.ts';
import { constant, countIn, isConnected, kind, neighbourCount, type Round, refuse, undirected } from '../kind.ts';
import { latticeOffsets } from './lattice.ts';

type Edge = [number, number];
const mostTries = 200;
/** Random numbers that all tries together may take: some seconds. */
const mostNumbers = 2e8;

/** Draws until the result is connected, or gives up with advice; a draw takes so many random numbers. */
function connected(numbers: number, draw: (attempt: number) => Round, giveUp: (tries: number) => never): Round {
  const tries = Math.min(mostTries, Math.ceil(mostNumbers / numbers));
  for (let attempt = 0; attempt < tries; attempt++) {
    const round = draw(attempt);
    if (isConnected(round.sources)) return round;
  }
  return giveUp(tries);
}

/** The edges of a ring lattice, each once, as a starting point for rewiring. */
function latticeEdges(n: number, k: number): Edge[] {
  const forward = latticeOffsets(n, k).filter((offset) => offset <= n / 2);
  return forward.flatMap((offset) => {
    const count = 2 * offset === n ? offset : n;
    return Array.from({ length: count }, (_, i): Edge => [i, (i + offset) % n]);
  });
}

/**
 * A random k-regular topology, close to uniform over all of them: edge switches on a ring lattice, {a,b},{c,d} → {a,c},{b,d},
 * ten per edge, and on until it is connected. The switch chain mixes rapidly: Cooper, Dyer & Greenhill, "Sampling regular graphs
 * and a peer-to-peer network", 2007.
 */
export function randomRegularRound(n: number, k: number, random: Random): Round {
  const edges = latticeEdges(n, k);
  const adjacent = new Uint8Array(n * n);
  const mark = (i: number, j: number, value: number) => {
    adjacent[i * n + j] = value;
    adjacent[j * n + i] = value;
  };
  for (const [i, j] of edges) mark(i, j, 1);
  const switches = (count: number) => {
    for (let s = 0; s < count; s++) {
      const [first, second] = [random.below(edges.length), random.below(edges.length)];
      const [a, b] = edges[first]!;
      const [c, d] = random.below(2) === 0 ? edges[second]! : ([edges[second]![1], edges[second]![0]] as const);
      if (a === c || b === d || a === d || b === c || adjacent[a * n + c] || adjacent[b * n + d]) continue;
      mark(a, b, 0);
      mark(c, d, 0);
      mark(a, c, 1);
      mark(b, d, 1);
      edges[first] = [a, c];
      edges[second] = [b, d];
    }
  };
  switches(10 * edges.length);
  return connected(
    3 * edges.length,
    (attempt) => {
      if (attempt > 0) switches(edges.length);
      return undirected(n, edges);
    },
    (tries) =>
      refuse(
        'random-regular',
        { n, k },
        `no connected topology found in ${tries} draws`,
        'use another seed or a larger k',
      ),
  );
}

export function regularCount(name: string, n: number, wished: number | undefined): number {
  const k = countIn(name, n, wished, Math.min(2, n - 1), 4);
  if ((n * k) % 2 === 1)
    refuse(name, { n, k }, 'n·k counts every edge twice, so it must be even', `use k = ${k - 1} or k = ${k + 1}`);
  return k;
}

export const randomRegular = kind({
  name: 'random-regular',
  aliases: ['random_regular', 'd-regular', 'k-regular', 'regular'],
  summary: 'drawn once: every replica has k neighbours',
  settings: { k: neighbourCount },
  directed: false,
  weights: 'metropolis',
  k: (n, { k }) => regularCount('random-regular', n, k),
  build: (n, { k }, seed) =>
    constant(randomRegularRound(n, regularCount('random-regular', n, k), new Random(seed, 'topology'))),
});

export const erdosRenyi = kind({
  name: 'erdos-renyi',
  aliases: ['erdos_renyi', 'er', 'gnp', 'random'],
  summary: 'drawn once: every pair is an edge with probability p (default 2 ln n / n), redrawn until connected',
  settings: { p: z.number().gt(0).max(1).optional().describe('probability of an edge') },
  directed: false,
  weights: 'metropolis',
  build(n, settings, seed) {
    const p = settings.p ?? Math.min(1, (2 * Math.log(n)) / n + 0.1 / n);
    const hint = `take p above ln n / n = ${(Math.log(n) / n).toPrecision(2)}`;
    const alone = n * (1 - p) ** (n - 1);
    // Then all are joined about once in e^40 draws: not worth trying.
    if (alone > 40)
      refuse('erdos-renyi', { n, p }, `about ${Math.round(alone)} replicas would have no neighbour`, hint);
    return constant(
      connected(
        (n * (n - 1)) / 2,
        (attempt) => {
          const random = new Random(seed, 'topology', 0, attempt);
          const edges: Edge[] = [];
          for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) if (random.uniform() < p) edges.push([i, j]);
          return undirected(n, edges);
        },
        (tries) => refuse('erdos-renyi', { n, p }, `not connected in ${tries} draws`, hint),
      ),
    );
  },
});

/** Watts & Strogatz, "Collective dynamics of small-world networks", 1998. */
export const smallWorld = kind({
  name: 'small-world',
  aliases: ['watts-strogatz', 'watts_strogatz', 'smallworld'],
  summary: 'drawn once: a ring lattice whose edges are rewired with probability p',
  settings: {
    k: neighbourCount,
    p: z.number().min(0).max(1).default(0.1).describe('probability that an edge is rewired'),
  },
  directed: false,
  weights: 'metropolis',
  k: (n, { k }) => regularCount('small-world', n, k),
  build(n, settings, seed) {
    const k = regularCount('small-world', n, settings.k);
    return constant(
      connected(
        n * k,
        (attempt) => {
          const random = new Random(seed, 'topology', 0, attempt);
          const edges = latticeEdges(n, k);
          const key = (i: number, j: number) => Math.min(i, j) * n + Math.max(i, j);
          const taken = new Set(edges.map(([i, j]) => key(i, j)));
          for (const edge of edges) {
            if (random.uniform() >= settings.p) continue;
            const target = random.below(n);
            if (target === edge[0] || taken.has(key(edge[0], target))) continue;
            taken.delete(key(...edge));
            edge[1] = target;
            taken.add(key(...edge));
          }
          return undirected(n, edges);
        },
        (tries) =>
          refuse(
            'small-world',
            { n, k, p: settings.p },
            `not connected in ${tries} draws`,
            'use a larger k or a smaller p',
          ),
      ),
    );
  },
});
