import { expect, it } from 'vitest';
import { evaluate, type Formula, namesIn } from '../base/formula.ts';
import { Random } from '../base/random.ts';
import { RowFormula } from './formula.ts';
import { allocateRows, Rows } from './memory.ts';

const name = (name: string) => ({ name });
const op = (op: string, ...of: object[]) => ({ op, of }) as never;
const isRow = (name: string) => ['x', 'y', 'z'].includes(name);
const scalars: Readonly<Record<string, number>> = { eta: 0.05, beta: 0.9, t: 7 };

const formulas = {
  'x - eta*y': op('-', name('x'), op('*', name('eta'), name('y'))),
  'beta*x + (1 - beta)*y*y': op(
    '+',
    op('*', name('beta'), name('x')),
    op('*', op('*', op('-', { value: 1 }, name('beta')), name('y')), name('y')),
  ),
  'x/(sqrt(abs(y)) + beta^(t + 1))': op(
    '/',
    name('x'),
    op('+', op('sqrt', op('abs', name('y'))), op('^', name('beta'), op('+', name('t'), { value: 1 }))),
  ),
  'min(1, max(-x, z))': op('min', { value: 1 }, op('max', op('negative', name('x')), name('z'))),
  zero: { value: 0 },
};

/** The same formula one operation after the other, each rounded to float32. */
function rounded(formula: Formula, value: (name: string) => number): number {
  if (!('of' in formula) || !namesIn(formula).some(isRow)) return Math.fround(evaluate(formula, value));
  const parts = formula.of.map((part) => ({ value: rounded(part, value) }));
  return Math.fround(evaluate({ op: formula.op, of: parts }, value));
}

it.each(Object.entries(formulas))('%s, operation by operation in float32, over shards and in place', (_, formula) => {
  const columns = 150;
  const random = new Random(3, 'test');
  const memory = allocateRows(columns, { x: 3, y: 3, z: 3, out: 3 }, { memoryBytes: 12 * 4 * 96 });
  expect(memory.shards.length).toBeGreaterThan(1);
  const matrices = Object.fromEntries(
    ['x', 'y', 'z', 'out'].map((each) => [each, new Rows(memory, each, { first: 5 })]),
  );
  const values = Object.fromEntries(
    ['x', 'y', 'z'].map((each) => {
      const row = Float32Array.from({ length: columns }, () => random.normal());
      matrices[each]!.write(6, row);
      return [each, row];
    }),
  );
  const expected = Float32Array.from({ length: columns }, (_, c) =>
    rounded(formula, (each) => scalars[each] ?? values[each]![c]!),
  );
  const compiled = new RowFormula(formula, isRow);
  const result = new Float32Array(columns);
  compiled.run(matrices.out!, 6, matrices, (each) => scalars[each]!);
  matrices.out!.read(6, result);
  expect(result).toEqual(expected);
  compiled.run(matrices.x!, 6, matrices, (each) => scalars[each]!);
  matrices.x!.read(6, result);
  expect(result).toEqual(expected);
  matrices.out!.read(5, result);
  expect(result).toEqual(new Float32Array(columns));
});

it('powers of rows are refused', () => {
  expect(() => new RowFormula(op('^', name('x'), { value: 2 }), isRow)).toThrow('"^" cannot be applied to rows');
});
