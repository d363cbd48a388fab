import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { factsOf } from '../algorithm/facts.ts';
import type { Experiment } from '../experiment/schema.ts';
import { type ScoreName, scoreOf } from '../metric/score.ts';
import type { RunSummary } from '../metric/summary.ts';
import { taskOf } from '../report/settings.ts';
import { defaultRuns } from './options.ts';
import { number } from './print.ts';

interface Ended {
  readonly experiment: Experiment;
  readonly summary: RunSummary;
}

/** How runs are held against a baseline, by what they are judged by. */
interface Yardstick {
  /** Differences up to this count as level. */
  readonly margin: number;
  readonly level: string;
  /** How much better a run is, in points, or in percent of the baseline's error. */
  gain(run: Ended, baseline: Ended): number;
  worse(by: string): string;
  better(by: string): string;
  show(baseline: Ended): string;
}

const points = ({ summary }: Ended) => 100 * summary.accuracy!.mean;
const error = ({ summary }: Ended) => summary.error!.mean;

const yardsticks: Readonly<Record<ScoreName, Yardstick>> = {
  accuracy: {
    margin: 0.5,
    level: 'half a point',
    gain: (run, baseline) => points(run) - points(baseline),
    worse: (by) => `loses ${by} points`,
    better: (by) => `gains ${by} points`,
    show: (baseline) => `${points(baseline).toFixed(2)} %`,
  },
  error: {
    margin: 1,
    level: '1 %',
    gain: (run, baseline) => 100 * (1 - error(run) / error(baseline)),
    worse: (by) => `has an error ${by} % larger`,
    better: (by) => `has an error ${by} % smaller`,
    show: (baseline) => `an error of ${number(error(baseline), 4)}`,
  },
};

/** What the others are held against: everyone averaging with everyone, or else centralized training. */
const baselines: readonly ((experiment: Experiment) => boolean)[] = [
  ({ algorithm, topology }) => factsOf(algorithm).usesTopology && topology.kind === 'complete',
  ({ algorithm }) => factsOf(algorithm).keepsReplicasEqual,
];

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
  const counted = runs.filter(
    ({ summary }) => summary.status === 'complete' && (summary.accuracy ?? summary.error) !== null,
  );
  const conditions = counted.map(({ experiment }) =>
    JSON.stringify([experiment.replicas, experiment.seed, taskOf(experiment)]),
  );
  const baseline = baselines.map((fits) => counted.find(({ experiment }) => fits(experiment))).find(Boolean);
  if (counted.length < 2 || new Set(conditions).size > 1 || baseline === undefined) return undefined;
  const others = counted.filter((run) => run !== baseline);
  const name = ({ summary }: Ended) => summary.name;
  const listed = (texts: readonly string[]) =>
    texts.length < 2 ? texts.join() : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`;
  const { margin, gain, worse, better, ...told } = yardsticks[scoreOf(baseline.experiment)];
  const apart = (say: (by: string) => string, sign: number) => {
    const found = others.filter((run) => sign * gain(run, baseline) > margin);
    return found.map((run) => `${name(run)} ${say((sign * gain(run, baseline)).toFixed(1))}`);
  };
  const level = others.filter((run) => Math.abs(gain(run, baseline)) <= margin);
  const clauses = [...apart(worse, -1), ...apart(better, 1)];
  return [
    `In this one run per variant, against ${name(baseline)} with ${told.show(baseline)}:`,
    ...(clauses.length === 0 ? [] : [`${listed(clauses)}.`]),
    ...(level.length === 0
      ? []
      : [
          `Within ${told.level} ${level.length === 1 ? 'is' : 'are'} ${listed(level.map((run) => name(run) + bytesText(run, baseline)))}.`,
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
