import type { ScoreName } from '../metric/score.ts';
import type { Comparison, Estimate, Group, Report } from './report.ts';
import { inPoints, minus } from './words.ts';

/** How a score is told: accuracies in percent and points, errors as plain numbers. */
export interface ScoreWords {
  readonly name: ScoreName;
  /** +1 if more is better, −1 if less is. */
  readonly sign: 1 | -1;
  /** The unit that stands in headers, with a space before it. */
  readonly unit: string;
  /** Of differences. */
  readonly apart: string;
  show(value: number): string;
  showEstimate(value: Pick<Estimate, 'mean' | 'half'>): string;
}

const plain = (value: number) => Number(value.toPrecision(4)).toString();

const accuracy: ScoreWords = {
  name: 'accuracy',
  sign: 1,
  unit: ' %',
  apart: 'in points',
  show: (share) => (100 * share).toFixed(2),
  showEstimate: inPoints,
};

const error: ScoreWords = {
  name: 'error',
  sign: -1,
  unit: '',
  apart: 'in units of the error',
  show: plain,
  showEstimate: ({ mean, half }) => minus(`${plain(mean)}${half === null ? '' : ` ± ${plain(half)}`}`),
};

/** What a group came to: its accuracy, or its error where numbers are predicted. */
export const finalOf = (group: Group): Estimate | null => group.accuracy ?? group.error;
export const mergedOf = (group: Group): Estimate | null => group.mergedAccuracy ?? group.mergedError;

const wordsOf = (groups: readonly Group[]): ScoreWords =>
  groups.some((group) => group.error !== null) ? error : accuracy;

/** What the groups of a comparison, which are of one task, are judged by. */
export const scoreIn = ({ groups }: Pick<Report, 'groups'>, comparison: Comparison): ScoreWords =>
  wordsOf(comparison.groups.map((index) => groups[index]!));

/** The same for a table over all comparisons; accuracy, if they differ. */
export const scoreOfAll = ({ groups }: Pick<Report, 'groups'>): ScoreWords =>
  groups.some((group) => group.accuracy !== null) ? accuracy : wordsOf(groups);
