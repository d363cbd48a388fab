import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allocateRows, Rows } from './memory.ts';
import { randomMatrix } from './reference.ts';

describe('rows', () => {
  it('come back as they were written, in any number of shards, without touching others', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 12 }), (columns, lines) => {
        const memory = allocateRows(columns, { a: 3, b: 2 }, { memoryBytes: 5 * 64 * (lines + 1) });
        const matrices = [new Rows(memory, 'a'), new Rows(memory, 'b')] as const;
        const values = randomMatrix(5, columns, 1);
        const places = [0, 1, 2]
          .map((i) => [matrices[0], i] as const)
          .concat([0, 1].map((i) => [matrices[1], i] as const));
        places.forEach(([rows, i], v) => {
          rows.write(i, values[v]!);
        });
        const out = new Float32Array(columns);
        places.forEach(([rows, i], v) => {
          rows.read(i, out);
          expect(out).toEqual(values[v]);
        });
        expect(memory.shards.length).toBe(memory.memories.length);
        if (columns > 16 * lines) expect(memory.shards.length).toBeGreaterThan(1);
      }),
    );
  });

  it('begin on cache lines, an odd number of them apart', () => {
    const { shards } = allocateRows(1024, { a: 3 });
    expect((shards[0]!.strideBytes / 64) % 2).toBe(1);
    expect(shards[0]!.offset.a! % 64).toBe(0);
  });

  it('are in place where they are in one piece', () => {
    const rows = new Rows(allocateRows(100, { a: 2 }), 'a');
    rows.view(1)[99] = 5;
    const out = new Float32Array(100);
    rows.read(1, out);
    expect(out[99]).toBe(5);
    expect(() => new Rows(allocateRows(100, { a: 2 }, { memoryBytes: 512 }), 'a').view(0)).toThrow('shards');
  });

  it('of more than 4 GB are spread over several memories', () => {
    // Never written, so the system gives no real memory for it.
    const memory = allocateRows(272_474, { x: 1008, y: 1008, z: 1008, velocity: 1008 });
    expect(memory.shards.length).toBe(2);
    expect(memory.shards.reduce((at, { first, end }) => (first === at ? end : Number.NaN), 0)).toBe(272_474);
    const rows = new Rows(memory, 'velocity');
    const values = new Float32Array(272_474).fill(3);
    rows.write(1007, values);
    const out = new Float32Array(272_474);
    rows.read(1007, out);
    expect(out.every((value) => value === 3)).toBe(true);
  });

  it('are the same rows in a worker', async () => {
    const memory = allocateRows(40, { a: 2 }, { memoryBytes: 2 * 64 * 3 });
    const code = `const { parentPort, workerData: { memories, shards } } = require('node:worker_threads');
      shards.forEach((shard, s) => new Float32Array(memories[s].buffer, shard.offset.a + shard.strideBytes, 1).fill(s + 1));`;
    const worker = new Worker(code, { eval: true, workerData: memory });
    await new Promise((resolve) => worker.on('exit', resolve));
    const out = new Float32Array(40);
    new Rows(memory, 'a').read(1, out);
    expect(memory.shards.map(({ first }) => out[first])).toEqual(memory.shards.map((_, s) => s + 1));
  });

  it('go round if there is one for every number', () => {
    const memory = allocateRows(4, { a: 3 });
    const rows = new Rows(memory, 'a', { first: 2, wraps: true });
    for (const i of [0, 1, 2]) rows.write(i, new Float32Array(4).fill(i));
    expect([0, 1, 2].map((place) => new Rows(memory, 'a').view(place)[0])).toEqual([2, 0, 1]);
    expect(() => rows.view(5)).toThrow('asked for 5');
  });

  it('refuse wrong names, indices and lengths', () => {
    const memory = allocateRows(10, { a: 2 });
    expect(() => new Rows(memory, 'b')).toThrow('there are: a');
    expect(() => new Rows(memory, 'a').write(2, new Float32Array(10))).toThrow('rows 0 to 1');
    expect(() => new Rows(memory, 'a').write(0, new Float32Array(9))).toThrow('10 values');
    expect(() => allocateRows(0, { a: 1 })).toThrow('at least one');
    expect(() => allocateRows(10, { a: 100 }, { memoryBytes: 100 })).toThrow('do not fit');
  });
});
