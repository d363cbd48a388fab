import { z } from 'zod';
import { nearest, UserError } from '../base/error.ts';
import { maxSeed } from '../base/random.ts';
import { parse } from '../base/schema.ts';
import type { Cohort } from './cohort.ts';
import { type Kind, mostReplicas, type Round, type Rounds, weightRules } from './kind.ts';
import { readTopology } from './kinds/file.ts';
import { kinds, needsFile } from './kinds.ts';
import { checkRule, columnStochastic, type Mixing, mixingOf } from './mixing.ts';

const weights = z
  .enum(weightRules)
  .optional()
  .describe('how mixing weights follow from the degrees; each kind has its usual rule');

function describeKind(kind: Kind) {
  const shape = { kind: z.enum([kind.name, ...kind.aliases]).describe(kind.summary), ...kind.settings, weights };
  return kind.open ? (z.looseObject(shape) as unknown as z.ZodObject<typeof shape>) : z.strictObject(shape);
}

type Member = ReturnType<typeof describeKind>;
// Made once: it takes longer than most topologies take to build.
const schemas = new Map(kinds.map((kind) => [kind, describeKind(kind)]));

/** The settings of one kind, as in an experiment file. */
export function schemaOf(kind: Kind): Member {
  return schemas.get(kind)!;
}

export const topologySchema = z.discriminatedUnion('kind', kinds.map(schemaOf) as [Member, ...Member[]]);

/** Plain data: a kind's name or alias and its settings. */
export type TopologyConfig = Readonly<z.output<typeof topologySchema>>;

/** A communication topology of n replicas: who averages whom at each step, and with which weights. */
export interface Topology extends Pick<Rounds, 'exchangeable' | 'meanSquare'> {
  readonly kind: string;
  readonly n: number;
  /** Neighbours per replica, for kinds that have the setting. */
  readonly k: number | undefined;
  readonly directed: boolean;
  /** Of a grid: replicas stand in rows of so many. */
  readonly columns: number | undefined;
  /** Steps until the rounds repeat; ∞ when they are drawn anew. */
  readonly period: number;
  round(step: number): Round;
  mixing(step: number): Mixing;
  /** The mixing with columns that sum to 1, for push-sum. */
  push(step: number): Mixing;
  /** If it connects servers only: they and their clients. */
  readonly cohort?: Cohort;
}

/** The kind with this name or alias, in any case. */
export function findKind(name: string): Kind {
  const wanted = name.toLowerCase();
  const found = kinds.find((kind) => kind.name === wanted || kind.aliases.includes(wanted));
  if (found !== undefined) return found;
  const near = nearest(
    wanted,
    kinds.flatMap((kind) => [kind.name, ...kind.aliases]),
  );
  const hint =
    near === undefined ? `use one of: ${kinds.map((kind) => kind.name).join(', ')}` : `did you mean "${near}"?`;
  throw new UserError(`unknown topology "${name}"`, { hint });
}

function checkNumbers(n: number, seed: number): void {
  if (!Number.isInteger(n) || n < 1)
    throw new UserError(`the number of replicas n must be a whole number from 1 to ${mostReplicas}, got ${n}`);
  if (n > mostReplicas)
    throw new UserError(`n = ${n} is more than ${mostReplicas}, the most replicas a topology can have`);
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new UserError(`the seed must be a whole number from 0 to ${maxSeed}, got ${seed}`);
}

/** Keeps what was computed for the last few hundred steps. */
function remember<T>(compute: (step: number) => T): (step: number) => T {
  const known = new Map<number, T>();
  return (step) => {
    if (!known.has(step)) {
      if (known.size >= 256) known.clear();
      known.set(step, compute(step));
    }
    return known.get(step)!;
  };
}

/** Builds and checks a topology. One replica alone is the same trivial topology under every kind. */
export function buildTopology(
  given: { readonly kind: string; readonly [setting: string]: unknown },
  n: number,
  seed: number,
): Topology {
  checkNumbers(n, seed);
  const kind = findKind(given.kind);
  const { weights: rule, kind: _, ...settings } = parse(schemaOf(kind), { ...given, kind: kind.name }, kind.name);
  const directed = typeof kind.directed === 'function' ? kind.directed(settings) : kind.directed;
  const { period, round, columns, exchangeable, meanSquare }: Rounds =
    n === 1 && !needsFile(kind) ? { period: 1, round: () => ({ sources: [[]] }) } : kind.build(n, settings, seed);
  checkRule(kind.name, rule, directed, period);
  // Degrees of a directed topology differ by direction, so the only rule with rows that sum to 1 by itself is the plain average.
  const usual = directed ? 'uniform' : kind.weights;
  const index = (step: number) => (period === Number.POSITIVE_INFINITY ? step : step % period);
  const roundAt = remember((step) => round(step));
  const mixingAt = remember((step) => mixingOf(roundAt(step), rule, usual));
  const pushAt = remember((step) => columnStochastic(roundAt(step)));
  const k = n === 1 ? undefined : kind.k?.(n, settings);
  return {
    kind: kind.name,
    n,
    k,
    directed,
    columns,
    period,
    ...(exchangeable && { exchangeable }),
    ...(meanSquare && rule === undefined && { meanSquare }),
    round: (step) => roundAt(index(step)),
    mixing: (step) => mixingAt(index(step)),
    push: (step) => pushAt(index(step)),
  };
}

/** n of a topology: given, or read from its file. */
export function replicasOf(given: { readonly kind: string; readonly path?: unknown }, n: number | undefined): number {
  if (n !== undefined) return n;
  if (findKind(given.kind).name === 'file' && typeof given.path === 'string') return readTopology(given.path).n;
  throw new UserError(`the number of replicas is missing`, {
    hint: 'give it with -n, as in: dbench topology ring -n 96',
  });
}
