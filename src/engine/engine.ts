import type { Worker } from 'node:worker_threads';
import { matrixNames } from '../algorithm/places.ts';
import { type BackendName, chooseBackend } from '../backends.ts';
import { revived } from '../base/error.ts';
import { startThread } from '../base/thread.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { RankPlace } from '../transport/group.ts';
import { requestStop, type SharedTransport, shareTransport } from '../transport/shared.ts';
import { wishesOf } from './control.ts';
import { planOfRun } from './edges.ts';
import type { Event } from './event.ts';
import type { Checkpoints } from './loop.ts';
import { type Prepared, workersFor } from './prepare.ts';

export interface WorkerData {
  readonly experiment: Experiment;
  readonly prepared: Prepared;
  readonly shared: SharedTransport;
  readonly thread: number;
  readonly backend: BackendName;
  readonly checkpoints: Checkpoints | undefined;
}

export interface TrainOptions {
  /** Worker threads of this process; all cores it has by default, never more than replicas. The result does not depend on it. */
  readonly workers?: number | undefined;
  /** This process among the ranks of the run, if it has several. All of them call `train` alike. */
  readonly place?: RankPlace | undefined;
  /** Sends rows to other processes while the next replica computes. */
  readonly overlap?: boolean | undefined;
  /** What computes the models, on which their last bits depend; oneDNN if it is installed, unless given. */
  readonly backend?: BackendName | undefined;
  readonly checkpoints?: Checkpoints | undefined;
  /** Ends the run after the step it is in, with a checkpoint. */
  readonly signal?: AbortSignal | undefined;
}

/** Trains the replicas on worker threads of this process, together with other processes if there are any, and reports what happens. */
export async function* train(
  experiment: Experiment,
  prepared: Prepared,
  options: TrainOptions = {},
): AsyncGenerator<Event> {
  const threads = workersFor(experiment.replicas, options.workers, options.place);
  const backend = options.backend ?? (await chooseBackend());
  const matrices = matrixNames(planOfRun(experiment).plan, wishesOf(experiment.consensus));
  // Rows that are on their way to a neighbour cannot be compared with others meanwhile.
  const overlap = options.overlap === true && !experiment.probes.edges;
  const { columns, messageBytes } = prepared;
  const shared = shareTransport(threads, experiment.replicas, columns, { ...options, overlap, matrices, messageBytes });
  const workers = Array.from({ length: threads }, (_, thread) => {
    const workerData: WorkerData = { experiment, prepared, shared, thread, backend, checkpoints: options.checkpoints };
    return startThread('./worker', import.meta.url, { workerData });
  });
  const stop = () => requestStop(shared);
  options.signal?.addEventListener('abort', stop);
  if (options.signal?.aborted) stop();
  try {
    yield* eventsOf(workers);
  } finally {
    options.signal?.removeEventListener('abort', stop);
    // A worker that failed leaves the others waiting for it.
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

/** What the first thread reports, until all have ended; the first failure of any worker ends it. */
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
