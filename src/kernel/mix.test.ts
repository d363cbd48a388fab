import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Mixing } from '../topology/mixing.ts';
import { buildTopology } from '../topology/topology.ts';
import { partialBlocks } from './blocks.ts';
import { columnShare, Kernel } from './kernel.ts';
import { allocateRows, Rows } from './memory.ts';
import { meanProgram, mixingProgram, sumProgram } from './program.ts';
import { canonicalAverage, exactRow, randomMatrix } from './reference.ts';

const single = (replica: number) => ({ first: replica, size: 1 });

function set(x: readonly Float32Array[], matrices: Record<string, number> = {}, memoryBytes?: number) {
  const columns = x[0]!.length;
  const memory = allocateRows(
    columns,
    { x: x.length, y: x.length, ...matrices },
    memoryBytes === undefined ? {} : { memoryBytes },
  );
  const rows = (name: string) => new Rows(memory, name);
  const [input, output] = [rows('x'), rows('y')];
  x.forEach((row, i) => {
    input.write(i, row);
  });
  return { memory, kernel: new Kernel(memory), input, output, rows };
}

function read(rows: Rows, first = 0, end = rows.count): Float32Array[] {
  return Array.from({ length: end - first }, (_, i) => {
    const out = new Float32Array(rows.columns);
    rows.read(first + i, out);
    return out;
  });
}

const bits = (rows: readonly Float32Array[]) =>
  rows.map((row) => Buffer.from(row.buffer, row.byteOffset, row.byteLength).toString('hex'));

function mixed(mixing: Mixing, x: readonly Float32Array[], memoryBytes?: number): Float32Array[] {
  const { kernel, input, output } = set(x, {}, memoryBytes);
  kernel.mix(mixing, input, output);
  return read(output);
}

/** Random sparse W with random weights; rows sum to 1, some are plain averages. */
const anyMixing = fc
  .tuple(fc.integer({ min: 1, max: 40 }), fc.nat(1e6), fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([n, seed, density]): Mixing => {
    const draw = randomMatrix(n, n, seed);
    const rows = draw.map((row, i) =>
      Array.from(row, (_, j) => j).filter((j) => j === i || Math.abs(row[j]!) < 2 * density),
    );
    const start = Int32Array.from([0, ...rows.map((_, i) => rows.slice(0, i + 1).flat().length)]);
    const weight = Float64Array.from(
      rows.flatMap((row, i) => {
        const raw = row.map((j) => (i % 3 === 0 ? 1 : Math.abs(draw[j]![i]!) + 0.1));
        const sum = raw.reduce((a, b) => a + b);
        return raw.map((w) => w / sum);
      }),
    );
    return { n, start, source: Int32Array.from(rows.flat()), weight };
  });

const kinds: { kind: string; k?: number; weights?: string }[] = [
  { kind: 'ring' },
  { kind: 'torus' },
  { kind: 'lattice', k: 4 },
  { kind: 'lattice', k: 16 },
  { kind: 'lattice', k: 33 },
  { kind: 'exponential' },
  { kind: 'hypercube' },
  { kind: 'star' },
  { kind: 'complete' },
  { kind: 'random-regular', k: 5 },
  { kind: 'erdos-renyi' },
  { kind: 'torus', weights: 'lazy' },
];
const mixingOf = (given: { kind: string }, n: number) => buildTopology(given, n, 1).mixing(0);

/** A stated factor of the rounding of float32 sums, so that a wrong weight or row cannot hide in it. */
function expectNear(got: readonly Float32Array[], mixing: Mixing, x: readonly Float32Array[]): void {
  let worst = 0;
  for (let i = 0; i < mixing.n; i++) {
    const { sum, scale } = exactRow(mixing, x, i);
    const terms = mixing.start[i + 1]! - mixing.start[i]!;
    for (let c = 0; c < sum.length; c++)
      worst = Math.max(worst, Math.abs(got[i]![c]! - sum[c]!) / (scale[c]! * 2 ** -24 * (terms + 2) + 1e-40));
  }
  expect(worst).toBeLessThan(1);
}

describe('one row at a time', () => {
  const cases = [
    { kind: 'ring' },
    { kind: 'torus' },
    { kind: 'one-peer-exponential' },
    { kind: 'lattice', k: 4 },
    { kind: 'star', weights: 'metropolis' },
  ];
  it.each(cases)('has the bits of all rows together: $kind', (topology) => {
    const n = topology.kind === 'star' ? 6 : 16;
    const x = randomMatrix(n, 77, 5);
    for (const memoryBytes of [undefined, 3000 * n]) {
      const { kernel, input, output, rows } = set(x, { one: 2 }, memoryBytes);
      for (const round of [0, 1]) {
        const mixing = buildTopology(topology, n, 1).mixing(round);
        kernel.mix(mixing, input, output);
        const each = x.map((_, i) => {
          kernel.mixRow(mixing, i, input, rows('one'), 1);
          return read(rows('one'), 1)[0]!;
        });
        expect(bits(each)).toEqual(bits(read(output)));
      }
    }
  });

  it('refuses rows that are made of sums of blocks', () => {
    const { kernel, input, rows } = set(randomMatrix(16, 5, 1), { one: 1 });
    const mixing = buildTopology({ kind: 'complete' }, 16, 1).mixing(0);
    expect(() => kernel.mixRow(mixing, 0, input, rows('one'), 0)).toThrow(/sums of blocks/);
  });
});

describe('mix', () => {
  it('is W x for any sparse W, any number of columns, any cut into shards', () => {
    fc.assert(
      fc.property(
        anyMixing,
        fc.integer({ min: 1, max: 150 }),
        fc.integer({ min: 1, max: 8 }),
        (mixing, columns, lines) => {
          const x = randomMatrix(mixing.n, columns, columns);
          const whole = mixed(mixing, x);
          expectNear(whole, mixing, x);
          expect(bits(mixed(mixing, x, 2 * mixing.n * 64 * (lines + 1)))).toEqual(bits(whole));
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each(kinds)('is W x, by the documented order, for $kind k=$k weights=$weights', (given) => {
    const mixing = mixingOf(given, 64);
    const x = randomMatrix(64, 1037, 3);
    const out = mixed(mixing, x);
    expectNear(out, mixing, x);
    for (const i of [0, 1, 31, 63]) {
      const sources = mixing.source.subarray(mixing.start[i], mixing.start[i + 1]);
      const weights = mixing.weight.subarray(mixing.start[i], mixing.start[i + 1]);
      if (weights.every((weight) => weight === weights[0]))
        expect(bits([out[i]!])).toEqual(bits([canonicalAverage(sources, x)]));
    }
  });

  it.each(kinds)('gives the same bits however $kind k=$k is divided by rows and columns', (given) => {
    const mixing = mixingOf(given, 64);
    const x = randomMatrix(64, 333, 5);
    const whole = bits(mixed(mixing, x));
    for (const workers of [2, 3, 7]) {
      const { kernel, input, output } = set(x);
      for (let w = 0; w < workers; w++)
        kernel.run(
          mixingProgram(mixing, { rows: [Math.floor((64 * w) / workers), Math.floor((64 * (w + 1)) / workers)] }),
          input,
          output,
        );
      expect(bits(read(output))).toEqual(whole);
      const byColumns = set(x);
      for (let w = 0; w < workers; w++)
        byColumns.kernel.mix(mixing, byColumns.input, byColumns.output, columnShare(333, w, workers));
      expect(bits(read(byColumns.output))).toEqual(whole);
    }
  });

  it('repeats a row that stands at the end of shifted ones', () => {
    // Everybody keeps its own row, but 6 takes that of 5 and 7 that of 8.
    const source = Int32Array.from([0, 1, 2, 3, 4, 5, 5, 8, 8, 9]);
    const start = Int32Array.from({ length: 11 }, (_, i) => i);
    const W: Mixing = { n: 10, start, source, weight: new Float64Array(10).fill(1) };
    const x = Array.from({ length: 10 }, (_, i) => new Float32Array(20).fill(i));
    expect(mixed(W, x).map((row) => row[19])).toEqual([...source]);
  });

  it('keeps the scratch memory of kernels on the same rows apart', () => {
    const x = randomMatrix(64, 300, 9);
    const [lattice, complete] = [mixingOf({ kind: 'lattice', k: 30 } as never, 64), mixingOf({ kind: 'complete' }, 64)];
    const { memory, kernel, input, output, rows } = set(x, { other: 64 });
    const second = new Kernel(memory);
    // Loaded once, programs stay where they are: the second must not have written over the first.
    kernel.mix(lattice, input, output);
    second.mix(complete, input, rows('other'));
    kernel.mix(lattice, input, output);
    second.mix(complete, input, rows('other'));
    expect(bits(read(output))).toEqual(bits(mixed(lattice, x)));
    expect(bits(read(rows('other')))).toEqual(bits(mixed(complete, x)));
  });

  it('writes no row and no column outside its share', () => {
    const x = randomMatrix(16, 100, 7);
    const { kernel, input, output } = set(x);
    const lattice = mixingOf({ kind: 'lattice', k: 8 } as never, 16);
    kernel.run(mixingProgram(lattice, { rows: [5, 9] }), input, output, [16, 48]);
    const touched = read(output).map((row) => Array.from(row, (value) => value !== 0));
    expect(touched).toEqual(touched.map((row, i) => row.map((_, c) => i >= 5 && i < 9 && c >= 16 && c < 48)));
  });

  it.each([2, 3, 5, 8, 13, 16, 100])(
    'lattice with k ≥ n−1 is complete, with k = 2 a ring, bit for bit (n = %i)',
    (n) => {
      const x = randomMatrix(n, 77, n);
      const lattice = (k: number) => bits(mixed(mixingOf({ kind: 'lattice', k } as never, n), x));
      const complete = bits(mixed(mixingOf({ kind: 'complete' }, n), x));
      expect(lattice(n - 1)).toEqual(complete);
      if (n > 2) expect(lattice(2)).toEqual(bits(mixed(mixingOf({ kind: 'ring' }, n), x)));
      if (n > 3) expect(lattice(2)).not.toEqual(complete);
      // The same W by another rule: 1 − Σ of the others may differ from 1/n in its last bit.
      expect(bits(mixed(mixingOf({ kind: 'complete', weights: 'metropolis' } as never, n), x))).toEqual(complete);
    },
  );

  it('does not pull replicas that agree away from their value', () => {
    const row = randomMatrix(1, 1000, 1)[0]!;
    for (const kind of ['ring', 'torus', 'exponential', 'complete', 'star']) {
      const { kernel, input, output } = set(Array.from({ length: 12 }, () => row));
      const mixing = mixingOf({ kind }, 12);
      for (let step = 0; step < 300; step++)
        kernel.mix(mixing, ...(step % 2 === 0 ? ([input, output] as const) : ([output, input] as const)));
      const [got] = read(input, 3, 4);
      // One float32 factor 1/3 alone would grow by 3e-8 a step, all in the same direction.
      const drift = got!.reduce((sum, value, c) => sum + value / row[c]! - 1, 0) / row.length;
      expect(Math.abs(drift)).toBeLessThan(1e-6);
    }
  });

  it('refuses rows of another size, another memory, itself as output, and crooked columns', () => {
    const x = randomMatrix(8, 20, 1);
    const { kernel, input, output, rows } = set(x, { few: 3 });
    const ring = mixingOf({ kind: 'ring' }, 8);
    expect(() => kernel.mix(ring, rows('few'), output)).toThrow('"few" has 3');
    expect(() => kernel.mix(ring, input, input)).toThrow('in place');
    expect(() => kernel.mix(ring, input, set(x).output)).toThrow('another memory');
    expect(() => kernel.mix(ring, input, output, [3, 20])).toThrow('multiples of 16');
    kernel.mix(mixingOf({ kind: 'complete' }, 8), input, input);
    expect(bits(read(input))).toEqual(bits(mixed(mixingOf({ kind: 'complete' }, 8), x)));
  });
});

describe('mean', () => {
  it('is accurate, and a row of the complete topology', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 90 }), (n, columns) => {
        const x = randomMatrix(n, columns, n);
        const { kernel, input, rows } = set(x, { mean: 1 });
        kernel.mean(input, rows('mean'));
        const got = read(rows('mean'));
        expect(bits(got)).toEqual(bits([mixed(mixingOf({ kind: 'complete' }, n), x)[n - 1]!]));
        const worst = Array.from(got[0]!, (value, c) => Math.abs(value - x.reduce((sum, row) => sum + row[c]!, 0) / n));
        expect(Math.max(...worst)).toBeLessThan(1e-6);
      }),
      { numRuns: 40 },
    );
  });

  it('has the same bits from partial sums of any ranks', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.array(fc.nat(60), { maxLength: 4 }), (n, cuts) => {
        const x = randomMatrix(n, 33, n);
        const bounds = [0, ...cuts.filter((cut) => cut < n).sort((a, b) => a - b), n];
        const parts = bounds.slice(1).map((end, r) => partialBlocks(n, bounds[r]!, end));
        const sums: Float32Array[] = [];
        parts.forEach((blocks, r) => {
          if (blocks.length === 0) return;
          const own = x.slice(bounds[r], bounds[r + 1]);
          const rank = set(own, { sums: blocks.length });
          const held = own.map((_, i) => single(bounds[r]! + i));
          rank.kernel.run(sumProgram(blocks, held), rank.input, rank.rows('sums'));
          sums.push(...read(rank.rows('sums')));
        });
        const root = set(sums, { mean: 1 });
        root.kernel.run(meanProgram(n, parts.flat()), root.input, root.rows('mean'));
        expect(bits(read(root.rows('mean')))).toEqual(bits([canonicalAverage(Array.from(x.keys()), x)]));
      }),
      { numRuns: 40 },
    );
  });
});

it('mixes rows that a rank keeps in any order, and says which one is missing', () => {
  const mixing = mixingOf({ kind: 'lattice', k: 6 } as never, 12);
  const x = randomMatrix(12, 50, 2);
  // Rows 4 and 5 need replicas 1 … 8: own rows first, then what was received.
  const order = [4, 5, 1, 2, 3, 8, 7, 6];
  const rank = set(
    order.map((replica) => x[replica]!),
    { out: 12 },
  );
  const program = mixingProgram(mixing, { rows: [4, 6], held: order.map(single) });
  rank.kernel.run(program, rank.input, rank.rows('out'));
  expect(bits(read(rank.rows('out'), 4, 6))).toEqual(bits(mixed(mixing, x).slice(4, 6)));
  expect(() => mixingProgram(mixing, { rows: [4, 6], held: order.slice(1).map(single) })).toThrow('replica 4');
});

it('rows that copy others: shifted from one to the next, and repeated', () => {
  const x = randomMatrix(8, 40, 3);
  const { kernel, input, output } = set(x);
  fc.assert(
    fc.property(fc.array(fc.nat(7), { minLength: 8, maxLength: 8 }), (sources) => {
      const start = Int32Array.from({ length: 9 }, (_, i) => i);
      const mixing = { n: 8, start, source: Int32Array.from(sources), weight: new Float64Array(8).fill(1) };
      kernel.mix(mixing, input, output);
      expect(bits(read(output))).toEqual(bits(sources.map((j) => x[j]!)));
    }),
    { numRuns: 300, examples: [[[7, 5, 6, 6, 7, 5, 6, 7]]] },
  );
});
