import type { RunSeries } from './series.ts';

/**
 * What a run is judged by. Where classes are predicted: accuracy, a share, of which more is better. Where numbers are: the error √(mean
 * squared error), in the units of the targets as the model sees them (standard deviations, if they were normalised), of which less is better.
 */
export type ScoreName = 'accuracy' | 'error';

/** Of the local models together, the least and the largest of one of them. */
export interface ErrorSummary {
  readonly mean: number;
  readonly min: number;
  readonly max: number;
}

type Predicts = { readonly data: { readonly kind: string; readonly task?: string } };

export const scoreOf = (experiment: Predicts): ScoreName =>
  experiment.data.task === 'regression' ? 'error' : 'accuracy';

/** The error of the local models at an evaluation, from the mean of their squared errors; NaN if there is none. */
export const errorAt = ({ evaluations }: Pick<RunSeries, 'evaluations'>, index: number): number =>
  Math.sqrt(evaluations.loss.mean[index] ?? Number.NaN);
