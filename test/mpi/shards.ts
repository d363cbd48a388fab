import { Kernel } from '../../src/kernel/kernel.ts';
import { allocateRows, Rows } from '../../src/kernel/memory.ts';
import { randomMatrix } from '../../src/kernel/reference.ts';
import { buildTopology } from '../../src/topology/topology.ts';
import { openMpi } from '../../src/transport/mpi/world.ts';
import { shareTransport } from '../../src/transport/shared.ts';
import { openTransport } from '../../src/transport/threads.ts';

/** Run by ranks under mpirun: mixes and averages rows that are cut into several memories, and compares with one process's kernel. */
const [replicas, columns, memoryBytes] = [13, 500, 20_000];
const world = await openMpi({ timeoutSeconds: 60 });
const shared = shareTransport(1, replicas, columns, { place: world.place!, memoryBytes });
if (shared.memory.shards.length < 3) throw new Error(`only ${shared.memory.shards.length} shards`);
const transport = await openTransport(shared, 0);
const x = randomMatrix(replicas, columns, 1);
const memory = allocateRows(columns, { x: replicas, y: replicas, mean: 1 });
const [input, output, mean] = ['x', 'y', 'mean'].map((name) => new Rows(memory, name)) as [Rows, Rows, Rows];
x.forEach((row, i) => {
  input.write(i, row);
});
const kernel = new Kernel(memory);

function compare(what: string, rows: Rows, i: number, expected: Rows, j: number): void {
  const [a, b] = [new Float32Array(columns), new Float32Array(columns)];
  rows.read(i, a);
  expected.read(j, b);
  if (!Buffer.from(a.buffer).equals(Buffer.from(b.buffer))) throw new Error(`${what}: row ${i} differs`);
}

const { first, last } = transport;
for (let i = first; i < last; i++) transport.rows('current').write(i, x[i]!);
for (const config of [{ kind: 'ring' }, { kind: 'exponential' }, { kind: 'star' }, { kind: 'complete' }]) {
  const mixing = buildTopology(config, replicas, 1).mixing(0);
  kernel.mix(mixing, input, output);
  transport.mix(mixing, transport.rows('current'), transport.rows('spare'));
  for (let i = first; i < last; i++) compare(config.kind, transport.rows('spare'), i, output, i);
}
kernel.mean(input, mean);
compare('mean', transport.mean(transport.rows('current')), 0, mean, 0);
// Neighbours within a rank and on two of them; 6 is left alone.
const pairs = [0, 1, 2, 3, 4, 5].map((i) => [12 - i, i] as const);
for (const [i, j] of pairs) kernel.meet(input, i, input, j);
transport.pair(pairs, transport.rows('current'));
for (let i = first; i < last; i++) compare('pairs', transport.rows('current'), i, input, i);
transport.close();
await world.close();
console.log('same');
