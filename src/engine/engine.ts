import { availableParallelism } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { type BackendName, chooseBackend } from '../backends.ts';
import { revived, UserError } from '../base/error.ts';
import { number } from '../base/format.ts';
import { requireMemory } from '../base/memory.ts';
import { startThread } from '../base/thread.ts';
import type { Dataset } from '../data/dataset.ts';
import type { Experiment } from '../experiment/schema.ts';
import { rowSize } from '../model/layout.ts';
import { buildModel } from '../model/models.ts';
import { evalStep } from '../model/step.ts';
import type { Place } from '../transport/group.ts';
import { requestStop, type SharedTransport, shareTransport } from '../transport/shared.ts';
import { blockOf } from '../transport/transport.ts';
import type { Event } from './event.ts';
import { feedOf } from './feed.ts';
import type { Checkpoints } from './loop.ts';

export interface WorkerData {
  readonly experiment: Experiment;
  readonly dataset: Dataset;
  readonly shared: SharedTransport;
  readonly thread: number;
  readonly backend: BackendName;
  readonly checkpoints: Checkpoints | undefined;
}

export interface TrainOptions {
  /** Worker threads of this process; all cores it has by default, never more than replicas. The result does not depend on it. */
  readonly workers?: number | undefined;
  /** The other processes of the run, where there are any. All of them call `train` alike. */
  readonly place?: Place | undefined;
  /** Sends rows to other processes while the next replica computes. */
  readonly overlap?: boolean | undefined;
  /** What computes the models, on which their last bits depend; oneDNN where it is installed unless given. */
  readonly backend?: BackendName | undefined;
  readonly checkpoints?: Checkpoints | undefined;
  /** Ends the run after the step it is in, with a checkpoint. */
  readonly signal?: AbortSignal | undefined;
}

/** Worker threads of this process. Processes on one machine share its cores. */
export function workersFor(replicas: number, wished?: number, place?: Place): number {
  const { index, count, neighbours } = place ?? { index: 0, count: 1, neighbours: 1 };
  if (count > replicas)
    throw new UserError(`${count} processes were started for ${replicas} replicas`, {
      hint: `start at most ${replicas}: each process trains at least one replica`,
    });
  const { first, last } = blockOf(replicas, count, index);
  return Math.min(wished ?? Math.max(1, Math.floor(availableParallelism() / neighbours)), last - first);
}

/** Parameters of one replica. Refuses an experiment that does not fit its data or the memory, before anything starts. */
export function rowLength(experiment: Experiment, dataset: Dataset, place?: Place): number {
  const { task } = feedOf(experiment, dataset);
  const columns = rowSize(evalStep(buildModel(experiment.model, task), 1).params);
  const { index, count, neighbours } = place ?? { index: 0, count: 1, neighbours: 1 };
  const { first, last } = blockOf(experiment.replicas, count, index);
  const here = Math.min(experiment.replicas, (last - first) * neighbours);
  requireMemory(2 * 4 * here * columns, `${number(here)} replicas of ${number(columns)} parameters`);
  return columns;
}

/** Trains the replicas on worker threads of this process, together with other processes if there are any, and reports what happens. */
export async function* train(
  experiment: Experiment,
  dataset: Dataset,
  options: TrainOptions = {},
): AsyncGenerator<Event> {
  const threads = workersFor(experiment.replicas, options.workers, options.place);
  const backend = options.backend ?? (await chooseBackend());
  // Here rather than in the workers, where a mistake in the settings would be reported once for each.
  const shared = shareTransport(threads, experiment.replicas, rowLength(experiment, dataset, options.place), options);
  const workers = Array.from({ length: threads }, (_, thread) => {
    const workerData: WorkerData = { experiment, dataset, shared, thread, backend, checkpoints: options.checkpoints };
    return startThread('./worker', import.meta.url, { workerData });
  });
  const stop = () => requestStop(shared);
  options.signal?.addEventListener('abort', stop);
  if (options.signal?.aborted) stop();
  try {
    yield* eventsOf(workers);
  } finally {
    options.signal?.removeEventListener('abort', stop);
    // A rank that failed leaves the others waiting for it.
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

/** What the first thread reports, until all have ended; the first failure of any rank ends it. */
async function* eventsOf(workers: readonly Worker[]): AsyncGenerator<Event> {
  const queue: Event[] = [];
  let failure: unknown;
  let running = workers.length;
  let wake = () => {};
  for (const worker of workers) {
    worker.on('message', (event: Event) => {
      queue.push(event);
      wake();
    });
    worker.on('error', (error) => {
      failure ??= error;
      wake();
    });
    worker.on('exit', () => {
      running -= 1;
      wake();
    });
  }
  while (true) {
    if (failure !== undefined) throw revived(failure);
    const event = queue.shift();
    if (event !== undefined) yield event;
    else if (running === 0) return;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
}
