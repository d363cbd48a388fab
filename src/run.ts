import { type BackendChoice, type BackendName, backendNames, chooseBackend } from './backends.ts';
import { UserError } from './base/error.ts';
import type { Dataset } from './data/dataset.ts';
import { loadData } from './data/load.ts';
import { rowLength, train, workersFor } from './engine/engine.ts';
import type { Event } from './engine/event.ts';
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

export interface RunOptions {
  /** Where runs are kept. */
  readonly root: string;
  readonly workers?: number | undefined;
  /** What computes the models; `auto` unless given. A run keeps to the one it began with. */
  readonly backend?: BackendChoice | undefined;
  /** Ends the run after the step it is in; it can be resumed. */
  readonly signal?: AbortSignal | undefined;
}

/** What a run tells while it goes on. */
export type Progress = { readonly type: 'run'; readonly run: Run } | Event;

/**
 * A run from beginning to end: the experiment names the data, the engine trains the replicas on them, what happens goes into the
 * store. Reports, tables and figures are made from the store alone.
 */
export async function* run(experiment: Experiment, options: RunOptions): AsyncGenerator<Progress> {
  const dataset = await dataFor(experiment);
  const backend = await chooseBackend(options.backend);
  const context = machineContext(workersFor(experiment.replicas, options.workers), backend);
  yield* go(createRun(options.root, experiment, context), dataset, { ...options, backend });
}

/** Continues from the newest checkpoint, to the same bits as if the run had never been interrupted. */
export async function* resume(run: Run, options: Omit<RunOptions, 'root'>): AsyncGenerator<Progress> {
  const result = readResult(run);
  if (result !== undefined && result.status !== 'stopped')
    throw new UserError(`${run.id} is ${result.status}: there is nothing to resume`, {
      hint: `see it with: dbench show ${run.id}`,
    });
  refuseSecond(run);
  const backend = await backendOf(run, options.backend);
  yield* go(run, await dataFor(run.experiment), { ...options, backend });
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
async function dataFor(experiment: Experiment): Promise<Dataset> {
  const dataset = await loadData(experiment.data, { seed: experiment.seed });
  rowLength(experiment, dataset);
  return dataset;
}

async function* go(
  run: Run,
  dataset: Dataset,
  options: Omit<RunOptions, 'root' | 'backend'> & { readonly backend: BackendName },
): AsyncGenerator<Progress> {
  const start = performance.now();
  const before = readResult(run)?.seconds ?? 0;
  const store = await EventStore.open(run.database);
  try {
    lock(run);
    yield { type: 'run', run };
    const checkpoints = { folder: run.checkpoints, from: await rewind(run, store) };
    for await (const event of train(run.experiment, dataset, { ...options, checkpoints })) {
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
