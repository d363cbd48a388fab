import { evaluate } from '../base/formula.ts';
import { Random } from '../base/random.ts';
import type { Between } from '../topology/cohort.ts';
import type { EdgeSets } from '../topology/edges.ts';
import { edgeName } from './edges.ts';
import type { TensorPlace } from './function.ts';
import { rowFunctions } from './functions.ts';
import type { Plan } from './method.ts';
import { sketchCodes, sketchFigure, sketchOf } from './sketch.ts';
import { branchOf, holdsAt, isBetween, type Stage, stagesAt } from './stage.ts';

/** A method's stages on float64 arrays: slow, plain, and the oracle of the engine. Not part of the package. */

export type Matrix = readonly (readonly number[])[];
type Row = Float64Array;

export interface Problem {
  readonly n: number;
  readonly start: Row;
  rate(t: number): number;
  /** W of the t-th averaging, and its column-stochastic form. */
  weights(t: number): Matrix;
  columns?(t: number): Matrix;
  /** Between servers and clients after the t-th round, and who trains in it. */
  between?(by: Between, t: number): Matrix;
  trains?(replica: number, t: number): boolean;
  readonly edges?: EdgeSets;
  /** Whether the message of a set's edge comes, in the t-th averaging; always unless said. */
  heard?(t: number, set: number, replica: number): boolean;
  readonly tensors?: readonly TensorPlace[];
  /** What random rows start as. */
  readonly random?: Row;
  gradient(replica: number, at: Row, t: number): Row;
  /** The gradient of how far the answers at a point are from those of a teacher. */
  distil?(replica: number, at: Row, teacher: Row, t: number): Row;
  /** Where a point comes to along its tangent kernel on the samples of these replicas, after the best of some numbers of steps. */
  evolve?(replicas: readonly number[], at: Row, rate: number, taus: readonly number[]): Row;
  /** The optimizer: its direction, given gradient and parameters; keeps its own state by replica. */
  direction?(replica: number, gradient: Row, x: Row, t: number): Row;
  /** Its optimizer goes on with this momentum. */
  remember?(replica: number, momentum: Row): void;
  compress?(replica: number, values: Row, t: number): Row;
}

export interface State {
  readonly rows: Map<string, Row[]>;
  readonly numbers: Map<string, number[]>;
  /** The model of each replica. */
  readonly model: readonly Row[];
}

/** Carries out `steps` steps; `seen` is told the state after each. */
export function interpret(
  plan: Plan,
  problem: Problem,
  steps: number,
  seen?: (t: number, state: State) => void,
): State {
  const { n, start } = problem;
  const each = <T>(make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));
  const rows = new Map<string, Row[]>(
    Object.entries(plan.rows).map(([name, from]) => [
      name,
      each(() => (from === 'zero' ? new Float64Array(start.length) : from === 'x' ? start : problem.random!).slice()),
    ]),
  );
  const numbers = new Map<string, number[]>(
    Object.entries(plan.numbers).map(([name, from]) => [name, each(() => from)]),
  );
  for (const [set, weight] of (problem.edges?.weights ?? []).entries())
    numbers.set(edgeName('weight', set + 1), [...weight]);
  if (problem.edges !== undefined) numbers.set('share', [...problem.edges.shares]);
  const scalars = new Map<string, number>(Object.entries(plan.scalars));
  let gossips = 0;
  const row = (name: string) => rows.get(name)!;
  const mixed = (from: readonly Row[], matrix: Matrix): Row[] =>
    each((i) => start.map((_, c) => from.reduce((sum, x, j) => sum + matrix[i]![j]! * x[c]!, 0)));

  function execute(stage: Exclude<Stage, { do: 'when' }>, t: number): void {
    switch (stage.do) {
      case 'gradient':
        rows.set(
          stage.into,
          each((i) => problem.gradient(i, row(stage.at)[i]!, t)),
        );
        return;
      case 'distil':
        rows.set(
          stage.into,
          each((i) => problem.distil!(i, row(stage.at)[i]!, row(stage.teacher)[i]!, t)),
        );
        return;
      case 'evolve': {
        const matrix = problem.weights(gossips);
        const heard = (i: number) => matrix.flatMap((_, j) => (j === i || matrix[i]![j] !== 0 ? [j] : []));
        rows.set(
          stage.into,
          each((i) => problem.evolve!(heard(i), row(stage.at)[i]!, scalars.get('eta')!, stage.taus)),
        );
        return;
      }
      case 'direction':
        rows.set(
          stage.into,
          each((i) =>
            problem.trains?.(i, gossips) === false
              ? new Float64Array(start.length)
              : (problem.direction?.(i, row(stage.gradient)[i]!, row('x')[i]!, t) ?? row(stage.gradient)[i]!.slice()),
          ),
        );
        return;
      case 'set':
        rows.set(
          stage.row,
          each((i) =>
            start.map((_, c) =>
              evaluate(stage.to, (name) => scalars.get(name) ?? numbers.get(name)?.[i] ?? row(name)[i]![c]!),
            ),
          ),
        );
        return;
      case 'apply': {
        const given = (i: number) => ({
          tensors: problem.tensors ?? [{ offset: 0, size: start.length, shape: [start.length] }],
          scalar: (name: string) => scalars.get(name)!,
          random: () => new Random(1, 'start', i, t),
        });
        const applied = (i: number) => {
          const out = new Float64Array(start.length);
          rowFunctions[stage.name]!.apply(given(i), out, ...stage.of.map((name) => row(name)[i]!));
          return out;
        };
        rows.set(stage.into, each(applied));
        return;
      }
      case 'setNumber':
        numbers.set(
          stage.number,
          each((i) => evaluate(stage.to, (name) => scalars.get(name) ?? numbers.get(name)![i]!)),
        );
        return;
      case 'setScalar':
        scalars.set(
          stage.scalar,
          evaluate(stage.to, (name) => scalars.get(name)!),
        );
        return;
      case 'norm':
        numbers.set(
          stage.number,
          each((i) => Math.sqrt(row(stage.row)[i]!.reduce((sum, v) => sum + v * v, 0))),
        );
        return;
      case 'momentum':
        for (const [i, each] of row(stage.row).entries()) problem.remember?.(i, each);
        return;
      case 'sketch': {
        const { figure, buckets, number } = stage;
        const codes = sketchCodes(start.length, buckets, t);
        const sketches = row(stage.row).map((each) => sketchOf(each, codes, buckets));
        numbers.set(
          number,
          each(() => sketchFigure(figure, sketches)),
        );
        return;
      }
      case 'mix': {
        if (typeof stage.by === 'number') {
          const { source, weight } = problem.edges!.partners[stage.by - 1]!;
          const [from, sent] = [rows.get(stage.from), numbers.get(stage.from)];
          if (from !== undefined)
            rows.set(
              stage.into,
              each((i) => from[source[i]!]!.map((v) => weight[i]! * v)),
            );
          if (sent !== undefined)
            numbers.set(
              stage.into,
              each((i) => weight[i]! * sent[source[i]!]!),
            );
          return;
        }
        const given = isBetween(stage.by)
          ? problem.between!(stage.by, gossips)
          : stage.by === 'A'
            ? problem.columns!(gossips)
            : problem.weights(gossips);
        const matrix = stage.by === 'pull' ? given.map((row, i) => row.map((w, j) => (i === j ? w - 1 : w))) : given;
        if (stage.sort === 'row') rows.set(stage.into, mixed(row(stage.from), matrix));
        else {
          const from = numbers.get(stage.from)!;
          numbers.set(
            stage.into,
            each((i) => from.reduce((sum, y, j) => sum + matrix[i]![j]! * y, 0)),
          );
        }
        return;
      }
      case 'send': {
        const [memory, sent] = [row(stage.memory), row(stage.row)];
        const message = (i: number) =>
          problem.compress!(
            i,
            sent[i]!.map((v, c) => v - memory[i]![c]!),
            t,
          );
        rows.set(
          stage.memory,
          each((i) => message(i).map((q, c) => memory[i]![c]! + q)),
        );
        return;
      }
      case 'mean': {
        const mean = start.map((_, c) => row(stage.from).reduce((sum, x) => sum + x[c]!, 0) / n);
        rows.set(
          stage.into,
          each(() => mean.slice()),
        );
        return;
      }
    }
  }

  for (let t = 0; t < steps; t++) {
    scalars
      .set('t', t)
      .set('steps', steps)
      .set('eta', problem.rate(t))
      .set('etaBefore', problem.rate(Math.max(0, t - 1)));
    const scalar = (name: string) => scalars.get(name)!;
    const branch = branchOf(plan.stages, (name) => scalars.get(name) ?? numbers.get(name)![0]!);
    const holds = holdsAt(plan.stages, branch, { t, steps, scalar });
    const stages = stagesAt(plan.stages, holds);
    for (const set of problem.edges?.partners.keys() ?? [])
      numbers.set(
        edgeName('heard', set + 1),
        each((i) => (problem.heard?.(gossips, set, i) === false ? 0 : 1)),
      );
    for (const stage of stages) execute(stage, t);
    // One round of the topology for all rows that are mixed in a step.
    if (stages.some((stage) => stage.do === 'mix')) gossips += 1;
    for (const stage of plan.model) execute(stage as Exclude<Stage, { do: 'when' }>, t);
    seen?.(t, { rows, numbers, model: row(plan.modelRow) });
  }
  return { rows, numbers, model: row(plan.modelRow) };
}
