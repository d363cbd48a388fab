import { factsOf } from '../algorithm/facts.ts';
import { number } from '../base/format.ts';
import { fewestSeeds, judged, type Trend, trendOf, type Verdict } from '../metric/trend.ts';
import { scores } from './difference.ts';
import type { Comparison, Group, Report } from './report.ts';
import { finalOf } from './score.ts';

/** What claims are held against. */
export type Facts = Pick<Report, 'runs' | 'groups' | 'comparisons' | 'scaling'>;

/** With fewer no verdict is given. */
const fewestImplementations = 4;
/** Accuracies closer than this count as equal. */
export const margin = 0.005;

/** What is missing for a correlation to count; null if nothing is. */
export const implementationsMissing = ({ length }: readonly unknown[]): string | null =>
  length >= fewestImplementations ? null : `four or more complete decentralized implementations (here ${length})`;

/** Accuracies of each seed that all of these have, seed by seed. */
function bySeed(facts: Facts, members: readonly Group[]): number[][] {
  const all = members.map((group) => scores(facts, group, 'accuracy'));
  const seeds = [...(all[0]?.keys() ?? [])].filter((seed) => all.every((each) => each.has(seed)));
  return seeds.map((seed) => all.map((each) => each.get(seed)!));
}

/** What is missing for an interval; null if nothing is. */
export function seedsMissing(facts: Facts, members: readonly Group[]): string | null {
  const { length: seeds } = bySeed(facts, members);
  return seeds >= fewestSeeds ? null : `three or more seeds common to all (here ${seeds})`;
}

/** How accuracy goes along x over these groups, and whether it rises (1) or falls (−1) as claimed. */
export function trendAlong(
  facts: Facts,
  members: readonly Group[],
  x: readonly number[],
  sign: 1 | -1,
): { readonly trend: Trend | null; readonly holds: boolean | null; readonly needs: string | null } {
  const rows = bySeed(facts, members);
  const trend = trendOf(x, rows, margin);
  const { holds, seeds }: Verdict = trend === null ? { holds: null, seeds: fewestSeeds } : judged(trend, sign, margin);
  if (holds !== null) return { trend, holds, needs: null };
  const missing = seedsMissing(facts, members);
  return { trend, holds, needs: missing ?? `more seeds: about ${seeds} would tell (here ${rows.length})` };
}

/** Whether its accuracy or its error is final. */
export const hasFinal = (group: Group) => group.complete > 0 && finalOf(group) !== null;

/** An accuracy or an error to reach. */
export const targetText = ({ accuracy, error }: Group['reached'][number]): string =>
  accuracy === null ? number(error!, 3) : `${number(100 * accuracy, 3)} %`;

/** Whether its accuracy is final. */
export const counts = (group: Group) => group.complete > 0 && group.accuracy !== null;

/** Groups that average plainly on that topology, without consensus control, or the centralized ones. */
export const ofKind = ({ runs, groups }: Facts, comparison: Comparison, kind: string): Group[] =>
  comparison.groups
    .map((index) => groups[index]!)
    .filter((group) => {
      const { algorithm, topology, consensus } = runs[group.runs[0]!]!.experiment;
      if (!counts(group) || consensus.kind !== 'none') return false;
      const { keepsReplicasEqual, controllable } = factsOf(algorithm);
      return keepsReplicasEqual ? kind === 'centralized' : controllable && topology.kind === kind;
    });
