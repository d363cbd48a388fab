import { programsOf } from '../algorithm/places.ts';
import type { BackendName } from '../backends.ts';
import { openBackend } from '../backends.ts';
import { quantile } from '../base/statistics.ts';
import { planOfRun } from '../engine/edges.ts';
import { feedOf } from '../engine/feed.ts';
import type { Prepared } from '../engine/prepare.ts';
import { openReplicas } from '../engine/replicas.ts';
import { startRows } from '../engine/start.ts';
import type { Experiment } from '../experiment/schema.ts';
import { allocateRows, Rows } from '../kernel/memory.ts';
import { copySpeed } from './mix.ts';

/** What a global step cannot be faster than, however it is organised. */
export interface Floors {
  /** One replica's step, of n that are taken in turn by one thread, so that none is in the cache: median over rounds. */
  readonly coldMs: number;
  /** The same replica again and again. */
  readonly hotMs: number;
  /** Of a memory copy by as many threads as there are workers, what is read and what is written together. */
  readonly copyBytesPerSecond: number;
}

const median = (values: readonly number[]) => quantile(values, 0.5);
/** Time that is not counted: memory is touched for the first time, code is compiled in several rounds. */
export const warmupMs = 5000;
/** Even, so that a replica's rows are where they were. */
const repeated = 40;

/** Single steps of the same program on rows of the same size, and nothing else: no batches, no averaging, no other workers. */
export async function floorsOf(
  experiment: Experiment,
  prepared: Prepared,
  name: BackendName,
  workers: number,
): Promise<Floors> {
  const { replicas: n, seed } = experiment;
  const copyBytesPerSecond = await copySpeed(n, prepared.columns, workers);
  const feed = feedOf(experiment, prepared.dataset, prepared.shares);
  const programs = programsOf(planOfRun(experiment).plan);
  const backend = await openBackend(name);
  const replicas = await openReplicas(experiment, feed, backend, { first: 0, last: n }, programs);
  const memory = allocateRows(prepared.columns, { from: n, to: n });
  let [from, to] = [new Rows(memory, 'from'), new Rows(memory, 'to')];
  const { x } = startRows(replicas.layout, seed);
  for (let i = 0; i < n; i++) from.write(i, x);
  replicas.load(0, 0);
  const step = (i: number) => replicas.adapt(i, 0, 1e-3, from, to);
  const exchange = () => {
    [from, to] = [to, from];
  };
  const all = async () => {
    for (let i = 0; i < n; i++) await step(i);
    exchange();
  };
  const same = async () => {
    for (let k = 0; k < repeated; k++) {
      await step(0);
      exchange();
    }
  };
  const timed = async (work: () => Promise<void>, steps: number) => {
    const start = performance.now();
    await work();
    return (performance.now() - start) / steps;
  };
  const warm = performance.now() + warmupMs;
  do {
    await same();
    await all();
  } while (performance.now() < warm);
  const [cold, hot]: [number[], number[]] = [[], []];
  for (let round = 0; round < Math.max(5, 200 / n); round++) {
    cold.push(await timed(all, n));
    hot.push(await timed(same, repeated));
  }
  await replicas.close();
  return { coldMs: median(cold), hotMs: median(hot), copyBytesPerSecond };
}
