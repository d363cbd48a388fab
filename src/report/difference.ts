import { type Estimate, estimate } from '../metric/estimate.ts';
import type { Comparison, Difference, Group, Report } from './report.ts';

/** Final accuracy of a group's complete runs by seed. */
function accuracies({ runs }: Pick<Report, 'runs'>, group: Group): ReadonlyMap<number, number> {
  return new Map(
    group.runs.flatMap((index): [number, number][] => {
      const { experiment, summary } = runs[index]!;
      return summary.status === 'complete' && summary.accuracy !== null
        ? [[experiment.seed, summary.accuracy.mean]]
        : [];
    }),
  );
}

/** How much more accurate `a` is than `b`, seed by seed, so that what a seed does to both falls out; null if they share no seed. */
export function differenceOf(facts: Pick<Report, 'runs'>, a: Group, b: Group): Estimate | null {
  const others = accuracies(facts, b);
  return estimate(
    [...accuracies(facts, a)].map(([seed, accuracy]) => (others.has(seed) ? accuracy - others.get(seed)! : null)),
  );
}

/** Between every two complete groups of a comparison, each pair once. */
export function differencesOf(facts: Pick<Report, 'runs' | 'groups'>, set: readonly number[]): Difference[] {
  const complete = set.filter((index) => facts.groups[index]!.complete > 0);
  return complete.flatMap((a, place) =>
    complete.slice(place + 1).map((b) => ({ a, b, accuracy: differenceOf(facts, facts.groups[a]!, facts.groups[b]!) })),
  );
}

/** Between two groups of a comparison, in either order: a − b. */
export function differenceIn({ differences }: Comparison, a: number, b: number): Estimate | null {
  const pair = differences.find((each) => (each.a === a && each.b === b) || (each.a === b && each.b === a));
  if (pair === undefined || pair.accuracy === null) return null;
  return pair.a === a ? pair.accuracy : { ...pair.accuracy, mean: 0 - pair.accuracy.mean };
}

/** Whether a difference cannot be chance: several seeds, and 0 lies outside of the interval. */
export const isClear = (difference: Estimate | null): boolean =>
  difference !== null && difference.half !== null && Math.abs(difference.mean) > difference.half;

/** The group whose accuracy is clearly above that of every other, if there is one. */
export function clearlyBest(comparison: Comparison): number | undefined {
  const complete = [...new Set(comparison.differences.flatMap(({ a, b }) => [a, b]))];
  return complete.find((a) =>
    complete.every((b) => {
      const difference = a === b ? null : differenceIn(comparison, a, b);
      return a === b || (isClear(difference) && difference!.mean > 0);
    }),
  );
}
