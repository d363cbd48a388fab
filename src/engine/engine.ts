import { matrixNames } from '../algorithm/places.ts';
import { type BackendName, chooseBackend } from '../backends.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { RankPlace } from '../transport/group.ts';
import { requestStop, shareTransport } from '../transport/shared.ts';
import { wishesOf } from './control.ts';
import { together } from './crew.ts';
import { planOfRun } from './edges.ts';
import type { Event } from './event.ts';
import type { Checkpoints } from './loop.ts';
import { type Prepared, workersFor } from './prepare.ts';

export interface TrainOptions {
  /** Worker threads of this process; all cores it has by default, never more than replicas. The result does not depend on it. */
  readonly workers?: number | undefined;
  /** This process among the ranks of the run, if it has several. All of them call `train` alike. */
  readonly place?: RankPlace | undefined;
  /** Sends rows to other processes while the next replica computes. */
  readonly overlap?: boolean | undefined;
  /** What computes the models, on which their last bits depend; as `auto` unless given. */
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
  const backend = options.backend ?? (await chooseBackend('auto', experiment.model.kind));
  const matrices = matrixNames(planOfRun(experiment).plan, wishesOf(experiment.consensus));
  // Rows that are on their way to a neighbour cannot be compared with others meanwhile.
  const overlap = options.overlap === true && !experiment.probes.edges;
  const { columns, messageBytes } = prepared;
  const shared = shareTransport(threads, experiment.replicas, columns, { ...options, overlap, matrices, messageBytes });
  const { checkpoints } = options;
  const tasks = Array.from({ length: threads }, (_, thread) => {
    return { experiment, prepared, shared, thread, backend, checkpoints };
  });
  const stop = () => requestStop(shared);
  options.signal?.addEventListener('abort', stop);
  if (options.signal?.aborted) stop();
  try {
    yield* together(tasks);
  } finally {
    options.signal?.removeEventListener('abort', stop);
  }
}
