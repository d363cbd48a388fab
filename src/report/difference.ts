import { type Estimate, estimate } from '../metric/estimate.ts';
import type { ScoreName } from '../metric/score.ts';
import type { Comparison, Difference, Group, Report } from './report.ts';

/** Final accuracy, or error, of a group's complete runs by seed. */
export function scores({ runs }: Pick<Report, 'runs'>, group: Group, score: ScoreName): ReadonlyMap<number, number> {
  return new Map(
    group.runs.flatMap((index): [number, number][] => {
      const { experiment, summary } = runs[index]!;
      const found = summary[score];
      return summary.status === 'complete' && found !== null ? [[experiment.seed, found.mean]] : [];
    }),
  );
}

/** How much more accurate `a` is than `b`, seed by seed, so that what a seed does to both falls out; null if they share no seed. */
export function differenceOf(
  facts: Pick<Report, 'runs'>,
  a: Group,
  b: Group,
  score: ScoreName = 'accuracy',
): Estimate | null {
  const others = scores(facts, b, score);
  return estimate(
    [...scores(facts, a, score)].map(([seed, value]) => (others.has(seed) ? value - others.get(seed)! : null)),
  );
}

/** Between every two complete groups of a comparison, each pair once. */
export function differencesOf(facts: Pick<Report, 'runs' | 'groups'>, set: readonly number[]): Difference[] {
  const complete = set.filter((index) => facts.groups[index]!.complete > 0);
  return complete.flatMap((a, place) =>
    complete.slice(place + 1).map((b) => {
      const apart = (score: ScoreName) => differenceOf(facts, facts.groups[a]!, facts.groups[b]!, score);
      return { a, b, accuracy: apart('accuracy'), error: apart('error') };
    }),
  );
}

/** Between two groups of a comparison, in either order: a − b. */
export function differenceIn({ differences }: Comparison, a: number, b: number): Estimate | null {
  const pair = differences.find((each) => (each.a === a && each.b === b) || (each.a === b && each.b === a));
  const apart = pair?.accuracy ?? pair?.error ?? null;
  return apart === null || pair!.a === a ? apart : { ...apart, mean: 0 - apart.mean };
}

/** Whether a difference cannot be chance: several seeds, and 0 lies outside of the interval. */
export const isClear = (difference: Estimate | null): boolean =>
  difference !== null && difference.half !== null && Math.abs(difference.mean) > difference.half;

/** The group whose accuracy is clearly above that of every other, or whose error is below, if there is one. */
export function clearlyBest(comparison: Comparison): number | undefined {
  const complete = [...new Set(comparison.differences.flatMap(({ a, b }) => [a, b]))];
  const sign = comparison.differences.some(({ error }) => error !== null) ? -1 : 1;
  return complete.find((a) =>
    complete.every((b) => {
      const difference = a === b ? null : differenceIn(comparison, a, b);
      return a === b || (isClear(difference) && sign * difference!.mean > 0);
    }),
  );
}
