import { realpathSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { UserError } from '../base/error.ts';
import { byContent } from '../experiment/files.ts';
import type { NamedNetwork } from '../experiment/network.ts';
import type { Experiment } from '../experiment/schema.ts';
import { type Live, liveSeriesOf } from '../metric/live.ts';
import { readManySeries } from '../metric/series.ts';
import { summaryOf } from '../metric/summary.ts';
import { type Run, refuseSameIds, statusOf } from '../store/runs.ts';
import { comparable, comparisonsOf, scalingOf } from './compare.ts';
import { bySeed, groupOf, implementationsOf, partition, targetsOf } from './group.ts';
import { liveNetwork, readNetwork } from './network.ts';
import { observe } from './observe.ts';
import type { Report, RunReport } from './report.ts';
import { type Member, runReport } from './run.ts';
import { describe, differences, subjectOf, taskOf } from './settings.ts';
import { commonCompute, elsewhereNotes, networksOf, virtualReport } from './virtual.ts';

export interface ReportOptions {
  /** Runs of different tasks in one report; each task is compared by itself. */
  readonly mixed?: boolean | undefined;
  /** With runs that are going on, as far as they are: what the live file in a folder tells, undefined if there is none. */
  readonly live?: ((folder: string) => Live | undefined) | undefined;
  /** Whether the replicas are part of it step by step; they are unless this is false. */
  readonly frames?: boolean | undefined;
  /** Networks that the runs are timed on, by default those that they were trained on; and the time of a step there, by default what runs or networks say, or what the runs took on their own machine. */
  readonly networks?: readonly NamedNetwork[] | undefined;
  readonly compute?: string | undefined;
}

/** All that these runs tell, as plain data. */
export async function buildReport(given: readonly Run[], options: ReportOptions = {}): Promise<Report> {
  const { runs: distinct, notes } = withoutRepeats(given);
  const members = await load(distinct, notes, options);
  if (!options.mixed) refuseMixed(members.map(({ run }) => run));
  const parts = bySeed(members);
  const implementations = implementationsOf(parts);
  const scales = new Set(parts.map(({ experiment }) => experiment.replicas));
  const sets = comparable(parts);
  let first = 0;
  // Networks are timed to accuracies alone.
  const percents = (index: number) => targets(index).flatMap((target) => ('percent' in target ? [target.percent] : []));
  const targets = (index: number) => targetsOf(sets.find((set) => set.includes(index))!.map((peer) => parts[peer]!));
  const groups = parts.map((part, index) => {
    const name = implementations[index]!;
    const label = `${name}${scales.size > 1 ? `, n = ${part.experiment.replicas}` : ''}`;
    const group = groupOf(part, name, label, first, targets(index));
    first += part.members.length;
    return group;
  });
  const runs = parts.flatMap((part, group) => part.members.map((member) => runReport(member, group)));
  const comparisons = comparisonsOf(sets, parts, { runs, groups }, notes);
  const scaling = scalingOf(groups);
  const networks = (options.networks ?? networksOf(runs.map(({ experiment }) => experiment))).map((found) =>
    virtualReport(found, commonCompute(members, options.compute), parts, percents),
  );
  return {
    title: titleOf(parts.map(({ experiment }) => experiment)),
    notes: [...notes, ...partialNotes(runs), ...thinNotes(runs), ...elsewhereNotes(networks, parts, implementations)],
    runs,
    groups,
    comparisons,
    scaling,
    observations: observe({ runs, groups, comparisons, scaling }),
    networks,
  };
}

/** Equal settings and seed give equal bits: a second such run, or a copy of one, is no second seed. */
export function withoutRepeats(given: readonly Run[]): { readonly runs: Run[]; readonly notes: string[] } {
  const repeats: [string, string][] = [];
  const folders = new Map(given.map((run) => [realpathSync(run.folder), run]));
  const runs = partition([...folders.values()], ({ experiment }) => {
    const { description: _, ...settings } = experiment;
    return JSON.stringify(byContent(settings));
  }).map((same) => {
    const kept = same.findLast((run) => statusOf(run) === 'complete') ?? same.at(-1)!;
    for (const run of same) {
      if (run === kept) continue;
      repeats.push(run.id === kept.id ? [run.folder, kept.folder] : [run.id, kept.id]);
    }
    return kept;
  });
  refuseSameIds(runs);
  return { runs, notes: repeatNotes(repeats) };
}

/** A copied folder may hold hundreds. */
function repeatNotes(repeats: readonly (readonly [repeat: string, original: string])[]): string[] {
  if (repeats.length <= 5) return repeats.map(([repeat, original]) => `${repeat} is left out: it repeats ${original}.`);
  const [repeat, original] = repeats[0]!;
  return [`${repeats.length} runs are left out: they repeat others, as ${repeat} does ${original}.`];
}

/** Of the replicas at some steps, over all runs; of more runs than these there is too little left for each. */
const mostNumbers = 60_000;
const mostFramed = 200;

/** What can be read; what cannot is noted. */
async function load(runs: readonly Run[], notes: string[], { live, frames = true }: ReportOptions): Promise<Member[]> {
  const most = Math.ceil(mostNumbers / runs.length);
  const framed = frames && runs.length <= mostFramed;
  if (frames && !framed) notes.push(`Replicas are not shown one by one: there are more than ${mostFramed} runs.`);
  const members: Member[] = [];
  const problems: string[] = [];
  const going = new Map(runs.map((run) => [run, live?.(run.folder)]));
  const stored = readManySeries(runs.filter((run) => going.get(run) === undefined).map(({ database }) => database));
  for (const run of runs) {
    try {
      const now = going.get(run);
      const series = now === undefined ? (await stored.next()).value : liveSeriesOf(now);
      if (series instanceof UserError) throw series;
      const network = () =>
        now === undefined ? readNetwork(run, { most }) : liveNetwork(run.experiment, now, { most });
      if (series !== undefined && series.steps.step.length > 0)
        members.push({ run, series, summary: summaryOf(run, series), network: framed ? await network() : null });
      else problems.push(`${run.id} is left out: ${whyEmpty(run)}.`);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push(`${run.id} is left out: ${error.message}`);
    }
  }
  notes.push(...problems);
  if (members.length > 0) return members;
  throw new UserError(['there is nothing to report on yet', ...problems.map((line) => `  ${line}`)].join('\n'), {
    hint: 'start a run with: dbench compare',
  });
}

const whyEmpty = (run: Run): string =>
  statusOf(run) === 'running' ? 'it is still running, and its events can be read when it has ended' : 'it has no steps';

/** Accuracies of different tasks do not belong into one table unless that is wanted. */
function refuseMixed(runs: readonly Run[]): void {
  const refuse = (wrong: readonly Run[], settings: (experiment: Experiment) => object, at: string) => {
    const kinds = partition(wrong, ({ experiment }) => JSON.stringify(settings(experiment)));
    if (kinds.length < 2) return;
    const differing = differences(kinds.map(([run]) => settings(run!.experiment)));
    const lines = kinds.map(
      ([run, ...more]) =>
        `  ${describe(run!.experiment, differing)}: ${run!.id}${more.length > 0 ? ` and ${more.length} more` : ''}`,
    );
    throw new UserError([`these runs${at} are of different tasks`, ...lines].join('\n'), {
      hint: 'name the runs of one task, or compare each task by itself in one report with --mixed',
    });
  };
  refuse(runs, subjectOf, '');
  for (const scale of partition(runs, ({ experiment }) => String(experiment.replicas)))
    refuse(scale, taskOf, ` at ${scale[0]!.experiment.replicas} replicas`);
}

/** Those of the task that the newest of these runs has; `runs` are the oldest first. */
export function newestTask(runs: readonly Run[]): Run[] {
  const newest = runs.at(-1);
  if (newest === undefined) return [];
  const subject = runs.filter(({ experiment }) =>
    isDeepStrictEqual(subjectOf(experiment), subjectOf(newest.experiment)),
  );
  return partition(subject, ({ experiment }) => String(experiment.replicas)).flatMap((scale) =>
    scale.filter(({ experiment }) => isDeepStrictEqual(taskOf(experiment), taskOf(scale.at(-1)!.experiment))),
  );
}

function partialNotes(runs: readonly RunReport[]): string[] {
  return runs.flatMap(({ id, summary: { status, reason, steps } }) => {
    const why = reason === null ? '' : ` (${reason})`;
    if (status !== 'complete') return [`${id} is ${status} after ${steps} steps${why}: shown, but not compared.`];
    return reason === null ? [] : [`${id} is complete, but not with all replicas${why}: compared like the others.`];
  });
}

function thinNotes(runs: readonly RunReport[]): string[] {
  const most = Math.max(...runs.map(({ steps, variance }) => Math.max(steps.stepsPerPoint, variance.stepsPerPoint)));
  if (most === 1) return [];
  return [
    `Curves are thinned out: a point stands for up to ${most} steps (their mean; bands from the least to the largest). ` +
      'Peaks, ranks and correlations are computed from all steps.',
  ];
}

function titleOf(experiments: readonly Experiment[]): string {
  const unique = (of: (experiment: Experiment) => string | number) => [...new Set(experiments.map(of))];
  const task = unique(({ data, model }) => `${model.kind} on ${data.kind}`).join(', ');
  const names = unique(({ name }) => name);
  const scales = unique(({ replicas }) => replicas);
  const what = names.length === 1 ? names[0]! : `${names.length} implementations`;
  return `${task}: ${what} at ${scales.join(', ')} ${scales.length === 1 && scales[0] === 1 ? 'replica' : 'replicas'}`;
}
