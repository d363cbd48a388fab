import { z } from 'zod';
import { UserError } from '../base/error.ts';

/** How an edge's weight follows from the degrees, if a kind does not prescribe it. */
export const weightRules = ['uniform', 'metropolis', 'best-constant', 'lazy'] as const;
export type WeightRule = (typeof weightRules)[number];

/** The most replicas that a topology can have. */
export const mostReplicas = 20_000;

/** Who averages whom in one step. */
export interface Round {
  /** sources[i]: the replicas whose parameters i averages with its own; ascending, without i. */
  readonly sources: readonly (readonly number[])[];
  /** weights[i][a] of sources[i][a], if the kind prescribes them; i keeps the rest, 1 − Σ. */
  readonly weights?: readonly (readonly number[])[] | undefined;
  /** Everybody hears everybody. */
  readonly everyone?: true;
}

/** The rounds of one topology: round(t) for any step t ≥ 0; `period` steps until they repeat, ∞ if drawn anew at random. */
export interface Rounds {
  readonly period: number;
  /** Of a grid: replicas stand in rows of so many. */
  readonly columns?: number;
  round(step: number): Round;
  /** Of rounds drawn anew: is every order of the replicas as likely as any other? */
  readonly exchangeable?: boolean;
  /** Of rounds drawn anew: λ2(E[WᵀW]) with the weights that they prescribe, if there is a way to compute it. */
  meanSquare?(): number;
}

/**
 * A kind of topology: one file and one row in kinds.ts. It defines neighbours, the rest (degree, mixing weights, spectral gap,
 * bytes, drawing, experiment schema, command line) is derived from this description.
 */
export interface Kind<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  /** Names other tools use. */
  readonly aliases: readonly string[];
  readonly summary: string;
  /** What the user may set, with defaults that do not depend on n. */
  readonly settings: Shape;
  /** Whether it takes further settings, of which it alone knows. */
  readonly open?: true;
  readonly directed: boolean | ((settings: z.output<z.ZodObject<Shape>>) => boolean);
  /** Mixing weights where a round prescribes none. */
  readonly weights: WeightRule;
  /** For kinds with a setting `k`: the neighbours per replica in force under these settings, or a UserError. */
  readonly k?: (n: number, settings: z.output<z.ZodObject<Shape>>) => number;
  /** Called for n ≥ 2 only; throws a UserError where the kind does not exist for these settings. */
  build(n: number, settings: z.output<z.ZodObject<Shape>>, seed: number): Rounds;
}

/** Infers the settings' types from their schema. */
export function kind<Shape extends z.ZodRawShape>(definition: Kind<Shape>): Kind<Shape> {
  return definition;
}

export const neighbourCount = z.int().min(1).optional().describe('neighbours per replica');

export function constant(round: Round): Rounds {
  return { period: 1, round: () => round };
}

const mostEdges = 50_000_000;

/** Refuses what does not fit in memory. */
export function requireEdges(n: number, neighbours: number): void {
  if (n * neighbours > mostEdges)
    throw new UserError(`${n} replicas with ${neighbours} neighbours each are more edges than fit in memory`, {
      hint: `keep n·k at most ${mostEdges}`,
    });
}

/** Everybody hears everybody: lists that are made when they are looked at. */
export function everyone(n: number): Round {
  const sources: number[][] = new Array(n);
  const others = (own: number) => {
    const list: number[] = [];
    for (let i = 0; i < n; i++) if (i !== own) list.push(i);
    return list;
  };
  for (let i = 0; i < n; i++) Object.defineProperty(sources, i, { enumerable: true, get: () => others(i) });
  return { sources, everyone: true };
}

/** Replica i hears i − o for every offset o: the same picture from every replica. */
export function circulant(n: number, offsets: Iterable<number>, weight?: number): Round {
  const distinct = [...new Set(offsets)];
  requireEdges(n, distinct.length);
  const sources = Array.from({ length: n }, (_, i) =>
    distinct.map((offset) => (((i - offset) % n) + n) % n).sort((a, b) => a - b),
  );
  return weight === undefined ? { sources } : { sources, weights: sources.map((row) => row.map(() => weight)) };
}

/** Sorted neighbour lists of undirected edges. */
export function undirected(n: number, edges: Iterable<readonly [number, number]>): Round {
  const sources = Array.from({ length: n }, (): number[] => []);
  for (const [i, j] of edges) {
    sources[i]!.push(j);
    sources[j]!.push(i);
  }
  for (const row of sources) row.sort((a, b) => a - b);
  return { sources };
}

/** Sorted neighbour lists of undirected edges that carry a weight. */
export function weighted(n: number, edges: Iterable<readonly [number, number, number]>): Round {
  const rows = Array.from({ length: n }, (): [number, number][] => []);
  for (const [i, j, weight] of edges) {
    rows[i]!.push([j, weight]);
    rows[j]!.push([i, weight]);
  }
  for (const row of rows) row.sort((a, b) => a[0] - b[0]);
  return { sources: rows.map((row) => row.map((e) => e[0])), weights: rows.map((row) => row.map((e) => e[1])) };
}

/** Steps from `start` to every replica along the direction in which rounds send, −1 where there is no way. */
export function distances(targets: readonly (readonly number[])[], start: number): Int32Array {
  const distance = new Int32Array(targets.length).fill(-1);
  const queue = [start];
  distance[start] = 0;
  for (let head = 0; head < queue.length && queue.length < targets.length; head++) {
    const at = queue[head]!;
    for (const next of targets[at]!)
      if (distance[next]! < 0) {
        distance[next] = distance[at]! + 1;
        queue.push(next);
      }
  }
  return distance;
}

/** targets[j]: the replicas that hear j. */
export function targetsOf(sources: readonly (readonly number[])[]): number[][] {
  const targets = sources.map((): number[] => []);
  sources.forEach((row, i) => {
    for (const j of row) targets[j]!.push(i);
  });
  return targets;
}

/** Can every replica reach every other? One search along and one against the direction settles it. */
export function isConnected(sources: readonly (readonly number[])[]): boolean {
  const all = (lists: readonly (readonly number[])[]) => distances(lists, 0).every((d) => d >= 0);
  return all(sources) && all(targetsOf(sources));
}

/** A UserError in the house form `lattice(n=8, k=9): k must be …`. */
export function refuse(name: string, given: Record<string, unknown>, why: string, hint?: string): never {
  const list = Object.entries(given).map(([key, value]) => `${key}=${String(value)}`);
  throw new UserError(`${name}(${list.join(', ')}): ${why}`, { hint });
}

/** The common rule for k: at least `min`, at most n − 1, `fallback` where none is wished. */
export function countIn(name: string, n: number, wished: number | undefined, min: number, fallback: number): number {
  const k = wished ?? Math.max(min, Math.min(fallback, n - 1));
  if (k > n - 1) refuse(name, { n, k }, `k must be at most n−1 = ${n - 1}`, 'for all-to-all use "complete"');
  if (k < min) {
    const why = `k must be at least ${min}, otherwise the replicas are not connected`;
    refuse(name, { n, k }, why, `use k = ${min}; "base" works with one neighbour per step`);
  }
  return k;
}
