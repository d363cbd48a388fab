import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { planOf } from '../../src/algorithm/method.ts';
import { findMethod } from '../../src/algorithm/methods.ts';
import { interpret, type Matrix, type Problem } from '../../src/algorithm/reference.ts';
import { executed } from '../../src/contract/float32.ts';
import type { Mixing } from '../../src/topology/mixing.ts';
import { buildTopology } from '../../src/topology/topology.ts';
import { gradient, n, optimum, problem } from './oracle.ts';

const folder = mkdtempSync(join(tmpdir(), 'dbench-directed-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A one-way ring with shortcuts: out-degrees 1, 2 and 4, in-degrees that differ from them. */
const path = join(folder, 'edges.txt');
writeFileSync(
  path,
  `${n} directed\n${Array.from({ length: n }, (_, i) => `${i} ${(i + 1) % n}`).join('\n')}\n0 3\n0 5\n0 6\n4 2\n`,
);
const topology = buildTopology({ kind: 'file', path }, n, 1);

const dense = ({ start, source, weight }: Mixing): Matrix =>
  Array.from({ length: n }, (_, i) => {
    const row = new Array<number>(n).fill(0);
    for (let e = start[i]!; e < start[i + 1]!; e++) row[source[e]!] = weight[e]!;
    return row;
  });
const [W, A] = [dense(topology.mixing(0)), dense(topology.push(0))];

/** Gradients for the first steps, then averaging alone. */
const pushed: Problem = {
  ...problem,
  weights: () => W,
  columns: () => A,
  gradient: (i, x, t) => (t < 20 ? gradient(i, x) : new Float64Array(x.length)),
  compress: (_, v) => v.map((each) => Math.round(each * 64) / 64),
};
const sums = (rows: readonly ArrayLike<number>[]) =>
  Array.from({ length: 8 }, (_, c) => rows.reduce((total, row) => total + row[c]!, 0));

it('the file gives rows that sum to 1 for averaging, columns that sum to 1 for pushing', () => {
  expect(A.map((_, j) => A.reduce((sum, row) => sum + row[j]!, 0))).toEqual(A.map(() => expect.closeTo(1, 12)));
  expect(W.map((row) => row.reduce((sum, w) => sum + w, 0))).toEqual(W.map(() => expect.closeTo(1, 12)));
  expect(A.map((row) => row[0]).filter((w) => w !== 0)).toEqual([1 / 5, 1 / 5, 1 / 5, 1 / 5, 1 / 5]);
});

it.each(['sgp', 'quantized-push-sum'])('%s keeps the mass, and all models become its mean', async (name) => {
  const plan = planOf(findMethod(name));
  let mass: number[] | undefined;
  const last = interpret(plan, pushed, 600, (t, { rows, numbers }) => {
    expect(numbers.get('y')!.reduce((a, b) => a + b, 0)).toBeCloseTo(n, 10);
    if (t === 19) mass = sums(rows.get('x')!);
    if (t > 19) expect(sums(rows.get('x')!)).toEqual(mass!.map((value) => expect.closeTo(value, 10)));
  });
  // What is rounded to 64ths stays off by as much.
  const digits = name === 'sgp' ? 9 : 1;
  const found = await executed(plan, pushed, 600);
  for (const [i, z] of last.model.entries())
    z.forEach((value, c) => {
      expect(value).toBeCloseTo(mass![c]! / n, digits);
      expect(found[i]![c]).toBeCloseTo(value, name === 'sgp' ? 6 : 1);
    });
});

it('averaging by rows pulls the mean away there, pushing does not', () => {
  const offOf = (name: string) => {
    const { model } = interpret(planOf(findMethod(name)), { ...pushed, gradient, rate: (t) => 0.5 / (10 + t) }, 3000);
    return Math.hypot(...sums(model).map((value, c) => value / n - optimum[c]!));
  };
  const [pushing, averaging] = [offOf('sgp'), offOf('dpsgd')];
  expect(pushing).toBeLessThan(0.005);
  expect(averaging).toBeGreaterThan(10 * pushing);
});
