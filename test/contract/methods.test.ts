import { describe, expect, it } from 'vitest';
import { stepOf } from '../../src/algorithm/actions.ts';
import { planOf } from '../../src/algorithm/method.ts';
import { methods } from '../../src/algorithm/methods.ts';
import { matrixNames } from '../../src/algorithm/places.ts';
import { interpret, type Problem } from '../../src/algorithm/reference.ts';
import { compressorOf, replicasOf, weightsAt } from '../../src/contract/float32.ts';
import { Clock } from '../../src/engine/clock.ts';
import { Executor } from '../../src/engine/execute.ts';
import { shareTransport } from '../../src/transport/shared.ts';
import { openTransport } from '../../src/transport/threads.ts';
import { firstStep } from './first-step.ts';
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

/** Holds the figures of the first step against a row. */
function checkFirst({ title }: Row, model: readonly Float64Array[], tolerance: number): void {
  const expected = firstStep[title];
  if (expected === undefined) return;
  const { off, spread } = figures(model);
  expect.soft(Math.abs(off - expected[0]), `first step: ${off}, not ${expected[0]}`).toBeLessThan(tolerance);
  expect.soft(Math.abs(spread - expected[1]), `first step: ${spread}, not ${expected[1]}`).toBeLessThan(tolerance);
}

it('first steps are those of rows that there are', () => {
  const titles = rows.map(({ title }) => title);
  expect(Object.keys(firstStep).filter((title) => !titles.includes(title))).toEqual([]);
});

describe('in float64, as separately written programs', () => {
  it.each(rows)('$title', (row) => {
    const found: number[] = [];
    let first: Float64Array | undefined;
    const given = { ...problem, ...row.problem?.() };
    interpret(planIn(row, given), given, 1000, (t, { model }) => {
      if (t === 0) checkFirst(row, model, 5e-9);
      if (!told.includes(t)) return;
      const { off, spread } = figures(model);
      found.push(off, spread);
      first ??= model[0]!.slice(0, 3);
    });
    check(row, found, first!, () => 5e-9);
  });
});

describe('in float32, by the engine', () => {
  /** What is found in the told steps, and the first parameters at the first of them. */
  const byEngine = async (row: Row, steps: number, told: readonly number[]) => {
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
    let first: Float64Array | undefined;
    for (let t = 0; t < steps; t++) {
      const step = stepOf(plan, {
        t,
        steps,
        eta: given.rate(t),
        etaBefore: given.rate(Math.max(0, t - 1)),
        number: (name) => executor.numbers.of(name, 0),
      });
      const round = row.method === 'noloco' ? Math.floor(t / 4) : t;
      await executor.step(step, {
        t,
        weights: weightsAt(given, round),
        trains: (i) => given.trains?.(i, round) ?? true,
        probe() {},
        signal() {},
        mixed() {},
      });
      if (t > 0 && !told.includes(t)) continue;
      const model = Array.from({ length: n }, (_, i) => Float64Array.from(executor.places.of(plan.modelRow).view(i)));
      if (t === 0) checkFirst(row, model, 1e-6);
      if (!told.includes(t)) continue;
      const { off, spread } = figures(model);
      found.push(off, spread);
      first ??= model[0]!.slice(0, 3);
    }
    transport.close();
    return { found, first: first! };
  };

  it.each(rows)('$title', async (row) => {
    const { found: values, first } = await byEngine(row, 1000, told);
    check(row, values, first, (k) => row.float32?.[k >> 1] ?? [1e-6, 1e-5, 2e-6][k >> 1]!);
  });

  // Where weights that are rounded to float32 are added up, the mean would be off by 1e-4 after 1000 steps and by .01 after 100,000.
  const many = Number(process.env.DBENCH_DRIFT_STEPS ?? 10_000);
  it.each(rows.filter(({ method }) => ['d2', 'exact-diffusion', 'extra', 'lead'].includes(method)))(
    '$title does not drift',
    async (row) => {
      const { found: values } = await byEngine(row, many, [many - 1]);
      expect(Math.max(...values)).toBeLessThan(1e-5);
    },
  );
});
