import { planFor } from '../algorithm/choose.ts';
import { trainersOf } from '../algorithm/facts.ts';
import type { Plan } from '../algorithm/method.ts';
import type { Stage } from '../algorithm/stage.ts';
import { UserError } from '../base/error.ts';
import { evaluate } from '../base/formula.ts';
import { checkpointsIn, type RowReader, readCheckpoint } from '../engine/checkpoint.ts';
import { type Layout, rowSize } from '../model/layout.ts';
import type { Run } from '../store/runs.ts';

/** A model as it was trained: flat rows of its parameters and of its running statistics. */
export interface Weights {
  /** Steps done. */
  readonly step: number;
  readonly params: Float32Array;
  readonly state: Float32Array;
}

/** Which model of a run: a replica's own, or the mean over all. */
export type Which = { readonly replica: number } | 'merged';

/** From the newest checkpoint. Means are added up in float64, replica after replica. */
export function weightsOf(run: Run, which: Which, params: Layout, state: Layout): Weights {
  const { replicas, algorithm } = run.experiment;
  if (which !== 'merged' && which.replica >= replicas)
    throw new UserError(`--replica ${which.replica}: ${run.id} has replicas 0 to ${replicas - 1}`);
  const step = checkpointsIn(run.checkpoints).at(-1);
  if (step === undefined)
    throw new UserError(`${run.id} has no checkpoint: there are no parameters to export`, {
      hint: `let it run until the end of an epoch: dbench run --resume ${run.id}`,
    });
  const trainers = trainersOf(run.experiment);
  // Servers are the model, if there are such, with the running statistics of the clients.
  const models =
    which === 'merged' ? [trainers < replicas ? trainers : 0, replicas] : [which.replica, which.replica + 1];
  const stated = which !== 'merged' && which.replica < trainers ? models : [0, trainers];
  const [first, last] = [Math.min(models[0]!, stated[0]!), Math.max(models[1]!, stated[1]!)];
  const isIn = ([from, to]: readonly number[], replica: number) => replica >= from! && replica < to!;
  const model = modelOf(planFor(algorithm));
  const [size, stateSize] = [rowSize(params), rowSize(state)];
  const [sum, stateSum] = [new Float64Array(size), new Float64Array(stateSize)];
  // All rows of a replica come before those of another block, but not one after the other: they are kept until all are here.
  const kept = new Map<number, Map<string, Float32Array>>();
  const reader = (name: string, length: number): RowReader => ({
    length,
    put(replica, row) {
      if (!isIn(models, replica)) return;
      const rows = kept.get(replica) ?? new Map<string, Float32Array>();
      kept.set(replica, rows.set(name, row.slice()));
      if (rows.size < model.reads.length) return;
      kept.delete(replica);
      model.add(rows, sum);
    },
  });
  const rows = Object.fromEntries(
    model.reads.map((name) => [stored(name, model.numbers), reader(name, model.numbers.has(name) ? 2 : size)]),
  );
  const states: Record<string, RowReader> =
    stateSize === 0
      ? {}
      : {
          state: {
            length: stateSize,
            put: (replica, row) => {
              if (!isIn(stated, replica)) return;
              for (let c = 0; c < stateSize; c++) stateSum[c]! += row[c]!;
            },
          },
        };
  readCheckpoint(run.checkpoints, step, { first, last }, { ...rows, ...states });
  // Not Float32Array.from, which makes a list of all numbers first.
  const mean = (total: Float64Array, [from, to]: readonly number[]) =>
    new Float32Array(total.map((value) => value / (to! - from!)));
  return { step, params: mean(sum, models), state: mean(stateSum, stated) };
}

/** What a checkpoint calls a row or a number of the method. */
const stored = (name: string, numbers: ReadonlySet<string>) =>
  name === 'x' ? 'params' : numbers.has(name) ? `number/${name}` : `row/${name}`;

/** The eight bytes of a float64 are stored as two float32. */
const numberIn = (halves: Float32Array) => new Float64Array(halves.buffer, 0, 1)[0]!;

/** How the model follows from what a checkpoint holds: it is x, or a formula of rows and numbers such as x/y. */
function modelOf(plan: Plan) {
  const numbers = new Set(Object.keys(plan.numbers));
  const add = (rows: ReadonlyMap<string, Float32Array>, sum: Float64Array) => {
    const x = rows.get('x')!;
    for (let c = 0; c < sum.length; c++) sum[c]! += x[c]!;
  };
  if (plan.model.length === 0) return { reads: ['x'], numbers, add };
  const [stage] = plan.model as readonly (Stage & { do: 'set' })[];
  const reads = stage!.do === 'set' ? namesIn(stage!.to) : [];
  if (plan.model.length > 1 || reads.some((name) => !(name in plan.rows) && !numbers.has(name)) || reads.length === 0)
    throw new UserError(`the model of ${plan.method.name} is ${plan.method.model}, which checkpoints do not hold`, {
      hint: 'runs of this algorithm cannot be exported',
    });
  return {
    reads,
    numbers,
    add(rows: ReadonlyMap<string, Float32Array>, sum: Float64Array) {
      const known = new Map([...rows].map(([name, row]) => [name, numbers.has(name) ? numberIn(row) : row]));
      for (let c = 0; c < sum.length; c++) {
        const value = (name: string) => {
          const found = known.get(name) ?? plan.scalars[name]!;
          return typeof found === 'number' ? found : found[c]!;
        };
        // As the engine stores it.
        sum[c]! += Math.fround(evaluate(stage!.to, value));
      }
    },
  };
}

function namesIn(formula: (Stage & { do: 'set' })['to']): string[] {
  if ('name' in formula) return [formula.name];
  return 'of' in formula ? [...new Set(formula.of.flatMap(namesIn))] : [];
}
