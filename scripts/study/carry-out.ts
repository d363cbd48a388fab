import { meanTraffic } from '../../src/algorithm/traffic.ts';
import { dispersion, mean } from '../../src/base/statistics.ts';
import type { Dataset } from '../../src/data/dataset.ts';
import { loadData } from '../../src/data/load.ts';
import { train } from '../../src/engine/engine.ts';
import type { EndEvent, EvaluationEvent, StartEvent, StepEvent } from '../../src/engine/event.ts';
import { prepare } from '../../src/engine/prepare.ts';
import type { Experiment } from '../../src/experiment/schema.ts';
import { retime } from '../../src/metric/retime.ts';
import type { RunSeries } from '../../src/metric/series.ts';
import { devicesOf, networks } from './networks.ts';
import type { Job, StudyRow } from './rows.ts';

const datasets = new Map<string, Promise<Dataset>>();

/** The data of runs that differ in their seed or partition alone are read once, unless the seed picks them. */
function datasetOf({ data, seed }: Experiment): Promise<Dataset> {
  const { partition: _, ...settings } = data;
  const key = JSON.stringify([settings, seed]);
  const known = datasets.get(key) ?? loadData(data, { seed });
  if (datasets.size > 4) datasets.clear();
  datasets.set(key, known);
  return known;
}

interface Seen {
  start?: StartEvent;
  readonly steps: StepEvent[];
  peakGini: number;
  evaluation?: EvaluationEvent;
  end?: EndEvent;
}

/** Trains without a run folder: what is kept is a line. */
export async function carryOut(job: Job, experiment: Experiment): Promise<StudyRow> {
  const prepared = await prepare(experiment, { dataset: await datasetOf(experiment) });
  const seen: Seen = { steps: [], peakGini: 0 };
  for await (const event of train(experiment, prepared, { workers: 1 })) {
    if (event.type === 'start') seen.start = event;
    if (event.type === 'step') seen.steps.push(event);
    if (event.type === 'evaluation') seen.evaluation = event;
    if (event.type === 'end') seen.end = event;
    if (event.type === 'norms') {
      const weights = event.norms.filter((_, tensor) => seen.start!.tensors[tensor]!.kind === 'weight');
      const gini = mean(weights.map((norms) => dispersion(norms as number[]).gini));
      seen.peakGini = Math.max(seen.peakGini, gini);
    }
  }
  return rowOf(job, experiment, prepared.columns, seen);
}

function rowOf(
  job: Job,
  experiment: Experiment,
  columns: number,
  { start, steps, peakGini, evaluation, end }: Seen,
): StudyRow {
  const { replicas: n } = experiment;
  const [merged, local] = [evaluation?.merged, evaluation?.local ?? []];
  // All methods are judged by the average of all replicas: those that do not end with one pay for it.
  const average = meanTraffic(n, columns);
  const apart = local.some(({ loss }) => loss !== merged?.loss);
  const sum = (of: (step: StepEvent) => number) => steps.reduce((total, step) => total + of(step), 0);
  const own = steps.filter(({ branch }) => branch !== null && branch % 2 === 1).map(({ step }) => step);
  const { kind, fixed = 0 } = experiment.algorithm as { readonly kind: string; readonly fixed?: number };
  const decides = kind === 'tether' || (kind === 'leash' && fixed === 0);
  const harms = steps.flatMap(({ branch, harm }) =>
    branch !== null && branch % 2 === 1 && harm !== null ? [harm] : [],
  );
  const bytes = sum(({ sentBytes }) => sentBytes) + (apart ? average.bytes : 0);
  const seconds = (network: keyof typeof networks) =>
    job.seed === 1 ? secondsOn(network, experiment, start!, steps) : Number.NaN;
  return {
    ...job,
    status: end!.status,
    mergedAccuracy: merged?.accuracy ?? Number.NaN,
    mergedLoss: merged?.loss ?? Number.NaN,
    accuracy: local.length === 0 ? Number.NaN : mean(local.map(({ accuracy }) => accuracy)),
    worstAccuracy: local.length === 0 ? Number.NaN : Math.min(...local.map(({ accuracy }) => accuracy)),
    bytes,
    messages: sum(({ sentMessages }) => sentMessages) + (apart ? average.messages : 0),
    modelBytes: 4 * columns,
    steps: steps.length,
    // Whatever else is sent is short beside an average, unless that is rounded.
    averages: kind === 'leash' ? own.length + 1 : Math.floor(bytes / average.bytes),
    fast: seconds('fast'),
    lan: seconds('lan'),
    wan: seconds('wan'),
    peakGini,
    finalDistance: steps.findLast(({ distance }) => distance !== null)?.distance ?? Number.NaN,
    harm: harms.length === 0 ? Number.NaN : mean(harms),
    after: decides ? own : [],
    sha256: end!.paramsSha256.slice(0, 16),
  };
}

function secondsOn(
  network: keyof typeof networks,
  experiment: Experiment,
  start: StartEvent,
  events: readonly StepEvent[],
): number {
  const column = (of: (step: StepEvent) => number | null) =>
    Float64Array.from(events, (event) => of(event) ?? Number.NaN);
  const series = {
    tensors: start.tensors.map((tensor) => ({ ...tensor, shape: tensor.shape.join('×') })),
    stepsPerEpoch: start.stepsPerEpoch,
    steps: {
      step: column(({ step }) => step),
      epoch: column(({ epoch }) => epoch),
      gossips: column(({ gossips }) => gossips),
      branch: column(({ branch }) => branch),
      controlledDistance: column(({ controlledDistance }) => controlledDistance),
    },
  } as unknown as RunSeries;
  return retime(experiment, series, { network: networks[network], devices: devicesOf(experiment) }).seconds.at(-1)!;
}
