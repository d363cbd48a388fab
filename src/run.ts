import { existsSync, rmSync } from 'node:fs';
import { type BackendChoice, type BackendName, backendVersion, chooseBackend, keepBackend } from './backends.ts';
import { follow, lead } from './engine/briefing.ts';
import { withComputeTime } from './engine/compute-time.ts';
import { train } from './engine/engine.ts';
import type { Event } from './engine/event.ts';
import { dealtOf } from './engine/feed.ts';
import { prepare, workersFor } from './engine/prepare.ts';
import type { Experiment } from './experiment/schema.ts';
import { machineContext } from './store/context.ts';
import { EventStore } from './store/database.ts';
import { LiveLog, writeHistory } from './store/live.ts';
import { writeDealt } from './store/parts.ts';
import { createRun, lock, type Run, readContext, refuseResume, rewind, stopFile, writeEnd } from './store/runs.ts';
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
  /** What computes the models; `auto` unless given. A run keeps the one it began with. */
  readonly backend?: BackendChoice | undefined;
  /** Ends the run after the step it is in; it can be resumed. */
  readonly signal?: AbortSignal | undefined;
  /** Stored with a new run: it tells the attempts of one command with --launch from other runs. */
  readonly launch?: string | undefined;
}

/** What a run tells as it proceeds. */
export type Progress = { readonly type: 'run'; readonly run: Run; readonly backend: BackendName } | Event;

/** A new run from beginning to end. */
export async function* run(experiment: Experiment, options: RunOptions): AsyncGenerator<Progress> {
  const { root, world = alone, launch } = options;
  yield* carry(experiment, options, async (experiment) => {
    const backend = await chooseBackend(options.backend, experiment.model.kind);
    const workers = workersFor(experiment.replicas, options.workers, world.place);
    const machine = machineContext(workers, { name: backend, version: await backendVersion(backend) }, world);
    return { run: createRun(root, experiment, { ...machine, launch }), backend };
  });
}

/** Continues from the newest checkpoint, to the same bits as if the run had never been interrupted. */
export async function* resume(run: Run, options: Omit<RunOptions, 'root'>): AsyncGenerator<Progress> {
  if ((options.world ?? alone).rank === 0) await refuseResume(run);
  const keep = () => keepBackend(run.id, readContext(run).backend, options.backend);
  yield* carry(run.experiment, options, async () => ({ run, backend: await keep() }));
}

/**
 * The experiment names the data, the engine trains the replicas on them, what happens goes into the store. Reports, tables and figures
 * are made from the store alone. Ranks other than 0 train their replicas and leave the store to rank 0.
 */
async function* carry(
  given: Experiment,
  { world = alone, ...options }: Omit<RunOptions, 'root'>,
  open: (experiment: Experiment) => Promise<{ readonly run: Run; readonly backend: BackendName }>,
): AsyncGenerator<Progress> {
  const prepared = await prepare(given, world);
  const experiment = await withComputeTime(given, prepared, world, options.backend);
  const engine = { ...options, place: world.place };
  if (world.rank > 0) return yield* train(experiment, prepared, { ...engine, ...(await follow(world, experiment)) });
  const { run, backend } = await open(experiment);
  const startedAt = performance.now();
  writeDealt(run.folder, dealtOf(prepared.dataset, prepared.shares));
  const live = new LiveLog(run.folder);
  await writeHistory(run.folder, run.database);
  const store = await EventStore.open(run.database);
  const asked = stopAsked(run, options.signal);
  let unlock = () => {};
  try {
    unlock = lock(run);
    yield { type: 'run', run, backend };
    const task = { experiment, folder: run.checkpoints, backend };
    const agreed = await lead(world, task, (checkpoints) => rewind(run, store, checkpoints));
    live.rewind(agreed.checkpoints.from ?? 0);
    for await (const event of train(experiment, prepared, { ...engine, ...agreed, signal: asked.signal })) {
      await store.append(event);
      live.append(event);
      if (event.type === 'end') writeEnd(run, event, (performance.now() - startedAt) / 1000);
      yield event;
    }
  } finally {
    asked.release();
    store.close();
    live.remove();
    unlock();
  }
}

/** Aborts with the signal given, or once there is a file called stop in the run's folder: so that any process on any machine can ask for it. */
function stopAsked(run: Run, signal: AbortSignal | undefined): { readonly signal: AbortSignal; release(): void } {
  const file = stopFile(run);
  const controller = new AbortController();
  // An earlier wish is no wish of now.
  rmSync(file, { force: true });
  const look = setInterval(() => {
    if (existsSync(file)) controller.abort();
  }, 1000).unref();
  return {
    signal: signal === undefined ? controller.signal : AbortSignal.any([signal, controller.signal]),
    release() {
      clearInterval(look);
      rmSync(file, { force: true });
    },
  };
}
