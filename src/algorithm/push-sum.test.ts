import { expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { edgeSets } from '../topology/edges.ts';
import { circulant, type Round } from '../topology/kind.ts';
import { columnStochastic, type Mixing, mixingOf } from '../topology/mixing.ts';
import { buildTopology, type Topology } from '../topology/topology.ts';
import { planOf } from './method.ts';
import { findMethod } from './methods.ts';
import { interpret, type Matrix, type Problem } from './reference.ts';

const dense = ({ n, start, source, weight }: Mixing): number[][] =>
  Array.from({ length: n }, (_, i) => {
    const row = new Array<number>(n).fill(0);
    for (let e = start[i]!; e < start[i + 1]!; e++) row[source[e]!] = weight[e]!;
    return row;
  });

/** A topology that is the same in every step. */
const always = (round: Round) =>
  ({
    n: round.sources.length,
    round: () => round,
    mixing: () => mixingOf(round, undefined, 'uniform'),
    push: () => columnStochastic(round),
  }) as unknown as Topology;

type Heard = (gossip: number, i: number, j: number) => boolean;

/** Averaging alone, from one number for each replica, which the first step sets: where it starts all are 0, and moves by −1 · gradient. */
function averaging(topology: Topology, x: readonly number[], heard: Heard): Problem {
  const A = dense(topology.push(0));
  const columns = (t: number): Matrix => A.map((row, i) => row.map((a, j) => (i === j || heard(t, i, j) ? a : 0)));
  const edges = edgeSets(topology, 'heard');
  return {
    n: topology.n,
    start: Float64Array.of(0),
    rate: () => 1,
    weights: columns,
    columns,
    edges,
    heard: (t, set, i) => heard(t, i, edges.partners[set]!.source[i]!),
    gradient: (i, _, t) => Float64Array.of(t === 0 ? -x[i]! : 0),
  };
}

const planFor = (name: string, { partners }: { readonly partners: readonly unknown[] }, n: number) =>
  planOf(findMethod(name), {}, { replicas: n, sets: partners.length });

const total = (values: Iterable<number>) => [...values].reduce((a, b) => a + b, 0);

/** All of x and of y, with what is on its way. */
function massOf(state: Parameters<NonNullable<Parameters<typeof interpret>[3]>>[1]): [number, number] {
  const mine = (name: string, single: RegExp) => name.replace(/ \d+$/, '').match(single) !== null;
  const rows = [...state.rows]
    .filter(([name]) => mine(name, /^(x|p)$/))
    .flatMap(([, all]) => all.map((row) => row[0]!));
  const numbers = [...state.numbers].filter(([name]) => mine(name, /^(y|q)$/)).flatMap(([, all]) => all);
  return [total(rows), total(numbers)];
}

it('on a directed ring of 4 running sums lose nothing, plain push-sum does', () => {
  const topology = always(circulant(4, [1]));
  const problem = averaging(topology, [0, 4, 8, 12], (t, i) => (3 * t + 5 * i) % 7 >= 3);
  const after: number[][] = [];
  const robust = planFor('robust-push-sum', problem.edges!, 4);
  interpret(robust, problem, 60, (_, state) => {
    after.push(state.model.map((row) => row[0]!));
    const [x, y] = massOf(state);
    expect(x).toBeCloseTo(24, 10);
    expect(y).toBeCloseTo(4, 10);
  });
  for (const [i, value] of [8.444444, 5, 4, 8].entries()) expect(after[2]![i]).toBeCloseTo(value, 6);
  for (const value of after[59]!) expect(Math.abs(value - 6)).toBeLessThan(2e-5);
  const { model } = interpret(planOf(findMethod('sgp')), problem, 60);
  for (const row of model) expect(row[0]).toBeCloseTo(5.411374, 5);
});

it('without loss it is push-sum', () => {
  const topology = buildTopology({ kind: 'exponential' }, 8, 1);
  const problem = averaging(topology, [3, 1, 4, 1, 5, 9, 2, 6], () => true);
  const [robust, plain] = [planFor('robust-push-sum', problem.edges!, 8), planOf(findMethod('sgp'))];
  const models = [robust, plain].map((plan) => interpret(plan, problem, 5).model.map((row) => row[0]!));
  for (const [i, value] of models[1]!.entries()) expect(models[0]![i]).toBeCloseTo(value, 12);
});

it('1,000 random directed networks with loss: the mass stays', () => {
  const broken: string[] = [];
  for (let seed = 0; seed < 1000; seed++) {
    const random = new Random(seed, 'test');
    const n = 3 + random.below(5);
    const kind = ['directed ring', 'exponential', 'ring', 'star'][random.below(4)]!;
    const p = 0.6 * random.uniform();
    const x = Array.from({ length: n }, () => random.normal());
    const topology = kind === 'directed ring' ? always(circulant(n, [1])) : buildTopology({ kind }, n, seed);
    const problem = averaging(topology, x, (t, i, j) => new Random(seed, 'loss', i * n + j, t).uniform() >= p);
    const last = interpret(planFor('robust-push-sum', problem.edges!, n), problem, 12, (t, state) => {
      const [all, weights] = massOf(state);
      if (Math.abs(all - total(x)) > 1e-10 || Math.abs(weights - n) > 1e-10) broken.push(`seed ${seed}, step ${t}`);
    });
    if (last.model.some((row) => !Number.isFinite(row[0]))) broken.push(`seed ${seed}: ${last.model}`);
  }
  expect(broken).toEqual([]);
});
