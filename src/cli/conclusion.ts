import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { factsOf } from '../algorithm/facts.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { RunSummary } from '../metric/summary.ts';
import { taskOf } from '../report/settings.ts';
import { defaultRuns } from './options.ts';
import { number } from './print.ts';

interface Ended {
  readonly experiment: Experiment;
  readonly summary: RunSummary;
}

/** Accuracies that differ by less, in points, count as level. */
const margin = 0.5;

/** What the others are held against: everyone averaging with everyone, or else centralized training. */
const baselines: readonly ((experiment: Experiment) => boolean)[] = [
  ({ algorithm, topology }) => factsOf(algorithm).usesTopology && topology.kind === 'complete',
  ({ algorithm }) => factsOf(algorithm).keepsReplicasEqual,
];

const points = ({ summary }: Ended) => 100 * summary.accuracy!.mean;

/** `for 3.2 times fewer bytes` */
function bytesText({ summary }: Ended, baseline: Ended): string {
  const ratio = baseline.summary.sentBytes! / summary.sentBytes!;
  if (!Number.isFinite(ratio) || ratio === 0) return '';
  const [times, than] = ratio >= 1 ? [ratio, 'fewer'] : [1 / ratio, 'more'];
  return times < 1.05 ? ' for the same bytes' : ` for ${number(times, times < 10 ? 2 : 3)} times ${than} bytes`;
}

/**
 * What a comparison shows, in sentences, if it has a sensible baseline: runs of one task and scale with one seed, of which one averages
 * over all replicas.
 */
export function conclusion(runs: readonly Ended[]): string | undefined {
  const counted = runs.filter(({ summary }) => summary.status === 'complete' && summary.accuracy !== null);
  const conditions = counted.map(({ experiment }) =>
    JSON.stringify([experiment.replicas, experiment.seed, taskOf(experiment)]),
  );
  const baseline = baselines.map((fits) => counted.find(({ experiment }) => fits(experiment))).find(Boolean);
  if (counted.length < 2 || new Set(conditions).size > 1 || baseline === undefined) return undefined;
  const others = counted.filter((run) => run !== baseline);
  const name = ({ summary }: Ended) => summary.name;
  const listed = (texts: readonly string[]) =>
    texts.length < 2 ? texts.join() : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`;
  const apart = (verb: string, sign: number) => {
    const found = others.filter((run) => sign * (points(run) - points(baseline)) > margin);
    return found.map((run) => `${name(run)} ${verb} ${(sign * (points(run) - points(baseline))).toFixed(1)} points`);
  };
  const level = others.filter((run) => Math.abs(points(run) - points(baseline)) <= margin);
  const clauses = [...apart('loses', -1), ...apart('gains', 1)];
  return [
    `In this one run per variant, against ${name(baseline)} with ${points(baseline).toFixed(2)} %:`,
    ...(clauses.length === 0 ? [] : [`${listed(clauses)}.`]),
    ...(level.length === 0
      ? []
      : [
          `Within half a point ${level.length === 1 ? 'is' : 'are'} ${listed(level.map((run) => name(run) + bytesText(run, baseline)))}.`,
        ]),
    'Other seeds will move these numbers.',
  ].join(' ');
}

/** How the user's shell finds this program; that of npx has a path of its own, on which it is found. */
function programName(): string {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = process.env.npm_command === undefined && folders.some((folder) => existsSync(join(folder, 'dbench')));
  return found ? 'dbench' : 'npx dbench';
}

/** This command once more, with further words, as a shell takes it. */
function again(...words: readonly string[]): string {
  const quoted = (word: string) => (/^[\w./=:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  return [programName(), ...[...process.argv.slice(2), ...words].map(quoted)].join(' ');
}

/** What to try after these runs. */
export function nextCommands(runs: readonly Ended[], root: string): string {
  const where = root === defaultRuns ? '' : ` --runs ${root}`;
  const seeds = new Set(runs.map(({ experiment }) => experiment.seed)).size;
  const commands: readonly (readonly [string, string])[] =
    runs.length === 1
      ? [[`${programName()} show ${runs[0]!.summary.id}${where}`, 'all that is known about this run']]
      : [
          ...(seeds > 1 ? [[`${programName()} report${where}`, 'means and intervals over the seeds'] as const] : []),
          [`${programName()} report --html report.html${where}`, 'a page with all figures'],
          ...(seeds > 1 ? [] : [[again('--set', 'sweep={seed: [1, 2, 3]}'), 'three seeds, for intervals'] as const]),
        ];
  return `Next:\n${commands.map(([command, why]) => `  ${command}\n      ${why}`).join('\n')}`;
}
