import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { small } from '../engine/runs.ts';
import { dbench, type LibraryName, mpirun, needing, needingMpi, run, shasOf } from './launch.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-mpi-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What threads give, computed once. */
const onThreads = new Map<string, ReturnType<typeof dbench>>();
function endedOnThreads(args: readonly string[]): ReturnType<typeof dbench> {
  const key = args.join(' ');
  if (!onThreads.has(key)) onThreads.set(key, dbench(args, folder));
  return onThreads.get(key)!;
}
const threadsOf = async (args: readonly string[]) => shasOf(await endedOnThreads(args));

/** The quickstart, four steps long: two epochs, so that Ada changes its neighbours. */
const quickstart = [
  'compare',
  '--set',
  'epochs=2',
  '--set',
  'data.train=1024',
  '--set',
  'evaluation.samples=100',
  '--json',
];

describe('the quickstart gives the bits of threads', () => {
  // Even and uneven divisions of 64 replicas, with and without threads and overlap; the variants below have the rest.
  const cases: [LibraryName, number, string[]][] = [
    ['openmpi', 1, []],
    ['openmpi', 5, []],
    ['openmpi', 2, ['--workers', '3', '--overlap']],
    ['mpich', 3, ['--workers', '2']],
    ['mpich', 4, ['--overlap']],
  ];
  for (const [library, ranks, options] of cases)
    needingMpi(library)(`${ranks} ranks of ${library} ${options.join(' ')}`, async () => {
      const found = await dbench([...quickstart, ...options], folder, mpirun(library, ranks));
      const expected = await threadsOf(quickstart);
      expect(Object.keys(expected)).toHaveLength(6);
      expect(shasOf(found)).toEqual(expected);
    });
});

/** What the quickstart has not: topologies that change, weights that differ, consensus control, state, uneven blocks of replicas, virtual time. */
const variants = {
  ...small,
  replicas: 13,
  epochs: 2,
  network: 'aws',
  devices: { compute: '5ms', noise: { kind: 'lognormal' } },
  compare: [
    { name: 'one-peer', topology: { kind: 'one-peer-exponential' } },
    // More rounds than plans are kept.
    { name: 'random', topology: { kind: 'epidemic', k: 4 }, data: { ...small.data, train: 3400 } },
    { name: 'weighted', topology: { kind: 'star' } },
    // What was announced for a mean must not be sent ahead of the next exchange.
    {
      name: 'sparser',
      topology: {
        kind: 'piecewise',
        phases: [
          { from: 0, topology: { kind: 'complete' } },
          { from: 1, topology: { kind: 'ring' } },
        ],
      },
    },
    { name: 'lazy', topology: { kind: 'complete', weights: 'lazy' } },
    // No mean is made that could leave sums behind.
    {
      name: 'lattice',
      topology: { kind: 'lattice', k: 10 },
      probes: { distance: false },
      evaluation: { merged: false },
    },
    // Rank 0 measures for all.
    { name: 'measured', devices: { compute: 'measured' } },
    { name: 'control', consensus: { kind: 'adaptive', scale: 0.5 } },
    { name: 'critical', consensus: { kind: 'critical', fraction: 0.05 } },
    { name: 'combine-first', algorithm: { kind: 'dpsgd', order: 'combine-then-adapt', finalMerge: true } },
    { name: 'edges', algorithm: { kind: 'relaysgd' }, topology: { kind: 'tree' } },
    { name: 'compressed', algorithm: { kind: 'choco', compressor: { kind: 'qsgd' } } },
    {
      name: 'moving-memory',
      algorithm: { kind: 'lead', compressor: { kind: 'random-k', ratio: 0.2 } },
      optimizer: { kind: 'sgd', momentum: 0 },
      learningRate: { base: 0.02 },
    },
    {
      name: 'come-and-go',
      network: 'lan',
      devices: { compute: '10ms' },
      faults: {
        wait: { kind: 'timeout', time: '20ms' },
        loss: { kind: 'keep', probability: 0.2 },
        churn: { kind: 'onOff', on: '100ms', off: '50ms', noticed: '5ms' },
      },
    },
    {
      name: 'running-sums',
      algorithm: { kind: 'robust-push-sum' },
      faults: { loss: { kind: 'keep', probability: 0.3 }, churn: { kind: 'onOff', on: 10, off: 3, back: 'own' } },
    },
    {
      name: 'batch-norm',
      model: { kind: 'resnet20' },
      data: { ...small.data, shape: [3, 8, 8], train: 104 },
      epochs: 1,
    },
  ],
};

describe('so does everything else', () => {
  for (const [library, ranks, options] of [
    ['openmpi', 3, ['--overlap']],
    ['mpich', 2, ['--workers', '2']],
  ] as const)
    needingMpi(library)(`${ranks} ranks of ${library} ${options.join(' ')}`, async () => {
      writeFileSync(join(folder, 'variants.yaml'), JSON.stringify(variants));
      const args = ['compare', 'variants.yaml', '--json'];
      const found = await dbench([...args, ...options], folder, mpirun(library, ranks));
      expect(shasOf(found)).toEqual(await threadsOf(args));
      const times = timesIn(found);
      expect(times.every(([, seconds]) => seconds! > 0)).toBe(true);
      expect(times.filter(([name]) => name !== 'measured')).toEqual(
        timesIn(await endedOnThreads(args)).filter(([name]) => name !== 'measured'),
      );
    });
});

/** When the last replica had finished, run by run: noise tells all steps apart. */
const timesIn = ({ stdout }: { readonly stdout: string }) =>
  (JSON.parse(stdout) as { name: string; virtualSeconds: number | null }[]).map(
    ({ name, virtualSeconds }) => [name, virtualSeconds] as const,
  );

describe('rows that one memory cannot hold', () => {
  const program = fileURLToPath(new URL('./shards.ts', import.meta.url));
  for (const library of ['openmpi', 'mpich'] as const)
    needingMpi(library)(`are mixed in parts over ${library}`, async () => {
      const tsx = import.meta.resolve('tsx');
      const command = [...mpirun(library, 3), process.execPath, '--import', tsx, program];
      const { status, stdout, stderr } = await run(command, folder);
      expect(stderr.replaceAll(/npm warn.*\n/g, '')).toBe('');
      expect([status, stdout.match(/same/g)]).toEqual([0, ['same', 'same', 'same']]);
    });
});

describe('more ranks than cores', () => {
  needing({ 'mpirun.openmpi': 'openmpi-bin' })(
    '32 replicas as 32 ranks',
    async () => {
      const settings = { ...small, replicas: 32, epochs: 1, data: { ...small.data, train: 32 * 8 * 20 } };
      writeFileSync(join(folder, 'many.yaml'), JSON.stringify({ ...settings, topology: { kind: 'exponential' } }));
      const args = ['run', 'many.yaml', '--json'];
      const launcher = [...mpirun('openmpi', 32), '--mca', 'mpi_yield_when_idle', '1'];
      const found = await dbench(args, folder, launcher);
      expect(shasOf(found)).toEqual(await threadsOf(args));
      expect(JSON.parse(found.stdout)[0].steps).toBe(20);
    },
    900_000,
  );
});
