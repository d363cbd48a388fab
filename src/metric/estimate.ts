import { mean, studentQuantile, variance } from '../base/statistics.ts';

/** A figure over seeds: mean and 95 % interval by Student's t; `half` is null with one seed. */
export interface Estimate {
  readonly mean: number;
  readonly half: number | null;
  readonly seeds: number;
}

/** Over those seeds for which the figure is known; null if it is for none. */
export function estimate(values: readonly (number | null | undefined)[]): Estimate | null {
  const known = values.filter((value) => value !== null && value !== undefined);
  const seeds = known.length;
  if (seeds === 0) return null;
  const half = seeds === 1 ? null : studentQuantile(0.95, seeds - 1) * Math.sqrt(variance(known) / (seeds - 1));
  return { mean: mean(known), half, seeds };
}
