import { availableParallelism } from 'node:os';
import { compressorFor, nameOf } from '../algorithm/choose.ts';
import { factsOf } from '../algorithm/facts.ts';
import { longestPart } from '../algorithm/functions.ts';
import { matricesOf } from '../algorithm/places.ts';
import { UserError } from '../base/error.ts';
import { number } from '../base/format.ts';
import { requireMemory } from '../base/memory.ts';
import type { Dataset } from '../data/dataset.ts';
import { loadData } from '../data/load.ts';
import type { Experiment } from '../experiment/schema.ts';
import { offsetsOf, rowSize } from '../model/layout.ts';
import { buildModel } from '../model/models.ts';
import { evalStep } from '../model/step.ts';
import type { RankPlace } from '../transport/group.ts';
import { blockOf } from '../transport/transport.ts';
import { wishesOf } from './control.ts';
import { planOfRun } from './edges.ts';
import { requireKernel } from './evolve.ts';
import { feedOf, type Shares, sharesOf } from './feed.ts';

/** What a run trains on: plain data over shared memory, made once by the main thread and posted to the workers. */
export interface Prepared {
  readonly dataset: Dataset;
  readonly shares: Shares;
  /** Parameters of one replica. */
  readonly columns: number;
  /** Length of a compressed message, 0 if there are none. */
  readonly messageBytes: number;
}

export interface PrepareOptions {
  readonly place?: RankPlace | undefined;
  /** Instead of the data that the experiment names. */
  readonly dataset?: Dataset | undefined;
}

/** Refuses an experiment that does not fit its data, the ranks or the memory: what cannot start leaves nothing behind. */
export async function prepare(experiment: Experiment, options: PrepareOptions = {}): Promise<Prepared> {
  const { place } = options;
  requireRanks(experiment, place);
  // The content of files is checked once for all ranks.
  const verify = (place?.rank ?? 0) === 0;
  const dataset = options.dataset ?? (await loadData(experiment.data, { seed: experiment.seed, verify }));
  const shares = sharesOf(experiment, dataset);
  const { task } = feedOf(experiment, dataset, shares);
  requireKernel(experiment, task);
  const layout = evalStep(buildModel(experiment.model, task), 1).params;
  const columns = rowSize(layout);
  const here = Math.min(experiment.replicas, replicasOf(experiment.replicas, place) * (place?.neighbours ?? 1));
  const { plan } = planOfRun(experiment);
  const matrices = matricesOf(plan, wishesOf(experiment.consensus));
  requireMemory(matrices * 4 * here * columns, `${number(here)} replicas of ${number(columns)} parameters`);
  const compressed = compressorFor(experiment.algorithm, offsetsOf(layout))?.bytes ?? 0;
  return { dataset, shares, columns, messageBytes: Math.max(compressed, longestPart(plan, layout)) };
}

function requireRanks({ name, replicas, algorithm }: Experiment, place: RankPlace | undefined): void {
  if (place === undefined) return;
  if (place.ranks > replicas)
    throw new UserError(`${place.ranks} processes were started for ${replicas} replicas`, {
      hint: `start at most ${replicas}: each process trains at least one replica`,
    });
  if (place.survive && !factsOf(algorithm).survivesLoss)
    throw new UserError(
      `${name}: the ${nameOf(algorithm)} algorithm cannot continue without a lost rank: it keeps rows that would be wrong without its replicas, or keeps all replicas equal`,
      {
        hint: 'leave out --survive, and resume a run that was cut off with: dbench run --resume; or use a method that keeps nothing but the parameters, such as dpsgd',
      },
    );
}

/** Replicas of this process. */
function replicasOf(replicas: number, place: RankPlace | undefined): number {
  const { first, last } = blockOf(replicas, place?.ranks ?? 1, place?.rank ?? 0);
  return last - first;
}

/** Worker threads of this process. Processes on one machine share its cores. */
export function workersFor(replicas: number, wished?: number, place?: RankPlace): number {
  const cores = Math.max(1, Math.floor(availableParallelism() / (place?.neighbours ?? 1)));
  return Math.min(wished ?? cores, replicasOf(replicas, place));
}
