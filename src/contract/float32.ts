import { stepOf } from '../algorithm/actions.ts';
import { type RowCompressor, rowCompressor } from '../algorithm/compressors.ts';
import type { Plan } from '../algorithm/method.ts';
import { matrixNames } from '../algorithm/places.ts';
import type { Matrix, Problem } from '../algorithm/reference.ts';
import { type By, isBetween } from '../algorithm/stage.ts';
import { vector } from '../algorithm/traffic.ts';
import { Clock } from '../engine/clock.ts';
import { Executor } from '../engine/execute.ts';
import { PairExecutor } from '../engine/pairs.ts';
import type { Replicas } from '../engine/replicas.ts';
import type { Rows } from '../kernel/memory.ts';
import { type PairCourse, PairQueue } from '../network/queue.ts';
import type { Mixing } from '../topology/mixing.ts';
import { shareTransport } from '../transport/shared.ts';
import { openTransport } from '../transport/threads.ts';
import type { PlacedRow } from '../transport/transport.ts';

/** A method's steps on a problem by the engine itself, in float32, with the problem's exact gradients instead of a network's. */

const mixings = new WeakMap<Matrix, Mixing>();

/** A matrix as rows of its entries, as kernels take it; the same one for the same matrix. */
export function mixingOf(matrix: Matrix): Mixing {
  const made = mixings.get(matrix) ?? entriesOf(matrix);
  mixings.set(matrix, made);
  return made;
}

function entriesOf(matrix: Matrix): Mixing {
  const entries = matrix.map((row) => row.flatMap((weight, source) => (weight === 0 ? [] : [{ source, weight }])));
  const start = Int32Array.from([0, ...entries.map((_, i) => entries.slice(0, i + 1).flat().length)]);
  return {
    n: matrix.length,
    start,
    source: Int32Array.from(entries.flat(), ({ source }) => source),
    weight: Float64Array.from(entries.flat(), ({ weight }) => weight),
  };
}

/** What rows are mixed with in a round. */
export const weightsAt =
  (problem: Problem, round: number) =>
  (by: By): Mixing => {
    if (typeof by === 'number') return problem.edges!.partners[by - 1]!;
    if (isBetween(by)) return mixingOf(problem.between!(by, round));
    return mixingOf(by === 'A' ? problem.columns!(round) : problem.weights(round));
  };

/** The problem's replicas in float32. */
export function replicasOf({
  gradient,
  direction,
  distil,
  evolve,
  remember,
  start,
  tensors = [vector(start.length)],
}: Problem): Replicas {
  const at = (rows: Rows, i: number) => Float64Array.from(rows.view(i));
  const move = (i: number, g: ArrayLike<number>, x: ArrayLike<number>, t: number) =>
    direction?.(i, Float64Array.from(g), Float64Array.from(x), t) ?? Float64Array.from(g);
  const descended = (x: ArrayLike<number>, d: Float64Array, rate: number) =>
    Float32Array.from(x, (v, c) => v - Math.fround(rate * d[c]!));
  const outcome = { loss: 0, accuracy: 0, gradientNorm: 0 };
  const differentiate = async (i: number, t: number, from: Rows, to: Rows) => {
    to.write(i, Float32Array.from(gradient(i, at(from, i), t)));
    return outcome;
  };
  return {
    load() {},
    async adapt(i: number, t: number, rate: number, from: Rows, to: Rows) {
      const x = at(from, i);
      to.write(i, descended(x, move(i, gradient(i, x, t), x, t), rate));
      return outcome;
    },
    gradient: differentiate,
    gradientAgain: differentiate,
    update: async (i: number, t: number, rate: number, x: Rows, g: PlacedRow) =>
      descended(at(x, i), move(i, at(g.rows, g.row), at(x, i), t), rate),
    async updateRow(i: number, t: number, rate: number, x: Rows, g: Rows, to: Rows) {
      to.write(i, descended(at(x, i), move(i, at(g, i), at(x, i), t), rate));
    },
    direction: async (i: number, t: number, _: number, x: Rows, g: PlacedRow) =>
      Float32Array.from(move(i, at(g.rows, g.row), at(x, i), t)),
    async distil(i: number, t: number, from: Rows, teacher: Rows, to: Rows) {
      to.write(i, Float32Array.from(distil!(i, at(from, i), at(teacher, i), t)));
    },
    async evolve(
      i: number,
      _: number,
      rate: number,
      taus: readonly number[],
      heard: readonly number[],
      from: Rows,
      to: Rows,
    ) {
      to.write(i, Float32Array.from(evolve!(heard, at(from, i), rate, taus)));
      return outcome;
    },
    remember: (i: number, from: Rows) => remember?.(i, at(from, i)),
    layout: tensors,
  } as unknown as Replicas;
}

/** The problem's compressor, which sees whole numbers of float32. */
export const compressorOf = ({ compress, start }: Problem): RowCompressor | undefined =>
  compress && {
    ...rowCompressor({ kind: 'none' }, [0, start.length]),
    encode: (values, message) => new Float32Array(message.buffer).set(compress(0, Float64Array.from(values), 0)),
  };

/** Carries out so many exchanges in pairs and returns the model of each replica; `each`: exchanges between which nothing waits for others. */
export async function executedInPairs(
  plan: Plan,
  problem: Problem,
  course: PairCourse,
  exchanges: number,
  each: number,
): Promise<readonly Float32Array[]> {
  const { n, start, rate } = problem;
  const transport = await openTransport(shareTransport(1, n, start.length, { matrices: matrixNames(plan) }), 0);
  try {
    const executor = new PairExecutor(transport, replicasOf(problem), new Clock(() => 0));
    const queue = new PairQueue(course);
    for (const rows of [executor.x, ...executor.begun])
      for (let i = 0; i < n; i++) rows.write(i, Float32Array.from(start));
    for (let done = 0; done < exchanges; done += each) await executor.step(queue.take(each), rate);
    return Array.from({ length: n }, (_, i) => executor.x.view(i).slice());
  } finally {
    transport.close();
  }
}

/** Carries out `steps` steps and returns the model of each replica. */
export async function executed(plan: Plan, problem: Problem, steps: number): Promise<readonly Float32Array[]> {
  const { n, start, rate } = problem;
  const transport = await openTransport(shareTransport(1, n, start.length, { matrices: matrixNames(plan) }), 0);
  try {
    const compressor = compressorOf(problem);
    const machine = { columns: start.length, clock: new Clock(() => 0), compressor, seed: 1, edges: problem.edges };
    const executor = new Executor(plan, transport, replicasOf(problem), machine);
    for (let t = 0; t < steps; t++) {
      const number = (name: string) => executor.numbers.of(name, 0);
      const when = { t, steps, eta: rate(t), etaBefore: rate(Math.max(0, t - 1)), number };
      await executor.step(stepOf(plan, when), {
        t,
        weights: weightsAt(problem, t),
        trains: (i) => problem.trains?.(i, t) ?? true,
        probe() {},
        signal() {},
        mixed() {},
      });
    }
    return Array.from({ length: n }, (_, i) => executor.places.of(plan.modelRow).view(i).slice());
  } finally {
    transport.close();
  }
}
