import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Kernel, squaredConsensusDistance } from './kernel.ts';
import { allocateRows, Rows } from './memory.ts';
import { randomMatrix } from './reference.ts';

const shape = fc.record({
  columns: fc.integer({ min: 1, max: 400 }),
  n: fc.integer({ min: 1, max: 9 }),
  lines: fc.integer({ min: 1, max: 30 }),
});

function set({ columns, n, lines }: { columns: number; n: number; lines: number }) {
  const memory = allocateRows(columns, { x: n, mean: 1 }, { memoryBytes: (n + 1) * 64 * (lines + 1) });
  const x = randomMatrix(n, columns, columns);
  const rows = new Rows(memory, 'x');
  x.forEach((row, i) => {
    rows.write(i, row);
  });
  return { kernel: new Kernel(memory), x, rows, mean: new Rows(memory, 'mean') };
}

const sum = (values: Iterable<number>) => [...values].reduce((a, b) => a + b, 0);
const norm = (kernel: Kernel, rows: Rows, i: number) => {
  const out = new Float64Array(1);
  kernel.norms(rows, i, [0, rows.columns], out);
  return out[0]!;
};
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
        const distance = sum(Array.from(a, (v, c) => (v - b[c]!) ** 2));
        expect(relative(kernel.squaredDistance(rows, 0, rows, last), distance)).toBeLessThan(1e-13);
        const whole = set({ ...given, lines: 1000 });
        expect(norm(whole.kernel, whole.rows, last)).toBe(norm(kernel, rows, last));
        expect(whole.kernel.squaredDistance(whole.rows, 0, whole.rows, last)).toBe(
          kernel.squaredDistance(rows, 0, rows, last),
        );
      }),
    );
  });

  it('between two rows have the bits of the norm of a row that holds their difference', () => {
    fc.assert(
      fc.property(shape, (given) => {
        const { kernel, x, rows, mean } = set(given);
        const last = x.length - 1;
        mean.write(
          0,
          x[0]!.map((v, c) => v - x[last]![c]!),
        );
        expect(kernel.gap(rows, 0, last)).toBe(norm(kernel, mean, 0));
        expect(kernel.gap(rows, last, 0)).toBe(norm(kernel, mean, 0));
      }),
    );
  });

  it('keep what float32 would lose', () => {
    const memory = allocateRows(1_000_003, { x: 1 });
    const rows = new Rows(memory, 'x');
    rows.write(0, new Float32Array(1_000_003).fill(0.1));
    expect(relative(norm(new Kernel(memory), rows, 0), Math.sqrt(1_000_003) * Math.fround(0.1))).toBeLessThan(1e-11);
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
    fc.property(shape, (given) => {
      const { kernel, x, rows, mean } = set(given);
      kernel.mean(rows, mean);
      const distances = Float64Array.from(x, (_, i) => kernel.squaredDistance(rows, i, mean, 0));
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

it('copies one row', () => {
  fc.assert(
    fc.property(shape, (given) => {
      const { kernel, x, rows } = set({ ...given, n: 3 });
      kernel.copy(rows, 1, rows, 0);
      expect([0, 1, 2].map((i) => get(rows, i))).toEqual([x[0], x[0], x[2]]);
    }),
  );
});

it('two rows take their mean', () => {
  fc.assert(
    fc.property(shape, (given) => {
      const { kernel, x, rows } = set({ ...given, n: 3 });
      kernel.meet(rows, 2, rows, 0);
      const mean = x[0]!.map((v, c) => Math.fround(v + x[2]![c]!) / 2);
      expect([0, 1, 2].map((i) => get(rows, i))).toEqual([mean, x[1], mean]);
    }),
    { numRuns: 20 },
  );
});

it('refuses columns and rows that are not there', () => {
  const { kernel, rows } = set({ columns: 10, n: 2, lines: 4 });
  expect(() => kernel.norms(rows, 0, [0, 11], new Float64Array(1))).toThrow('rows with 10');
  expect(() => norm(kernel, rows, 2)).toThrow('rows 0 to 1');
});

it('kernels keep their sums in pages of their own', () => {
  const memory = allocateRows(10, { x: 1 });
  const rows = new Rows(memory, 'x');
  rows.write(0, new Float32Array(10).fill(2));
  const [first, second] = [new Kernel(memory), new Kernel(memory)];
  norm(first, rows, 0);
  norm(second, rows, 0);
  // Lanes 0 and 1 took two columns each, the others one: once a kernel, wherever they are.
  const places = Array.from(new Float64Array(memory.memories[0]!.buffer).entries()).filter(([, value]) => value === 8);
  expect(places.map(([at]) => Math.floor((8 * at) / 65536))).toEqual([1, 1, 2, 2]);
});
