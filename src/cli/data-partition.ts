import { Command } from 'commander';
import { trainersOf } from '../algorithm/facts.ts';
import { batchCount } from '../data/batch.ts';
import type { Classification, Text } from '../data/dataset.ts';
import { loadData } from '../data/load.ts';
import { textBatchCount } from '../data/text-batch.ts';
import { dealtOf, feedOf, type Shares, sharesOf } from '../engine/feed.ts';
import { loadExperiment } from '../experiment/experiment.ts';
import type { Experiment } from '../experiment/schema.ts';
import { tokensOf } from '../model/models.ts';
import { jsonOption, setOption } from './options.ts';
import { number, table, textWidth, wrap } from './print.ts';

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
const range = (values: readonly number[]) => ({
  min: values.reduce((a, b) => Math.min(a, b)),
  mean: sum(values) / values.length,
  max: values.reduce((a, b) => Math.max(a, b)),
});

/** Runs that deal the same data the same way are shown once. */
function distinct(runs: readonly Experiment[]): { run: Experiment; names: string[] }[] {
  const found = new Map<string, { run: Experiment; names: string[] }>();
  for (const run of runs) {
    const key = JSON.stringify([run.data, trainersOf(run), run.seed, run.batch, tokensOf(run.model)]);
    const same = found.get(key);
    if (same === undefined) found.set(key, { run, names: [run.name] });
    else same.names.push(run.name);
  }
  return [...found.values()];
}

/**
 * How far the replicas' class shares are from those of the whole: the mean over replicas of half the sum of absolute differences,
 * 0 when all are alike, towards 1 when each has classes of its own.
 */
function skew(counts: readonly (readonly number[])[]): number {
  const whole = counts[0]!.map((_, c) => sum(counts.map((row) => row[c]!)));
  const total = sum(whole);
  const distances = counts.map((row) => {
    const size = sum(row);
    return sum(row.map((count, c) => Math.abs(count / size - whole[c]! / total))) / 2;
  });
  return sum(distances) / distances.length;
}

/** Class shares of the replicas: how far they are from those of the whole, as a standard deviation, and how far a Dirichlet draw is. */
function deviation(counts: readonly (readonly number[])[], { partition }: Experiment['data']) {
  if (partition.kind !== 'dirichlet' || !partition.equalSizes) return null;
  const [sizes, total] = [counts.map(sum), sum(counts.map(sum))];
  const whole = counts[0]!.map((_, c) => sum(counts.map((row) => row[c]!)) / total);
  const squares = counts.flatMap((row, r) => row.map((count, c) => (count / sizes[r]! - whole[c]!) ** 2));
  const drawn = sum(whole.map((share) => share * (1 - share))) / whole.length / (partition.alpha * whole.length + 1);
  return { dealt: Math.sqrt(sum(squares) / squares.length), drawn: Math.sqrt(drawn) };
}

function dealtSamples({ data, batch }: Experiment, dataset: Classification, shares: Shares) {
  const dropLast = 'dropLast' in data ? data.dropLast : true;
  const { counts, totals } = dealtOf(dataset, shares);
  return {
    what: 'samples' as const,
    classes: counts![0]!.length,
    counts: counts!,
    totals,
    skew: skew(counts!),
    shareDeviation: deviation(counts!, data),
    batchesPerPass: totals.map((size) => batchCount(size, batch, dropLast)),
  };
}

function dealtText(run: Experiment, { vocabulary }: Text, shares: Shares) {
  const layout = { batch: run.batch, bptt: tokensOf(run.model)! };
  const totals = shares.map(({ length }) => length);
  return {
    what: 'tokens' as const,
    vocabulary: vocabulary.length,
    totals,
    batchesPerPass: totals.map((length) => textBatchCount(length, layout)),
  };
}

/** A column for each replica. */
function wide(counts: readonly (readonly number[])[], totals: readonly number[]): string {
  const rows = counts[0]!.map((_, c) => {
    const own = counts.map((row) => row[c]!);
    return [String(c), ...own.map((count) => (count === 0 ? '·' : number(count))), number(sum(own))];
  });
  const last = ['all', ...totals.map((total) => number(total)), number(sum(totals))];
  return table(['class', ...counts.map((_, r) => `r${r}`), 'all'], [...rows, last]);
}

/** The spread over the replicas, if they are too many for columns. */
function compact(counts: readonly (readonly number[])[], totals: readonly number[]): string {
  const line = (name: string, own: readonly number[]) => {
    const { min, mean, max } = range(own);
    return [
      name,
      number(min),
      number(mean, 4),
      number(max),
      number(own.filter((count) => count === 0).length),
      number(sum(own)),
    ];
  };
  const rows = counts[0]!.map((_, c) =>
    line(
      String(c),
      counts.map((row) => row[c]!),
    ),
  );
  return `${table(['class', 'min', 'mean', 'max', 'without', 'all'], [...rows, line('all', totals)])}\n\nsamples per replica; without: replicas that have none of the class; every replica: --json`;
}

function fits(text: string, columns: number): boolean {
  return text.split('\n').every((line) => line.length <= columns);
}

function spread(values: readonly number[]): string {
  const { min, mean, max } = range(values);
  return min === max ? number(min) : `${number(min)} to ${number(max)} (mean ${number(mean, 4)})`;
}

/** Shards of different sizes: all replicas make the same number of steps, so that some see their samples more often than others. */
function passText(batches: readonly number[]): string {
  const { min, max } = range(batches);
  return min === max ? '' : `; one pass over its own data takes a replica ${number(min)} to ${number(max)}`;
}

/** Told if the shards differ visibly less than the draw. */
function deviationText(found: ReturnType<typeof deviation>): string[] {
  if (found === null || found.dealt > 0.9 * found.drawn) return [];
  const [dealt, drawn] = [found.dealt, found.drawn].map((value) => number(value, 3));
  return [`class shares deviate by ${dealt}, less than the ${drawn} of a draw with this alpha: sizes are kept equal`];
}

function settingsText({ data, replicas }: Experiment): string {
  const { kind, ...settings } = data.partition;
  const list = Object.entries(settings).map(([key, value]) => `${key} ${String(value)}`);
  return `${data.kind} dealt to ${number(replicas)} replica${replicas === 1 ? '' : 's'}: ${[kind, ...list].join(', ')}`;
}

async function describe({ run, names }: { run: Experiment; names: string[] }) {
  const dataset = await loadData(run.data, { seed: run.seed });
  const shares = sharesOf(run, dataset);
  const { stepsPerEpoch } = feedOf(run, dataset, shares);
  const dealt = dataset.task === 'language' ? dealtText(run, dataset, shares) : dealtSamples(run, dataset, shares);
  return { run, names, dealt: { ...dealt, total: sum(dealt.totals), stepsPerEpoch } };
}

function report({ run, names, dealt }: Awaited<ReturnType<typeof describe>>): string {
  const line = (text: string) => `  ${wrap(text, textWidth() - 2, '    ')}`;
  const lines = [settingsText(run), line(`runs: ${names.join(', ')}`)];
  lines.push(line(`${number(dealt.total)} ${dealt.what}, ${spread(dealt.totals)} per replica`));
  lines.push(line(`${number(dealt.stepsPerEpoch)} steps per epoch for every replica${passText(dealt.batchesPerPass)}`));
  if (dealt.what === 'tokens' || dealt.classes === 1) return lines.join('\n');
  lines.push(
    line(`difference from the whole: ${number(dealt.skew, 3)} (0: classes as in the whole, 1: nothing in common)`),
    ...deviationText(dealt.shareDeviation).map(line),
    '',
  );
  const columns = process.stdout.columns ?? 120;
  const full = run.replicas <= 40 ? wide(dealt.counts, dealt.totals) : undefined;
  lines.push(full !== undefined && fits(full, columns) ? full : compact(dealt.counts, dealt.totals));
  return lines.join('\n');
}

export function partitionCommand(): Command {
  return new Command('partition')
    .description('how an experiment deals its training data: a table of classes and replicas')
    .argument('<experiment>', 'a file in YAML or JSON, or the name of one that comes with DBench')
    .addOption(setOption())
    .addOption(jsonOption())
    .action(async (file: string, options: { set: string[]; json?: true }) => {
      const found = [];
      for (const one of distinct(loadExperiment(file, options.set, { hashData: false })))
        found.push(await describe(one));
      if (!options.json) return console.log(found.map(report).join('\n\n'));
      const json = found.map(({ run, names, dealt }) => ({
        runs: names,
        data: run.data.kind,
        partition: run.data.partition,
        seed: run.seed,
        replicas: trainersOf(run),
        batch: run.batch,
        ...dealt,
      }));
      console.log(JSON.stringify(json));
    });
}
