import { type BackendChoice, chooseBackend, openBackend } from '../backends.ts';
import { quantile } from '../base/statistics.ts';
import type { Experiment } from '../experiment/schema.ts';
import { initialise } from '../model/layout.ts';
import { buildModel } from '../model/models.ts';
import { allocate, stepBuffers, trainStep } from '../model/step.ts';
import { toMeasure } from '../network/devices.ts';
import { optimizer } from '../optim/optimizer.ts';
import type { World } from '../transport/world.ts';
import { feedOf } from './feed.ts';
import type { Prepared } from './prepare.ts';

/** Steps that are timed, after some that are not: the first ones reserve memory. */
const [timedSteps, firstSteps] = [20, 3];

/** The variants of one command compute alike if they train the same model: they are given the same time. */
const known = new Map<string, Promise<number>>();

/** The experiment with the time of a step on this machine, if its devices ask for it: measured once by rank 0, and kept with the run. */
export async function withComputeTime(
  experiment: Experiment,
  prepared: Prepared,
  world: World,
  backend: BackendChoice | undefined,
): Promise<Experiment> {
  const { devices } = experiment;
  if (devices === undefined || !toMeasure(devices)) return experiment;
  const ns = await world.share(world.rank === 0 ? await stepNs(experiment, prepared, backend) : 0);
  return { ...experiment, devices: { ...devices, measured: `${ns}ns` } };
}

function stepNs(experiment: Experiment, prepared: Prepared, backend: BackendChoice | undefined): Promise<number> {
  const { data, model, batch, optimizer } = experiment;
  const key = JSON.stringify([data, model, batch, optimizer, backend]);
  const found = known.get(key) ?? measure(experiment, prepared, backend);
  known.set(key, found);
  return found;
}

/** Whole nanoseconds of a gradient and its step on a real batch, by one thread: the median. */
async function measure(
  experiment: Experiment,
  { dataset, shares }: Prepared,
  choice: BackendChoice | undefined,
): Promise<number> {
  const feed = feedOf(experiment, dataset, shares);
  const size = Math.max(...feed.batchSizes(0, 1));
  const step = trainStep(buildModel(experiment.model, feed.task), size, optimizer(experiment.optimizer));
  const backend = await openBackend(await chooseBackend(choice, experiment.model.kind));
  const executable = await backend.compile(step.program, { threads: 1 });
  const memory = allocate(step);
  memory.params!.set(initialise(step.params, experiment.seed));
  memory.state?.set(initialise(step.state, experiment.seed));
  feed.train(0, 0, memory.x, memory.labels);
  const run = executable.bind(stepBuffers(step, memory));
  const times: number[] = [];
  for (let t = 0; t < firstSteps + timedSteps; t++) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  await executable.close();
  return Math.round(1e6 * quantile(Float64Array.from(times.slice(firstSteps)), 0.5));
}
