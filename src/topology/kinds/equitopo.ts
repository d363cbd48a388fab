import { z } from 'zod';
import { Random } from '../../base/random.ts';
import { circulant, constant, countIn, isConnected, kind, neighbourCount, refuse, weighted } from '../kind.ts';
import { log2Ceil } from './exponential.ts';

/*
 * Song et al., "Communication-efficient topologies for decentralized learning with O(1) consensus rate", 2022.
 * Basis of shift u:  A(u)[i, i−u] = (n−1)/n,  A(u)[i, i] = 1/n.
 */
const directed = z.boolean().default(false).describe('send one way along each shift');

/** k distinct shifts; undirected ones come as ±u, an odd k takes the antipode as well. */
function draw(n: number, k: number, directed: boolean, random: Random): number[] {
  if (directed) return [...random.permutation(n - 1).subarray(0, k)].map((u) => u + 1);
  const half = Math.ceil(n / 2) - 1;
  const pairs = [...random.permutation(half).subarray(0, Math.floor(k / 2))].flatMap((u) => [u + 1, n - u - 1]);
  return k % 2 === 0 ? pairs : [...pairs, n / 2];
}

function staticCount(n: number, wished: number | undefined, directed: boolean): number {
  const even = directed || n % 2 === 0;
  const k = countIn(
    'equistatic',
    n,
    wished,
    directed ? 1 : Math.min(2, n - 1),
    even ? log2Ceil(n) : 2 * Math.ceil(log2Ceil(n) / 2),
  );
  if (!even && k % 2 === 1)
    refuse(
      'equistatic',
      { n, k },
      'undirected shifts come in pairs, so an odd k needs an even n',
      `use k = ${k - 1} or k = ${k + 1}`,
    );
  return k;
}

export const equistatic = kind({
  name: 'equistatic',
  aliases: ['equi-static', 'u-equistatic', 'equitopo'],
  summary: 'EquiTopo, drawn once: k random shifts of the ring, redrawn until connected',
  settings: { k: neighbourCount, directed },
  directed: (settings) => settings.directed,
  weights: 'uniform',
  k: (n, settings) => staticCount(n, settings.k, settings.directed),
  build(n, settings, seed) {
    const k = staticCount(n, settings.k, settings.directed);
    // A connected draw always exists (a shift of 1), so this ends.
    for (let attempt = 0; ; attempt++) {
      const shifts = draw(n, k, settings.directed, new Random(seed, 'topology', 0, attempt));
      const round = circulant(n, shifts, (n - 1) / (n * k));
      if (isConnected(round.sources)) return constant(round);
    }
  },
});

/** Walks along shift u from a random start and pairs each replica with the next one where both are still free. */
function pairUp(n: number, shift: number, start: number): [number, number][] {
  const free = new Uint8Array(n).fill(1);
  const pairs: [number, number][] = [];
  for (let m = 0; m < n; m++) {
    const [i, j] = [(start + m) % n, (start + m + shift) % n];
    if (!free[i] || !free[j]) continue;
    free[i] = free[j] = 0;
    pairs.push([i, j]);
  }
  return pairs;
}

/** λ2(E[WᵀW]) of W = (1 − w)·I + w·P, P a random shift, whose mean is −1/(n−1) on vectors that sum to 0. */
function directedSquare(n: number, weight: number): number {
  return (1 - weight) ** 2 + weight ** 2 - (2 * weight * (1 - weight)) / (n - 1);
}

/**
 * The same of W = I − wL, L the Laplacian of pairs, L² = 2L: E[W²] = I − 2w(1 − w)·E[L]. A shift gives as many pairs from any start, so E[L] is
 * circulant, and its eigenvalues follow from the pairs of each shift.
 */
function undirectedSquare(n: number, weight: number): number {
  const cosine = Float64Array.from({ length: n }, (_, m) => Math.cos((2 * Math.PI * m) / n));
  const pairs = Array.from({ length: n - 1 }, (_, u) => pairUp(n, u + 1, 0).length);
  let least = Number.POSITIVE_INFINITY;
  for (let frequency = 1; frequency <= n / 2; frequency++) {
    const eigenvalue = pairs.reduce((sum, count, u) => sum + count * (2 - 2 * cosine[(frequency * (u + 1)) % n]!), 0);
    least = Math.min(least, eigenvalue / n / (n - 1));
  }
  return 1 - 2 * weight * (1 - weight) * least;
}

export const equidyn = kind({
  name: 'equidyn',
  aliases: ['equi-dyn', 'ou-equidyn'],
  summary: 'EquiTopo, drawn anew every step: one peer along a random shift',
  settings: {
    directed,
    eta: z.number().gt(0).max(1).default(0.5).describe('W = (1−eta)·I + eta·A(u)'),
  },
  directed: (settings) => settings.directed,
  weights: 'uniform',
  build(n, settings, seed) {
    const weight = (settings.eta * (n - 1)) / n;
    return {
      period: Number.POSITIVE_INFINITY,
      meanSquare: () => (settings.directed ? directedSquare(n, weight) : undirectedSquare(n, weight)),
      round(step) {
        const random = new Random(seed, 'topology', 0, step);
        const shift = 1 + random.below(n - 1);
        if (settings.directed) return circulant(n, [shift], weight);
        return weighted(
          n,
          pairUp(n, shift, random.below(n)).map(([i, j]) => [i, j, weight] as const),
        );
      },
    };
  },
});
