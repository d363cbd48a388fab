import { once } from 'node:events';
import { number } from '../base/format.ts';
import { requireMemory } from '../base/memory.ts';
import { startThread } from '../base/thread.ts';
import { allocateRows, Rows } from '../kernel/memory.ts';
import { buildTopology } from '../topology/topology.ts';
import { type Bench, whole } from './bench.ts';
import { Crew, type CrewData, tasksOf } from './mix-crew.ts';

export interface MixOptions {
  readonly n: number;
  readonly parameters: number;
  readonly workers: number;
  readonly repetitions: number;
}

type Kind = CrewData['topologies'][number];

const topologies: readonly Kind[] = [
  { kind: 'ring' },
  { kind: 'torus' },
  { kind: 'lattice', k: 4 },
  { kind: 'lattice', k: 16 },
  { kind: 'lattice', k: 64 },
  { kind: 'exponential' },
  { kind: 'complete' },
];

const nameOf = ({ kind, k }: Kind) => (k === undefined ? kind : `${kind} k=${k}`);

/** Values that are not constant and not denormal; a proper generator would take longer than the measurement. */
function fill(rows: Rows): void {
  for (let i = 0; i < rows.count; i++)
    for (const view of rows.views(i))
      for (let c = 0; c < view.length; c++) view[c] = ((i * 31 + c * 17) % 1009) / 1009 - 0.5;
}

/** Milliseconds of each task, best of all repetitions: other programs only ever add to it. */
async function measure(
  { n, parameters, workers, repetitions }: MixOptions,
  wanted: readonly Kind[] = topologies,
): Promise<{ name: string; ms: number; edges: number }[]> {
  requireMemory(2 * 4 * n * parameters, `${number(n)} replicas of ${number(parameters)} parameters`);
  const memory = allocateRows(parameters, { x: n, y: n });
  fill(new Rows(memory, 'x'));
  const fitting = wanted.filter(({ k = 0 }) => k < n);
  const data: CrewData = {
    memory,
    topologies: fitting,
    n,
    workers,
    repetitions,
    signal: new Int32Array(new SharedArrayBuffer(8)),
  };
  const others = Array.from({ length: workers - 1 }, (_, w) =>
    startThread('./mix-worker', import.meta.url, { workerData: { data, member: w + 1 } }),
  );
  // From here on this thread waits without giving way, so the others must be past everything they may need it for.
  await Promise.all(others.map((other) => once(other, 'message')));
  const crew = new Crew(data, 0);
  const best = tasksOf(data).map(() => Number.POSITIVE_INFINITY);
  crew.work((task, ms) => {
    best[task] = Math.min(best[task]!, ms);
  });
  await Promise.all(others.map((other) => once(other, 'exit')));
  return best.map((ms, task) => {
    if (task === 0) return { name: 'memcpy', ms, edges: 0 };
    const topology = fitting[task - 1]!;
    return { name: nameOf(topology), ms, edges: buildTopology(topology, n, 1).round(0).sources.flat().length };
  });
}

const usefulBytesOf = ({ n, parameters }: Pick<MixOptions, 'n' | 'parameters'>) => 2 * n * parameters * 4;

/** Bytes per second of a copy of all rows, what is read and what is written together. */
export async function copySpeed(n: number, parameters: number, workers: number): Promise<number> {
  const [copy] = await measure({ n, parameters, workers, repetitions: 20 }, []);
  return (1000 * usefulBytesOf({ n, parameters })) / copy!.ms;
}

/**
 * One mixing step against `Float32Array.set` of the same matrix in the same run. Useful bytes are counted, not those that a kernel
 * touches: every row is read once and written once.
 */
export const mixBench: Bench<MixOptions> = {
  options: [
    whole('-n, --n <replicas>', 'number of replicas', 256, 3, 100_000),
    whole('-P, --parameters <count>', 'parameters of each', 100_000, 1, 1e9),
    whole('--workers <count>', 'worker threads, of the memory copy too', 1, 1, 64),
    whole('--repetitions <count>', 'of each, in turn; the best counts', 20, 1, 10_000),
  ],
  async run(options) {
    const measured = await measure(options);
    const usefulBytes = usefulBytesOf(options);
    const [memcpy, ring] = [measured[0]!, measured[1]!];
    const rows = measured.map(({ name, ms, edges }) => ({
      name,
      ms,
      gigabytesPerSecond: usefulBytes / ms / 1e6,
      shareOfMemcpy: memcpy.ms / ms,
      edgesToRing: edges / ring.edges,
      timeToRing: ms / ring.ms,
    }));
    return {
      data: { ...options, usefulBytes, memcpy: rows[0], topologies: rows.slice(1) },
      title: `Mixing ${number(options.n)} replicas of ${number(options.parameters)} parameters, ${options.workers} thread${options.workers === 1 ? '' : 's'}`,
      headers: ['', 'ms', 'GB/s', 'of memcpy', 'edges / ring', 'time / ring'],
      rows: rows.map((row, task) => [
        row.name,
        row.ms.toFixed(1),
        row.gigabytesPerSecond.toFixed(1),
        row.shareOfMemcpy.toFixed(2),
        task === 0 ? '' : row.edgesToRing.toFixed(1),
        task === 0 ? '' : row.timeToRing.toFixed(1),
      ]),
      note: `best of ${options.repetitions}, interleaved · GB/s: every row read once and written once`,
    };
  },
};
