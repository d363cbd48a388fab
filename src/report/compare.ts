import { factsOf } from '../algorithm/facts.ts';
import { type Correlation, correlate } from '../metric/correlation.ts';
import { finite } from '../metric/figures.ts';
import { rankVariance } from '../metric/rank.ts';
import { differencesOf } from './difference.ts';
import { partition, type Seeds } from './group.ts';
import type { Comparison, Group, Report, Scaling } from './report.ts';
import { plannedSteps } from './run.ts';
import { describe, differences, taskOf } from './settings.ts';

const decentralized = ({ experiment }: Seeds) => !factsOf(experiment.algorithm).keepsReplicasEqual;

/** Indices of groups with the same task at the same scale. */
export const comparable = (parts: readonly Seeds[]): number[][] =>
  partition([...parts.keys()], (index) => {
    const { experiment } = parts[index]!;
    return JSON.stringify([experiment.replicas, taskOf(experiment)]);
  });

/** One for each set of comparable groups; `parts` are the runs of the groups. */
export function comparisonsOf(
  sets: readonly (readonly number[])[],
  parts: readonly Seeds[],
  facts: Pick<Report, 'runs' | 'groups'>,
  notes: string[],
): Comparison[] {
  const { groups } = facts;
  return sets.map((set) => {
    const { replicas } = groups[set[0]!]!;
    const peers = sets.filter((other) => groups[other[0]!]!.replicas === replicas);
    const tasks = differences(peers.map((other) => taskOf(parts[other[0]!]!.experiment)));
    const differing = describe(taskOf(parts[set[0]!]!.experiment), tasks);
    const label = `n = ${replicas}${differing === '' ? '' : `, ${differing}`}`;
    return comparisonOf(label, set, parts, facts, notes);
  });
}

function comparisonOf(
  label: string,
  set: readonly number[],
  parts: readonly Seeds[],
  facts: Pick<Report, 'runs' | 'groups'>,
  notes: string[],
): Comparison {
  const { groups } = facts;
  const points = set.filter((index) => parts[index]!.complete > 0 && decentralized(parts[index]!));
  const probed = points.filter((index) => parts[index]!.counted.every(({ series }) => series.variance.step.length > 0));
  const seeds = commonSeeds(probed.map((index) => parts[index]!));
  const ranked = probed.length > 1 && seeds.length > 0 ? probed : [];
  if (probed.length > 1 && seeds.length === 0)
    notes.push(`${label}: no seed is common to all implementations, so their variance is not ranked.`);
  const rank = rankOf(
    ranked.map((index) => parts[index]!),
    seeds,
  );
  const against = (indices: readonly number[], values: readonly (number | null | undefined)[]) =>
    correlateKnown(
      values,
      indices.map((index) => groups[index]!.accuracy?.mean),
    );
  return {
    label,
    replicas: groups[set[0]!]!.replicas,
    groups: set,
    points,
    differences: differencesOf(facts, set),
    ranked,
    seeds: ranked.length > 0 ? seeds : [],
    rank,
    connectionsAccuracy: against(
      points,
      points.map((index) => groups[index]!.connections?.mean),
    ),
    varianceAccuracy: {
      ...against(ranked, rank.all),
      early: against(ranked, rank.early),
      late: against(ranked, rank.late),
    },
  };
}

function correlateKnown(
  x: readonly (number | null | undefined)[],
  y: readonly (number | null | undefined)[],
): Correlation {
  const known = x.flatMap((value, i) => (value == null || y[i] == null ? [] : [[value, y[i]] as const]));
  return correlate(
    known.map(([value]) => value),
    known.map(([, value]) => value),
  );
}

/** Seeds with a run that counts in every one of the groups. */
const commonSeeds = (parts: readonly Seeds[]): number[] =>
  (parts[0]?.counted ?? [])
    .map(({ run }) => run.experiment.seed)
    .filter((seed) => parts.every(({ counted }) => counted.some(({ run }) => run.experiment.seed === seed)));

function rankOf(parts: readonly Seeds[], seeds: readonly number[]): Comparison['rank'] {
  if (parts.length === 0) return { epoch: [], byEpoch: [], early: [], late: [], all: [], byTensor: [] };
  const members = seeds.map((seed) =>
    parts.map(({ counted }) => counted.find(({ run }) => run.experiment.seed === seed)!),
  );
  const tables = members.map((row) => row.map(({ series }) => series.variance));
  const { tensors, stepsPerEpoch } = members[0]![0]!.series;
  // Steps are ranked that all have: of runs that their virtual time ended, those of the shortest.
  const steps = Math.min(...members.flat().map(plannedSteps));
  const found = rankVariance(tables, tensors.length, steps, stepsPerEpoch ?? steps);
  const column = (values: readonly number[]) => values.map(finite);
  return {
    epoch: found.epoch,
    byEpoch: found.byEpoch.map(column),
    early: column(found.early),
    late: column(found.late),
    all: column(found.all),
    byTensor: found.byTensor.map(column),
  };
}

/** Accuracy over the scales, one implementation after the other; empty if there is one scale. */
export function scalingOf(groups: readonly Group[]): Scaling[] {
  if (new Set(groups.map(({ replicas }) => replicas)).size < 2) return [];
  return partition([...groups.keys()], (index) => groups[index]!.name).map((indices) => {
    const members = indices.map((index) => groups[index]!);
    const complete = members.filter((group) => group.complete > 0);
    return {
      name: groups[indices[0]!]!.name,
      groups: indices,
      replicas: members.map(({ replicas }) => replicas),
      accuracy: members.map(({ accuracy }) => accuracy),
      correlation: correlateKnown(
        complete.map(({ replicas }) => replicas),
        complete.map(({ accuracy }) => accuracy?.mean),
      ),
    };
  });
}
