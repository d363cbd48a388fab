import type { Experiment } from '../experiment/schema.ts';
import type { Control } from '../metric/control.ts';
import { type Estimate, estimate } from '../metric/estimate.ts';
import { finite, meanOfMeasured, sum } from '../metric/figures.ts';
import { percentOf, pooled, shareOf } from '../metric/hits.ts';
import { costTo, type Target } from '../metric/reach.ts';
import type { Group } from './report.ts';
import { giniCourse, type Member } from './run.ts';
import { describe, differences, withoutSeed } from './settings.ts';

/** The runs of one group: they differ in nothing but their seed. */
export interface Seeds {
  readonly experiment: Experiment;
  readonly members: readonly Member[];
  /** Those whose figures count: the complete ones, or all if none is. */
  readonly counted: readonly Member[];
  readonly complete: number;
}

export function partition<T>(items: readonly T[], key: (item: T) => string): T[][] {
  const parts = new Map<string, T[]>();
  for (const item of items) {
    const part = parts.get(key(item));
    if (part === undefined) parts.set(key(item), [item]);
    else part.push(item);
  }
  return [...parts.values()];
}

/** By scale, then in the order given. */
export function bySeed(members: readonly Member[]): Seeds[] {
  return partition(members, ({ run }) => JSON.stringify(withoutSeed(run.experiment)))
    .map((part) => {
      const sorted = part.toSorted((a, b) => a.run.experiment.seed - b.run.experiment.seed);
      const complete = sorted.filter(({ summary }) => summary.status === 'complete');
      return {
        experiment: sorted[0]!.run.experiment,
        members: sorted,
        counted: complete.length > 0 ? complete : sorted,
        complete: complete.length,
      };
    })
    .toSorted((a, b) => a.experiment.replicas - b.experiment.replicas);
}

/** The name of each group, with those settings that tell it from others of the same name and scale. */
export function implementationsOf(groups: readonly Seeds[]): string[] {
  return groups.map(({ experiment }) => {
    const { name, replicas } = experiment;
    const same = groups.filter((other) => other.experiment.name === name && other.experiment.replicas === replicas);
    const differing = describe(experiment, differences(same.map((other) => withoutSeed(other.experiment))));
    return differing === '' ? name : `${name}, ${differing}`;
  });
}

/** What a run has come to. */
const figures = {
  mergedAccuracy: ({ summary }: Member) => summary.mergedAccuracy,
  loss: ({ summary }: Member) => summary.loss,
  connections: ({ summary }: Member) => summary.connections,
  gossips: ({ series }: Member) => finite(meanOfMeasured(series.steps.gossips)),
  sentBytes: ({ summary }: Member) => summary.sentBytes,
  seconds: ({ series }: Member) => sum(series.steps.ms) / 1000,
  peakGini: (member: Member) => giniCourse(member).peakGini,
  peakGiniAt: (member: Member) => giniCourse(member).peakGiniAt,
  lateGini: (member: Member) => giniCourse(member).lateGini,
  finalDistance: ({ summary }: Member) => summary.finalDistance,
};

/** Correct answers over these runs. */
const hitsOf = (members: readonly Member[]) => pooled(members.flatMap(({ summary }) => summary.accuracy ?? []));

/** Means of accuracies are taken of whole numbers, so that groups that tie are equal. */
function accuracyOf(members: readonly Member[]): Estimate | null {
  const hits = hitsOf(members);
  const spread = estimate(members.map(({ summary }) => summary.accuracy?.mean));
  return hits === undefined || spread === null ? null : { ...spread, mean: shareOf(hits) };
}

/** Steps of all these runs together. */
function controlOf(members: readonly Member[]): Control | null {
  const controls = members.flatMap(({ summary }) => summary.control ?? []);
  const total = (of: keyof Control) => controls.reduce((all, control) => all + control[of], 0);
  return controls.length === 0 ? null : { steps: total('steps'), capped: total('capped') };
}

/** `first` is the index of its first run in the report. */
export function groupOf(seeds: Seeds, name: string, label: string, first: number, targets: readonly Target[]): Group {
  const { experiment, members, counted, complete } = seeds;
  const over = (figure: (member: Member) => number | null | undefined) => estimate(counted.map(figure));
  return {
    name,
    label,
    replicas: experiment.replicas,
    runs: members.map((_, index) => first + index),
    seeds: members.map(({ run }) => run.experiment.seed),
    complete,
    accuracy: accuracyOf(counted),
    error: over(({ summary }) => summary.error?.mean),
    mergedAccuracy: over(figures.mergedAccuracy),
    mergedError: over(({ summary }) => summary.mergedError),
    loss: over(figures.loss),
    connections: over(figures.connections),
    gossips: over(figures.gossips),
    control: controlOf(counted),
    sentBytes: over(figures.sentBytes),
    seconds: over(figures.seconds),
    peakGini: over(figures.peakGini),
    peakGiniAt: over(figures.peakGiniAt),
    lateGini: over(figures.lateGini),
    finalDistance: over(figures.finalDistance),
    reached: targets.map((target) => {
      const costs = counted.flatMap(({ series }) => costTo(target, series) ?? []);
      return {
        accuracy: 'percent' in target ? target.percent / 100 : null,
        error: 'error' in target ? target.error : null,
        epochs: estimate(costs.map(({ epochs }) => epochs)),
        sentBytes: estimate(costs.map(({ sentBytes }) => sentBytes)),
        seconds: estimate(costs.map(({ seconds }) => seconds)),
        runs: costs.length,
      };
    }),
  };
}

const shares = [90, 95, 99];

/** Worth racing to: 90, 95 and 99 % of the best accuracy, in whole percent; or errors of which the least is so much. */
export function targetsOf(groups: readonly Seeds[]): Target[] {
  const errors = groups.flatMap(
    ({ counted }) => estimate(counted.map(({ summary }) => summary.error?.mean))?.mean ?? [],
  );
  if (errors.length > 0) {
    const least = Math.min(...errors);
    return shares.map((share) => ({ error: Number(((100 * least) / share).toPrecision(3)) }));
  }
  const best = groups.flatMap(({ counted }) => hitsOf(counted) ?? []).toSorted((a, b) => shareOf(b) - shareOf(a))[0];
  if (best === undefined) return [];
  const percents = new Set(shares.map((share) => percentOf(best, share)));
  return [...percents].filter((percent) => percent > 0).map((percent) => ({ percent }));
}
