import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Kernel, squaredConsensusDistance } from './kernel.ts';
import { allocateRows, Rows } from './memory.ts';
import { randomMatrix } from './reference.ts';

const shape = fc.record({
  columns: fc.integer({ min: 1, max: 400 }),
  n: fc.integer({ min: 1, max: 9 }),
  shared: fc.boolean(),
  lines: fc.integer({ min: 1, max: 30 }),
});

function set({ columns, n, shared, lines }: { columns: number; n: number; shared: boolean; lines: number }) {
  const memory = allocateRows(columns, { x: n, mean: 1 }, { shared, memoryBytes: (n + 1) * 64 * (lines + 1) });
  const x = randomMatrix(n, columns, columns);
  const rows = new Rows(memory, 'x');
  x.forEach((row, i) => {
    rows.write(i, row);
  });
  return { kernel: new Kernel(memory), x, rows, mean: new Rows(memory, 'mean') };
}

const sum = (values: Iterable<number>) => [...values].reduce((a, b) => a + b, 0);
const relative = (got: number, wanted: number) => Math.abs(got - wanted) / (Math.abs(wanted) || 1);
const get = (rows: Rows, i: number) => {
  const out = new Float32Array(rows.columns);
  rows.read(i, out);
  return out;
};

describe('sums over a row', () => {
  it('are exact to float64, whatever the shards', () => {
    fc.assert(
      fc.property(shape, (given) => {
        const { kernel, x, rows } = set(given);
        const [a, b] = [x[0]!, x.at(-1)!];
        const last = x.length - 1;
        expect(relative(kernel.squaredNorm(rows, 0), sum(Array.from(a, (v) => v * v)))).toBeLessThan(1e-13);
        const dot = sum(Array.from(a, (v, c) => v * b[c]!));
        expect(Math.abs(kernel.dot(rows, 0, rows, last) - dot)).toBeLessThan(1e-11);
        const distance = sum(Array.from(a, (v, c) => (v - b[c]!) ** 2));
        expect(relative(kernel.squaredDistance(rows, 0, rows, last), distance)).toBeLessThan(1e-13);
        const whole = set({ ...given, lines: 1000 });
        expect(whole.kernel.squaredNorm(whole.rows, last)).toBe(kernel.squaredNorm(rows, last));
        expect(whole.kernel.squaredDistance(whole.rows, 0, whole.rows, last)).toBe(
          kernel.squaredDistance(rows, 0, rows, last),
        );
      }),
    );
  });

  it('keep what float32 would lose', () => {
    const memory = allocateRows(1_000_003, { x: 1 });
    const rows = new Rows(memory, 'x');
    rows.write(0, new Float32Array(1_000_003).fill(0.1));
    expect(relative(new Kernel(memory).squaredNorm(rows, 0), 1_000_003 * Math.fround(0.1) ** 2)).toBeLessThan(1e-11);
  });

  it('give the norm of every tensor', () => {
    fc.assert(
      fc.property(shape, fc.array(fc.nat(400), { maxLength: 8 }), (given, cuts) => {
        const { kernel, x, rows } = set(given);
        const offsets = [0, ...cuts.filter((cut) => cut <= given.columns).sort((a, b) => a - b), given.columns];
        const norms = new Float64Array(offsets.length - 1);
        kernel.norms(rows, 0, offsets, norms);
        const wanted = Array.from(norms, (_, t) => Math.hypot(...x[0]!.subarray(offsets[t], offsets[t + 1])));
        expect(Math.max(...wanted.map((norm, t) => relative(norms[t]!, norm)))).toBeLessThan(1e-12);
      }),
    );
  });
});

it('consensus distance: Ξ² = (1/n) Σ‖x̄ − x_i‖²', () => {
  fc.assert(
    fc.property(shape, ({ lines, ...given }) => {
      const { kernel, x, rows, mean } = set({ ...given, shared: true, lines });
      kernel.mean(rows, mean);
      const distances = new Float64Array(x.length);
      kernel.squaredDistances(rows, mean, distances);
      const exact = sum(
        Array.from({ length: given.columns }, (_, c) => {
          const average = sum(x.map((row) => row[c]!)) / x.length;
          return sum(x.map((row) => (row[c]! - average) ** 2)) / x.length;
        }),
      );
      expect(Math.abs(squaredConsensusDistance(distances) - exact)).toBeLessThan(1e-6 * exact + 1e-12);
    }),
  );
});

it('copy, scale and axpy act on one row', () => {
  fc.assert(
    fc.property(shape, fc.float({ min: -2, max: 2, noNaN: true }), (given, factor) => {
      const { kernel, x, rows } = set({ ...given, n: 4 });
      kernel.scale(rows, 1, factor);
      kernel.axpy(rows, 2, factor, rows, 0);
      kernel.copy(rows, 3, rows, 0);
      expect(get(rows, 0)).toEqual(x[0]);
      expect(get(rows, 1)).toEqual(x[1]!.map((v) => v * factor));
      expect(get(rows, 2)).toEqual(x[2]!.map((v, c) => v + Math.fround(factor * x[0]![c]!)));
      expect(get(rows, 3)).toEqual(x[0]);
    }),
  );
});

it('refuses columns and rows that are not there', () => {
  const { kernel, rows } = set({ columns: 10, n: 2, shared: true, lines: 4 });
  expect(() => kernel.norms(rows, 0, [0, 11], new Float64Array(1))).toThrow('rows with 10');
  expect(() => kernel.squaredNorm(rows, 2)).toThrow('rows 0 to 1');
});

it('kernels on shared memory keep their sums in pages of their own', () => {
  const memory = allocateRows(10, { x: 1 });
  const rows = new Rows(memory, 'x');
  rows.write(0, new Float32Array(10).fill(2));
  const [first, second] = [new Kernel(memory), new Kernel(memory)];
  first.squaredNorm(rows, 0);
  second.squaredNorm(rows, 0);
  // Lanes 0 and 1 took two columns each, the others one: once a kernel, wherever they are.
  const places = Array.from(new Float64Array(memory.memories[0]!.buffer).entries()).filter(([, value]) => value === 8);
  expect(places.map(([at]) => Math.floor((8 * at) / 65536))).toEqual([2, 2, 3, 3]);
});
