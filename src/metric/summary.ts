import { hostOf, type Run, readResult, type Status, statusOf, stepsKept } from '../store/runs.ts';
import { connectionsOf } from './connections.ts';
import { type Control, controlOf } from './control.ts';
import { finite, meanOfMeasured, peakOf, sum, weightMeans } from './figures.ts';
import { type Hits, hitsAt, shareOf } from './hits.ts';
import { type ErrorSummary, scoreOf } from './score.ts';
import { type RunSeries, readSeries, type Series } from './series.ts';

/** A run at a glance, computed from its events; null if something is not known, or not yet. */
export interface RunSummary {
  readonly id: string;
  readonly name: string;
  readonly status: Status;
  readonly reason: string | null;
  readonly replicas: number;
  readonly steps: number;
  /** Neighbours per replica, mean over the steps; under consensus control, times the gossips of each step. */
  readonly connections: number | null;
  /** On the test set, of the local models at the last evaluation. */
  readonly accuracy: (Hits & { readonly mean: number; readonly min: number; readonly max: number }) | null;
  /** The same where numbers are predicted: √ of the mean squared error. */
  readonly error: ErrorSummary | null;
  readonly loss: number | null;
  /** Of the average of all replicas. */
  readonly mergedAccuracy: number | null;
  readonly mergedError: number | null;
  readonly mergedLoss: number | null;
  /** If the local models are servers: of their clients, mean. */
  readonly clientAccuracy: number | null;
  readonly clientLoss: number | null;
  /** On the training samples that were evaluated, mean over the local models; null if there were none. */
  readonly trainAccuracy: number | null;
  readonly trainLoss: number | null;
  /** Largest Gini coefficient over the steps, of the per-replica norms, mean over the tensors. */
  readonly peakGini: number | null;
  /** Ξ before averaging: the largest and the last. */
  readonly peakDistance: number | null;
  readonly finalDistance: number | null;
  /** By one replica over the whole run, mean over the replicas. */
  readonly sentBytes: number | null;
  readonly sentMessages: number | null;
  readonly gossips: number | null;
  readonly control: Control | null;
  readonly stepMs: number | null;
  /** Share of the step that is forward, backward and update. */
  readonly computeShare: number | null;
  /** Of all steps together: without loading, evaluating and saving. */
  readonly trainingSeconds: number | null;
  /** Virtual time at which the last replica had finished; null without a network. */
  readonly virtualSeconds: number | null;
  /** From start to end, over all sittings. */
  readonly seconds: number | null;
  readonly paramsSha256: string | null;
}

/** What is known without the events: all there is while another process is writing them. */
export function outlineRun(run: Run): RunSummary {
  const status = statusOf(run);
  // What a run ended with no longer holds once it is resumed.
  const result = status === 'running' || status === 'interrupted' ? undefined : readResult(run);
  const host = hostOf(run);
  return {
    id: run.id,
    name: run.experiment.name,
    status,
    reason: host === undefined ? (result?.reason ?? null) : `on ${host}`,
    replicas: run.experiment.replicas,
    steps: result?.step ?? stepsKept(run),
    connections: null,
    accuracy: null,
    error: null,
    loss: null,
    mergedAccuracy: null,
    mergedError: null,
    mergedLoss: null,
    clientAccuracy: null,
    clientLoss: null,
    trainAccuracy: null,
    trainLoss: null,
    peakGini: null,
    peakDistance: null,
    finalDistance: null,
    sentBytes: null,
    sentMessages: null,
    gossips: null,
    control: null,
    stepMs: null,
    computeShare: null,
    trainingSeconds: null,
    virtualSeconds: null,
    seconds: result?.seconds ?? null,
    paramsSha256: result?.paramsSha256 ?? null,
  };
}

/** Where numbers are predicted: the errors at the last evaluation. */
function errorsOf(run: Run, series: RunSeries): Partial<Pick<RunSummary, 'error' | 'mergedError'>> {
  if (scoreOf(run.experiment) === 'accuracy') return {};
  const { loss, mergedLoss } = series.evaluations;
  const root = (values: Series) => finite(Math.sqrt(values.at(-1) ?? Number.NaN));
  const mean = root(loss.mean);
  return {
    error: mean === null ? null : { mean, min: root(loss.min)!, max: root(loss.max)! },
    mergedError: root(mergedLoss),
  };
}

export const summarizeRun = async (run: Run): Promise<RunSummary> => summaryOf(run, await readSeries(run.database));

/** What the series show, if there are any. */
export function summaryOf(run: Run, series: RunSeries | undefined): RunSummary {
  const outline = outlineRun(run);
  if (series === undefined) return outline;
  const { steps, evaluations, variance } = series;
  const last = (values: Series) => finite(values.at(-1));
  const hits = hitsAt(series, evaluations.step.length - 1);
  return {
    ...outline,
    steps: steps.step.length,
    connections: finite(meanOfMeasured(connectionsOf(series))),
    accuracy:
      hits === undefined
        ? null
        : { ...hits, mean: shareOf(hits), min: last(evaluations.accuracy.min)!, max: last(evaluations.accuracy.max)! },
    ...errorsOf(run, series),
    loss: last(evaluations.loss.mean),
    mergedAccuracy: last(evaluations.mergedAccuracy),
    mergedLoss: last(evaluations.mergedLoss),
    clientAccuracy: last(evaluations.clientAccuracy),
    clientLoss: last(evaluations.clientLoss),
    trainAccuracy: last(evaluations.trainAccuracy.mean),
    trainLoss: last(evaluations.trainLoss.mean),
    peakGini: peakOf(weightMeans(variance.gini, series.tensors))?.value ?? null,
    peakDistance: peakOf(steps.distance)?.value ?? null,
    finalDistance: finite(steps.distance.findLast((distance) => !Number.isNaN(distance))),
    sentBytes: sum(steps.sentBytes),
    sentMessages: sum(steps.sentMessages),
    gossips: sum(steps.gossips),
    control: controlOf(run.experiment, series),
    stepMs: finite(meanOfMeasured(steps.ms)),
    computeShare: finite(sum(steps.computeMs) / sum(steps.ms)),
    trainingSeconds: sum(steps.ms) / 1000,
    virtualSeconds: last(steps.virtualFinished.max),
  };
}
