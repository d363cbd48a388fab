import { factsOf } from '../algorithm/facts.ts';
import { number } from '../base/format.ts';
import { differenceOf } from './difference.ts';
import type { Comparison, Group, Report } from './report.ts';
import { finalOf } from './score.ts';

/** What claims are held against. */
export type Facts = Pick<Report, 'runs' | 'groups' | 'comparisons' | 'scaling'>;

/** With fewer no verdict is given. */
const fewestImplementations = 4;
const fewestSeeds = 2;
/** Accuracies closer than this count as equal. */
export const margin = 0.005;

/** What is missing for a correlation to count; null if nothing is. */
export const implementationsMissing = (members: readonly Group[]): string | null =>
  members.length >= fewestImplementations
    ? null
    : `four or more complete decentralized implementations (here ${members.length})`;

/** Seeds that all of these have. */
const commonSeeds = ({ runs }: Facts, members: readonly Group[]): number => {
  const seedsOf = (group: Group) =>
    group.runs.flatMap((index) => (runs[index]!.summary.status === 'complete' ? [runs[index]!.experiment.seed] : []));
  const [first, ...others] = members.map(seedsOf);
  return (first ?? []).filter((seed) => others.every((seeds) => seeds.includes(seed))).length;
};

/** What is missing for an interval; null if nothing is. */
export function seedsMissing(facts: Facts, members: readonly Group[]): string | null {
  const seeds = commonSeeds(facts, members);
  return seeds >= fewestSeeds ? null : `two or more seeds common to all (here ${seeds})`;
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

/** Better by more than the margin, and by more than the interval if there is one. */
export function beats(facts: Facts, a: Group, b: Group): boolean {
  const difference = differenceOf(facts, a, b) ?? { mean: a.accuracy!.mean - b.accuracy!.mean, half: null };
  return difference.mean > Math.max(margin, difference.half ?? 0);
}
