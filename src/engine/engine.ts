import { availableParallelism } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { type BackendName, chooseBackend } from '../backends.ts';
import { UserError } from '../base/error.ts';
import { startThread } from '../base/thread.ts';
import type { Dataset } from '../data/dataset.ts';
import type { Experiment } from '../experiment/schema.ts';
import { rowSize } from '../model/layout.ts';
import { buildModel } from '../model/models.ts';
import { evalStep } from '../model/step.ts';
import { requestStop, type SharedTransport, shareTransport } from '../transport/threads.ts';
import type { Event } from './event.ts';
import { feedOf } from './feed.ts';
import type { Checkpoints } from './loop.ts';

export interface WorkerData {
  readonly experiment: Experiment;
  readonly dataset: Dataset;
  readonly shared: SharedTransport;
  readonly rank: number;
  readonly backend: BackendName;
  readonly checkpoints: Checkpoints | undefined;
}

export interface TrainOptions {
  /** Worker threads; all cores by default, never more than replicas. The result does not depend on it. */
  readonly workers?: number | undefined;
  /** What computes the models, on which their last bits depend; oneDNN where it is installed unless given. */
  readonly backend?: BackendName | undefined;
  readonly checkpoints?: Checkpoints | undefined;
  /** Ends the run after the step it is in, with a checkpoint. */
  readonly signal?: AbortSignal | undefined;
}

export const workersFor = (replicas: number, wished?: number): number =>
  Math.min(wished ?? availableParallelism(), replicas);

/** Parameters of one replica. Refuses an experiment that does not fit its data, before anything starts. */
export function rowLength(experiment: Experiment, dataset: Dataset): number {
  const { task } = feedOf(experiment, dataset);
  return rowSize(evalStep(buildModel(experiment.model, task), 1).params);
}

/** Trains all replicas on worker threads of this process and reports what happens. */
export async function* train(
  experiment: Experiment,
  dataset: Dataset,
  options: TrainOptions = {},
): AsyncGenerator<Event> {
  const ranks = workersFor(experiment.replicas, options.workers);
  const backend = options.backend ?? (await chooseBackend());
  // Here rather than in the workers, where a mistake in the settings would be reported once for each.
  const shared = shareTransport(ranks, experiment.replicas, rowLength(experiment, dataset));
  const workers = Array.from({ length: ranks }, (_, rank) => {
    const workerData: WorkerData = { experiment, dataset, shared, rank, backend, checkpoints: options.checkpoints };
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

/** What rank 0 reports, until all have ended; the first failure of any rank ends it. */
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
    if (failure !== undefined) throw asUserError(failure);
    const event = queue.shift();
    if (event !== undefined) yield event;
    else if (running === 0) return;
    else
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
  }
}

/** Errors lose their class on the way out of a worker. */
function asUserError(error: unknown): unknown {
  const { name, message, hint } = error as { name?: string; message: string; hint?: string };
  return name === 'UserError' ? new UserError(message, { hint }) : error;
}
