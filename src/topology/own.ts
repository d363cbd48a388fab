import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { isConnected, type Round } from './kind.ts';

/**
 * A topology of one's own, as a module exports it: who hears whom in each step. Once it has been asked for all rounds of its period it is
 * plain data, so that nothing of it runs again.
 */
export interface OwnTopology<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  readonly summary?: string;
  /** Zod schemas with `.default(…)` and `.describe(…)`. */
  readonly settings?: Shape;
  /** Steps until the rounds repeat; 1 unless given. */
  readonly period?: number | ((n: number, settings: z.output<z.ZodObject<Shape>>) => number);
  /**
   * Whom each of n replicas hears in a step, from 0: a list for each replica, or `{ sources, weights }` with a weight for each; a replica
   * keeps 1 minus their sum. Without weights, Metropolis–Hastings if all hear each other, else the plain average.
   */
  round(
    n: number,
    step: number,
    settings: z.output<z.ZodObject<Shape>>,
    seed: number,
  ): readonly (readonly number[])[] | Round;
}

/** Infers the settings' types from their schema. */
export function topology<Shape extends z.ZodRawShape>(definition: OwnTopology<Shape>): OwnTopology<Shape> {
  return definition;
}

export const roundSchema = z.strictObject({
  sources: z.array(z.array(z.int().min(0))),
  weights: z.array(z.array(z.number().min(0).max(1))).optional(),
});

/** All rounds together have at most so many edges: they are stored with the run. */
const mostEdges = 1_000_000;

/** The rounds of a topology of one's own, asked for once and checked. */
export function roundsOf(
  { period = 1, round }: OwnTopology,
  { n, seed, settings }: { readonly n: number; readonly seed: number; readonly settings: never },
): Round[] {
  const steps: unknown = typeof period === 'function' ? period(n, settings) : period;
  if (!Number.isInteger(steps) || !((steps as number) >= 1))
    throw new UserError(`its period must be a whole number from 1, got ${String(steps)}`);
  const rounds: Round[] = [];
  let edges = 0;
  for (let step = 0; step < (steps as number); step++) {
    const next = checkedRound(round(n, step, settings, seed), n, step);
    edges += next.sources.reduce((sum, row) => sum + row.length, 0);
    if (edges > mostEdges)
      throw new UserError(`its rounds have more than ${mostEdges} edges; use fewer replicas or a shorter period`);
    rounds.push(next);
  }
  const again = checkedRound(round(n, 0, settings, seed), n, 0);
  if (JSON.stringify(again) !== JSON.stringify(rounds[0]))
    throw new UserError('its round 0 differs when asked again; it must follow from n, step, settings and seed alone');
  const union = rounds[0]!.sources.map((_, i) => [...new Set(rounds.flatMap(({ sources }) => sources[i]!))]);
  if (!isConnected(union))
    throw new UserError(`with ${n} replicas not every one can reach every other, so they can never agree`);
  return rounds;
}

/** One round in the form that all topologies have: ascending, each replica once, weights that leave something to oneself. */
function checkedRound(given: unknown, n: number, step: number): Round {
  const fail = (why: string): never => {
    throw new UserError(`round ${step} with ${n} replicas: ${why}`);
  };
  const { sources, weights } = (Array.isArray(given) ? { sources: given } : (given ?? {})) as Partial<Round>;
  const isTable = (value: unknown): value is number[][] =>
    Array.isArray(value) && value.length === n && value.every(Array.isArray);
  if (!isTable(sources)) return fail(`it must be a list of ${n} lists, whom each replica hears`);
  if (weights !== undefined && !(isTable(weights) && weights.every((row, i) => row.length === sources[i]!.length)))
    return fail('weights must be as many as those who are heard, for each replica');
  const rows = sources.map((row, i) => {
    const heard = row.map((j, a) => [j, (weights?.[i] ?? [])[a]] as const).sort((p, q) => p[0] - q[0]);
    heard.forEach(([j, weight], a) => {
      if (!Number.isInteger(j) || j < 0 || j >= n) fail(`replica ${i} hears ${String(j)}; replicas are 0 to ${n - 1}`);
      if (j === i) fail(`replica ${i} hears itself; leave it out, it keeps what the others leave`);
      if (heard[a - 1]?.[0] === j) fail(`replica ${i} hears ${j} twice`);
      if (weight !== undefined && !(weight > 0 && weight <= 1))
        fail(`the weight of ${j} for replica ${i} must be above 0 and at most 1, got ${String(weight)}`);
    });
    const sum = heard.reduce((total, [, weight]) => total + (weight ?? 0), 0);
    if (sum > 1 + 1e-12) fail(`the weights of replica ${i} sum to ${sum}, more than 1`);
    return heard;
  });
  const list = rows.map((row) => row.map(([j]) => j));
  return weights === undefined
    ? { sources: list }
    : { sources: list, weights: rows.map((row) => row.map(([, weight]) => weight!)) };
}
