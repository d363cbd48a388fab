import type { RunSeries } from './series.ts';

/**
 * Correct answers among those asked for, over the local models. Accuracies are compared and averaged as these whole numbers: a mean
 * of quotients differs in its last bit with the order of its terms, which tells equal accuracies apart.
 */
export interface Hits {
  readonly correct: number;
  readonly tested: number;
}

/** Equal shares are equal to the last bit: the quotient of two whole numbers is rounded once. */
export const shareOf = ({ correct, tested }: Hits): number => correct / tested;

/** At an evaluation; undefined if there is none, or no accuracy was measured. */
export function hitsAt({ evaluations }: Pick<RunSeries, 'evaluations'>, index: number): Hits | undefined {
  const tested = evaluations.samples[index]! * evaluations.replicas[index]!;
  const correct = Math.round(evaluations.accuracy.mean[index]! * tested);
  return Number.isFinite(correct) && tested > 0 ? { correct, tested } : undefined;
}

const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));

/** Whose share is the mean of these shares, each counting alike. */
export function pooled(all: readonly Hits[]): Hits | undefined {
  if (all.length === 0) return undefined;
  const common = all.reduce((product, { tested }) => (product / divisor(product, tested)) * tested, 1);
  const correct = all.reduce((sum, each) => sum + each.correct * (common / each.tested), 0);
  return { correct, tested: common * all.length };
}

/** Whether at least this whole number of percent is correct. */
export const reaches = ({ correct, tested }: Hits, percent: number): boolean => 100 * correct >= percent * tested;

/** A percentage of the share, in percent, rounded down: 90 % of .7 is 63, which 100 · .9 · .7 in floating point is not. */
export const percentOf = ({ correct, tested }: Hits, percent: number): number =>
  Math.floor((percent * correct) / tested);
