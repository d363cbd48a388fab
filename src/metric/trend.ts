import { mean, ranks } from '../base/statistics.ts';
import { type Estimate, estimate } from './estimate.ts';

/** How a figure goes along another over a few implementations, seed by seed. */
export interface Trend {
  /** From the least x to the largest, along a straight line over the ranks of x: mean and 95 % interval over the seeds. */
  readonly change: Estimate;
  /**
   * Pairs of implementations that differ in x and whose y is told apart, by more than the margin and the interval: how many go
   * with the change, and which go against it as [less x, more x]. The rest are ties.
   */
  readonly along: number;
  readonly against: readonly (readonly [less: number, more: number])[];
}

/** With fewer seeds an interval says next to nothing: t is 12.7 with two. */
export const fewestSeeds = 3;
/** Pairs that may go against a trend, as a share of those that are told apart. */
const mostAgainst = 0.1;

/** `y[seed][implementation]` along `x[implementation]`; null if x is the same for all, or there is no seed. */
export function trendOf(x: readonly number[], y: readonly (readonly number[])[], margin: number): Trend | null {
  const rank = ranks(x);
  const centre = mean(rank);
  const spread = rank.reduce((sum, r) => sum + (r - centre) ** 2, 0);
  if (spread === 0 || y.length === 0) return null;
  const span = Math.max(...rank) - Math.min(...rank);
  const changes = y.map(
    (values) => (span * values.reduce((sum, value, i) => sum + (rank[i]! - centre) * value, 0)) / spread,
  );
  const change = estimate(changes)!;
  const [along, against]: [[number, number][], [number, number][]] = [[], []];
  for (let less = 0; less < x.length; less++)
    for (let more = 0; more < x.length; more++) {
      if (!(x[less]! < x[more]!)) continue;
      const difference = estimate(y.map((values) => values[more]! - values[less]!))!;
      if (Math.abs(difference.mean) <= Math.max(margin, difference.half ?? Number.POSITIVE_INFINITY)) continue;
      (difference.mean > 0 === change.mean > 0 ? along : against).push([less, more]);
    }
  return { change, along: along.length, against };
}

export interface Verdict {
  /** null: it cannot be told. */
  readonly holds: boolean | null;
  /** How many seeds would probably tell; null if there is a verdict. */
  readonly seeds: number | null;
}

/**
 * Whether y rises (sign 1) or falls (sign −1) along x by more than the margin. It does if the interval of the change lies on that side
 * of 0, the change is above the margin, and hardly any pair goes against it. It does not if the interval lies below the margin, or if
 * the change is there but not steady. Otherwise these seeds cannot tell.
 */
export function judged({ change, along, against }: Trend, sign: 1 | -1, margin: number): Verdict {
  const [middle, half] = [sign * change.mean, change.half];
  if (half === null || change.seeds < fewestSeeds) return { holds: null, seeds: fewestSeeds };
  if (middle + half < margin) return { holds: false, seeds: null };
  if (middle - half > 0 && middle > margin) {
    const told = along + against.length;
    return { holds: against.length <= mostAgainst * told, seeds: null };
  }
  // The interval shrinks with the root of the seeds: until it leaves 0 out, or the margin.
  const distance = Math.max(Math.abs(middle), margin / 2);
  return { holds: null, seeds: Math.max(change.seeds + 1, Math.ceil(change.seeds * (half / distance) ** 2)) };
}
