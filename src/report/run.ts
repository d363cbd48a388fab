import { type Phase, phases } from '../engine/columns.ts';
import { connectionsOf } from '../metric/connections.ts';
import { finite, meanOfMeasured, peakOf, tensorMeans, weightMeans } from '../metric/figures.ts';
import { earlyShare } from '../metric/rank.ts';
import { atEvaluations, spending } from '../metric/reach.ts';
import { type BandSeries, type RunSeries, type Series, statistics } from '../metric/series.ts';
import type { RunSummary } from '../metric/summary.ts';
import { thin } from '../metric/thin.ts';
import { type Run, readContext } from '../store/runs.ts';
import type { Band, NetworkReport, RunReport } from './report.ts';

const phaseNames = Object.keys(phases) as Phase[];

/** A curve has no more points than this. */
export const mostPoints = 400;

/** A run whose events could be read. */
export interface Member {
  readonly run: Run;
  readonly series: RunSeries;
  readonly summary: RunSummary;
  readonly network: NetworkReport | null;
}

/** Steps of the whole run, also of one that did not come to its end. One that did may have been ended by its virtual time, before the last epoch. */
export const plannedSteps = ({ run, series, summary }: Member): number =>
  series.stepsPerEpoch === null || summary.status === 'complete'
    ? series.steps.step.length
    : run.experiment.epochs * series.stepsPerEpoch;

/** The mean Gini over the weight tensors: where it is largest (nowhere if replicas are equal throughout), and what is left in the end. */
export function giniCourse(member: Member): Pick<RunReport, 'peakGini' | 'peakGiniAt' | 'lateGini'> {
  const { variance, tensors } = member.series;
  const steps = plannedSteps(member);
  const ginis = weightMeans(variance.gini, tensors);
  const peak = peakOf(ginis);
  const at = peak && peak.value > 0 ? variance.step[peak.index]! / steps : undefined;
  const late = ginis.filter((_, row) => variance.step[row]! >= (1 - earlyShare) * steps);
  return { peakGini: finite(peak?.value), peakGiniAt: finite(at), lateGini: finite(meanOfMeasured(late)) };
}

const column = (values: Series) => Array.from(values, finite);
const numbers = (values: Series) => Array.from(values);
const bandOf = ({ mean, min, max }: BandSeries): Band => ({ mean: column(mean), min: column(min), max: column(max) });

export function runReport(member: Member, group: number): RunReport {
  const { run, series, summary } = member;
  return {
    id: run.id,
    group,
    summary,
    experiment: run.experiment,
    context: readContext(run),
    tensors: series.tensors,
    steps: stepCurves(member),
    evaluations: evaluationCurves(series),
    variance: varianceCurves(series),
    network: member.network,
    plannedSteps: series.stepsPerEpoch === null ? null : plannedSteps(member),
    ...giniCourse(member),
  };
}

function stepCurves({ series }: Member): RunReport['steps'] {
  const { steps, stepsPerEpoch } = series;
  const { pointsPerBucket, mean, min, max, last } = thin(steps.step.length, mostPoints);
  const spent = spending(series);
  const band = (values: BandSeries) => bandOf({ mean: mean(values.mean), min: min(values.min), max: max(values.max) });
  return {
    step: numbers(last(steps.step)),
    stepsPerPoint: pointsPerBucket,
    // In the first epoch of a run that never came to its end nobody knows how far it is.
    epoch: numbers(last(stepsPerEpoch === null ? steps.epoch : steps.step.map((step) => (step + 1) / stepsPerEpoch))),
    seconds: numbers(last(spent.seconds)),
    sentBytes: numbers(last(spent.sentBytes)),
    virtualSeconds: column(max(steps.virtualFinished.max)),
    loss: band(steps.loss),
    accuracy: band(steps.accuracy),
    learningRate: column(mean(steps.learningRate)),
    connections: column(mean(connectionsOf(series))),
    gossips: column(mean(steps.gossips)),
    distance: column(mean(steps.distance)),
    controlledDistance: column(mean(steps.controlledDistance)),
    targetDistance: column(mean(steps.targetDistance)),
    estimatedDistance: column(mean(steps.estimatedDistance)),
    threshold: column(mean(steps.threshold)),
    harm: column(mean(steps.harm)),
    period: column(mean(steps.period)),
    ms: Object.fromEntries(
      phaseNames.map((phase) => [phase, column(mean(steps[`${phase}Ms`]))]),
    ) as unknown as RunReport['steps']['ms'],
  };
}

function evaluationCurves(series: RunSeries): RunReport['evaluations'] {
  const { evaluations } = series;
  const spent = spending(series);
  return {
    step: numbers(evaluations.step),
    epoch: numbers(evaluations.epoch),
    seconds: numbers(atEvaluations(series, spent.seconds)),
    sentBytes: numbers(atEvaluations(series, spent.sentBytes)),
    virtualSeconds: column(evaluations.virtualSeconds.mean),
    loss: bandOf(evaluations.loss),
    accuracy: bandOf(evaluations.accuracy),
    mergedLoss: column(evaluations.mergedLoss),
    mergedAccuracy: column(evaluations.mergedAccuracy),
    trainLoss: column(evaluations.trainLoss.mean),
    trainAccuracy: column(evaluations.trainAccuracy.mean),
  };
}

function varianceCurves({ variance, tensors }: RunSeries): RunReport['variance'] {
  const { pointsPerBucket, mean, last } = thin(variance.step.length, mostPoints);
  const count = tensors.length;
  const ofTensor = (values: Float64Array, tensor: number) =>
    Float64Array.from({ length: variance.step.length }, (_, row) => values[row * count + tensor]!);
  const each = <T>(of: (values: Float64Array) => T) =>
    Object.fromEntries(statistics.map((name) => [name, of(variance[name])])) as Record<(typeof statistics)[number], T>;
  return {
    step: numbers(last(variance.step)),
    stepsPerPoint: pointsPerBucket,
    tensors: each((values) => tensors.map((_, tensor) => column(mean(ofTensor(values, tensor))))),
    mean: each((values) => column(mean(tensorMeans(values, count)))),
  };
}
