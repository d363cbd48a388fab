import { describe, expect, it } from 'vitest';
import { stepOf } from '../../src/algorithm/actions.ts';
import { type RowCompressor, rowCompressor } from '../../src/algorithm/compressors.ts';
import { planOf } from '../../src/algorithm/method.ts';
import { methods } from '../../src/algorithm/methods.ts';
import { matrixNames } from '../../src/algorithm/places.ts';
import { interpret, type Matrix, type Problem } from '../../src/algorithm/reference.ts';
import { Clock } from '../../src/engine/clock.ts';
import { Executor } from '../../src/engine/execute.ts';
import type { Replicas } from '../../src/engine/replicas.ts';
import type { Rows } from '../../src/kernel/memory.ts';
import type { Mixing } from '../../src/topology/mixing.ts';
import { shareTransport } from '../../src/transport/shared.ts';
import { openTransport } from '../../src/transport/threads.ts';
import { type Row, rows } from './methods.ts';
import { figures, n, problem } from './oracle.ts';

const named = (name: string) => methods.find((method) => method.name === name)!;
const told = [9, 99, 999];
const planIn = (row: Row, { edges }: Problem) =>
  planOf(named(row.method), row.settings, { replicas: n, sets: edges?.partners.length ?? 0 });

/** Holds the figures of all told steps against a row. */
function check(
  row: Row,
  found: readonly number[],
  first: ArrayLike<number>,
  tolerance: (figure: number) => number,
): void {
  found.forEach((value, k) => {
    const figure = row.figures[k];
    if (figure !== null && figure !== undefined)
      expect.soft(Math.abs(value - figure), `figure ${k}: ${value}, not ${figure}`).toBeLessThan(tolerance(k));
  });
  row.x0.forEach((value, k) => {
    expect.soft(Math.abs(first[k]! - value), `x[${k}]: ${first[k]}, not ${value}`).toBeLessThan(tolerance(0));
  });
}

describe('in float64, as separately written programs', () => {
  it.each(rows)('$title', (row) => {
    const found: number[] = [];
    let first: Float64Array | undefined;
    const given = { ...problem, ...row.problem?.() };
    interpret(planIn(row, given), given, 1000, (t, { model }) => {
      if (!told.includes(t)) return;
      const { off, spread } = figures(model);
      found.push(off, spread);
      first ??= model[0]!.slice(0, 3);
    });
    check(row, found, first!, () => 5e-9);
  });
});

const mixings = new WeakMap<Matrix, Mixing>();

/** A matrix as rows of its entries, as kernels take it; the same one for the same matrix. */
function mixingOf(matrix: Matrix): Mixing {
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

/** The problem's replicas in float32: exact gradients instead of a network's. */
function replicasOf({ gradient, direction, tensors }: Problem): Replicas {
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
    update: async (i: number, t: number, rate: number, x: Float32Array, g: Float32Array) =>
      descended(x, move(i, g, x, t), rate),
    direction: async (i: number, t: number, _: number, x: Float32Array, g: Float32Array) =>
      Float32Array.from(move(i, g, x, t)),
    layout: tensors,
  } as unknown as Replicas;
}

/** The problem's compressor, which sees whole numbers of float32. */
const compressorOf = ({ compress }: Problem): RowCompressor | undefined =>
  compress && {
    ...rowCompressor({ kind: 'none' }, [0, 8]),
    encode: (values, message) => new Float32Array(message.buffer).set(compress(0, Float64Array.from(values), 0)),
  };

describe('in float32, by the engine', () => {
  it.each(rows)('$title', async (row) => {
    const given = { ...problem, ...row.problem?.() };
    const plan = planIn(row, given);
    const transport = await openTransport(shareTransport(1, n, 8, { matrices: matrixNames(plan) }), 0);
    const executor = new Executor(plan, transport, replicasOf(given), {
      columns: 8,
      clock: new Clock(() => 0),
      compressor: compressorOf(given),
      seed: 1,
      edges: given.edges,
    });
    for (const [name, from] of Object.entries(plan.rows))
      if (from === 'random')
        for (let i = 0; i < n; i++) executor.places.of(name).write(i, Float32Array.from(given.random!));
    const found: number[] = [];
    let first: Float32Array | undefined;
    const steps = 1000;
    for (let t = 0; t < steps; t++) {
      const step = stepOf(plan, {
        t,
        last: t + 1 === steps,
        eta: given.rate(t),
        etaBefore: given.rate(Math.max(0, t - 1)),
      });
      const round = row.method === 'noloco' ? Math.floor(t / 4) : t;
      await executor.step(step, {
        t,
        weights: (by) =>
          typeof by === 'number'
            ? given.edges!.partners[by - 1]!
            : mixingOf(by === 'A' ? given.columns!(round) : given.weights(round)),
        probe() {},
        signal() {},
        mixed() {},
      });
      if (!told.includes(t)) continue;
      const model = Array.from({ length: n }, (_, i) => executor.places.of(plan.modelRow).view(i));
      const { off, spread } = figures(model.map((x) => Float64Array.from(x)));
      found.push(off, spread);
      first ??= model[0]!.slice(0, 3);
    }
    transport.close();
    check(row, found, first!, (k) => row.float32?.[k >> 1] ?? [1e-6, 1e-5, 2e-6][k >> 1]!);
  });
});
