import { cumulative } from './figures.ts';
import { hitsAt, reaches } from './hits.ts';
import { errorAt } from './score.ts';
import type { RunSeries, Series } from './series.ts';

/** What a run had cost when something was reached. */
export interface Cost {
  readonly epochs: number;
  /** By one replica, mean over the replicas. */
  readonly sentBytes: number;
  /** Of training alone, without evaluation. */
  readonly seconds: number;
}

/** Bytes and seconds up to and with each step. */
export const spending = ({ steps }: Pick<RunSeries, 'steps'>) => ({
  sentBytes: cumulative(steps.sentBytes),
  seconds: cumulative(steps.ms.map((ms) => ms / 1000)),
});

/** A quantity that grows with the steps, at the evaluations: these come after a number of steps. */
export const atEvaluations = ({ evaluations }: Pick<RunSeries, 'evaluations'>, spent: Series): Series =>
  evaluations.step.map((done) => spent[done - 1] ?? Number.NaN);

/** An accuracy of at least this whole number of percent, or an error of at most this. */
export type Target = { readonly percent: number } | { readonly error: number };

/** The cost at the first evaluation at which the local models reach a target on the test set. */
export function costTo(target: Target, series: Pick<RunSeries, 'steps' | 'evaluations'>): Cost | undefined {
  const { evaluations } = series;
  const first = evaluations.step.findIndex((_, index) => {
    if ('error' in target) return errorAt(series, index) <= target.error;
    const hits = hitsAt(series, index);
    return hits !== undefined && reaches(hits, target.percent);
  });
  if (first < 0) return undefined;
  const { sentBytes, seconds } = spending(series);
  const at = (spent: Series) => atEvaluations(series, spent)[first]!;
  return { epochs: evaluations.epoch[first]!, sentBytes: at(sentBytes), seconds: at(seconds) };
}
