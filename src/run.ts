import { isDeepStrictEqual } from 'node:util';
import { type BackendChoice, type BackendName, backendNames, backendVersion, chooseBackend } from './backends.ts';
import { UserError } from './base/error.ts';
import { packageVersion } from './base/version.ts';
import type { Dataset } from './data/dataset.ts';
import { loadData } from './data/load.ts';
import { checkpointsIn, rewindCheckpoints } from './engine/checkpoint.ts';
import { rowLength, train, workersFor } from './engine/engine.ts';
import type { Event } from './engine/event.ts';
import { byContent } from './experiment/files.ts';
import type { Experiment } from './experiment/schema.ts';
import { machineContext } from './store/context.ts';
import { EventStore } from './store/database.ts';
import {
  createRun,
  lock,
  type Run,
  readContext,
  readResult,
  refuseSecond,
  rewind,
  unlock,
  writeResult,
} from './store/runs.ts';
import { alone, type World } from './transport/world.ts';

export interface RunOptions {
  /** Where runs are kept. */
  readonly root: string;
  /** Worker threads of each process. */
  readonly workers?: number | undefined;
  /** The processes that carry out the run together; this one alone unless given. All of them call this alike. */
  readonly world?: World | undefined;
  /** Sends rows to other processes while the next replica computes. */
  readonly overlap?: boolean | undefined;
  /** What computes the models; `auto` unless given. A run keeps to the one it began with. */
  readonly backend?: BackendChoice | undefined;
  /** Ends the run after the step it is in; it can be resumed. */
  readonly signal?: AbortSignal | undefined;
  /** Stored with a new run: it tells the attempts of one command with --launch from other runs. */
  readonly launch?: string | undefined;
}

/** What a run tells while it goes on. */
export type Progress = { readonly type: 'run'; readonly run: Run } | Event;

/**
 * A run from beginning to end: the experiment names the data, the engine trains the replicas on them, what happens goes into the
 * store. Reports, tables and figures are made from the store alone.
 */
export async function* run(experiment: Experiment, options: RunOptions): AsyncGenerator<Progress> {
  const { world = alone, workers } = options;
  const threads = workersFor(experiment.replicas, workers, world.place);
  const dataset = await dataFor(experiment, world);
  if (world.rank > 0) return yield* follow(experiment, dataset, options);
  const backend = await chooseBackend(options.backend);
  const machine = machineContext(threads, { name: backend, version: await backendVersion(backend) }, world);
  const context = { ...machine, launch: options.launch };
  yield* go(createRun(options.root, experiment, context), dataset, { ...options, backend });
}

/** Continues from the newest checkpoint, to the same bits as if the run had never been interrupted. */
export async function* resume(run: Run, options: Omit<RunOptions, 'root'>): AsyncGenerator<Progress> {
  const { world = alone } = options;
  if (world.rank > 0) return yield* follow(run.experiment, await dataFor(run.experiment, world), options);
  const result = readResult(run);
  if (result !== undefined && result.status !== 'stopped')
    throw new UserError(`${run.id} is ${result.status}: there is nothing to resume`, {
      hint: `see it with: dbench show ${run.id}`,
    });
  await refuseSecond(run);
  const backend = await backendOf(run, options.backend);
  yield* go(run, await dataFor(run.experiment, world), { ...options, backend });
}

/** The backend that a run began with: another would not give the same bits. */
async function backendOf(run: Run, wished: BackendChoice = 'auto'): Promise<BackendName> {
  const begun = backendNames.find((name) => name === readContext(run).backend) ?? 'onnx';
  if (wished !== 'auto' && wished !== begun)
    throw new UserError(`${run.id} began with the backend ${begun} and can only go on with it`, {
      hint: 'leave --backend out, or start a new run',
    });
  return chooseBackend(begun);
}

/** The data, once it is known that the experiment fits them: what cannot start leaves no folder behind. */
async function dataFor(experiment: Experiment, { place, rank }: World): Promise<Dataset> {
  if (place?.survive && experiment.algorithm.kind === 'centralized')
    throw new UserError(
      `${experiment.name}: the centralized algorithm needs all ranks, it cannot survive the loss of one`,
      {
        hint: 'leave out --survive; a run that was cut off goes on with: dbench run --resume',
      },
    );
  const dataset = await loadData(experiment.data, { seed: experiment.seed, verify: rank === 0 });
  rowLength(experiment, dataset, place);
  return dataset;
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** What rank 0 tells the others before they train together. */
interface Briefing {
  readonly version: string;
  readonly experiment: Experiment;
  /** Where checkpoints are kept. */
  readonly folder: string;
  readonly backend: BackendName;
  readonly backendVersion: string;
}

/** The checkpoints that every rank finds, ascending: machines may have disks of their own. */
async function commonCheckpoints(folder: string, world: World): Promise<number[]> {
  const [own = [], ...others] = await world.gather(checkpointsIn(folder));
  return own.filter((step) => others.every((steps) => steps.includes(step)));
}

/** A rank other than 0: it trains its replicas and leaves the store to rank 0. */
async function* follow(
  experiment: Experiment,
  dataset: Dataset,
  { world = alone, ...options }: Omit<RunOptions, 'root'>,
): AsyncGenerator<Event> {
  const said = (await world.share<Briefing | undefined>(undefined))!;
  if (said.version !== packageVersion() || !isDeepStrictEqual(byContent(said.experiment), plain(byContent(experiment))))
    throw new UserError(`rank ${world.rank} has another experiment or another version of dbench than rank 0`, {
      hint: 'start all ranks with the same file, options and version',
    });
  const { folder } = said;
  const backend = await chooseBackend(said.backend);
  const version = await backendVersion(backend);
  if (version !== said.backendVersion)
    throw new UserError(
      `rank ${world.rank} has version ${version} of the library behind ${backend}, rank 0 has ${said.backendVersion}`,
      { hint: 'bits would depend on who computes what: install the same version everywhere, or use --backend onnx' },
    );
  await commonCheckpoints(folder, world);
  const from = (await world.share<number | null>(null)) ?? undefined;
  rewindCheckpoints(folder, from ?? 0);
  yield* train(experiment, dataset, { ...options, backend, place: world.place, checkpoints: { folder, from } });
}

async function* go(
  run: Run,
  dataset: Dataset,
  options: Omit<RunOptions, 'root' | 'backend'> & { readonly backend: BackendName },
): AsyncGenerator<Progress> {
  const { world = alone } = options;
  const start = performance.now();
  const before = readResult(run)?.seconds ?? 0;
  const store = await EventStore.open(run.database);
  try {
    lock(run);
    yield { type: 'run', run };
    const folder = run.checkpoints;
    await world.share<Briefing>({
      version: packageVersion(),
      experiment: run.experiment,
      folder,
      backend: options.backend,
      backendVersion: await backendVersion(options.backend),
    });
    const from = await rewind(run, store, await commonCheckpoints(folder, world));
    await world.share<number | null>(from ?? null);
    const checkpoints = { folder, from };
    for await (const event of train(run.experiment, dataset, { ...options, place: world.place, checkpoints })) {
      await store.append(event);
      if (event.type === 'end') {
        const { type: _, ...end } = event;
        writeResult(run, { ...end, seconds: before + (performance.now() - start) / 1000 });
      }
      yield event;
    }
  } finally {
    store.close();
    unlock(run);
  }
}
