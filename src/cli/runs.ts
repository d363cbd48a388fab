import { Command, Option } from 'commander';
import { UserError } from '../base/error.ts';
import type { RunSummary } from '../metric/summary.ts';
import { removeCheckpoints, removeRun, sizeOf } from '../store/house.ts';
import { findRun, findRuns, type Run, scanRuns, statusOf } from '../store/runs.ts';
import { jsonOption, runsOption } from './options.ts';
import { bytes, number, percent, table } from './print.ts';
import { duration } from './progress.ts';
import { confirmed } from './question.ts';
import { orDash, summariesOrOutlines } from './summary.ts';

interface Options {
  readonly runs: string;
  readonly json?: true;
}

function storedRuns(root: string): Run[] {
  const { runs, problems } = scanRuns(root);
  for (const problem of problems) console.error(`dbench: ${problem}`);
  return runs;
}

async function list({ runs: root, json }: Options): Promise<void> {
  const runs = storedRuns(root);
  const rows: (RunSummary & { readonly bytes: number })[] = [];
  for await (const summary of summariesOrOutlines(runs))
    rows.push({ ...summary, bytes: sizeOf(runs[rows.length]!.folder) });
  if (json) return console.log(JSON.stringify(rows, null, 2));
  if (rows.length === 0) return console.log(`no runs in ${root}; start some with: dbench compare`);
  const errors = rows.some(({ error }) => error !== null);
  console.log(
    table(
      [
        'run',
        'status',
        'replicas',
        'steps',
        'test %',
        ...(errors ? ['test error'] : []),
        'merged %',
        'training',
        'size',
      ],
      rows.map((row) => [
        row.id,
        row.status,
        number(row.replicas),
        number(row.steps),
        orDash(row.accuracy?.mean ?? null, percent),
        ...(errors ? [orDash(row.error?.mean ?? null, (error) => number(error, 4))] : []),
        orDash(row.mergedAccuracy, percent),
        orDash(row.trainingSeconds, duration),
        bytes(row.bytes),
      ]),
      ['status'],
      { drop: ['merged %', 'replicas', 'training', 'steps'] },
    ),
  );
  const total = bytes(rows.reduce((sum, row) => sum + row.bytes, 0));
  console.log(`\n${number(rows.length)} run${rows.length === 1 ? '' : 's'}, ${total} in ${root}`);
}

/** One way to make room: which runs, what of them, and what is lost with it. */
interface Removal {
  readonly verb: string;
  readonly what: string;
  readonly lost: string;
  choose(root: string, words: readonly string[]): Run[];
  path(run: Run): string;
  remove(run: Run): void;
}

const ended = (run: Run) => ['complete', 'diverged'].includes(statusOf(run));

const prune: Removal = {
  verb: 'prune',
  what: 'the checkpoints of',
  lost: 'with the trained parameters; results and events stay',
  choose: (root, words) => {
    const runs = words.length === 0 ? storedRuns(root) : words.flatMap((word) => findRuns(root, word));
    return runs.filter((run) => ended(run) && sizeOf(run.checkpoints) > 0);
  },
  path: ({ checkpoints }) => checkpoints,
  remove: removeCheckpoints,
};

const deletion: Removal = {
  verb: 'delete',
  what: '',
  lost: 'results, events and checkpoints',
  // Beginnings that fit several runs are for looking: what is removed must be named, or asked for by a pattern.
  choose: (root, words) => words.flatMap((word) => (word.includes('*') ? findRuns(root, word) : [findRun(root, word)])),
  path: ({ folder }) => folder,
  remove: removeRun,
};

interface RemovalOptions extends Options {
  readonly yes?: true;
  readonly dryRun?: true;
}

async function removeRuns(removal: Removal, words: readonly string[], options: RemovalOptions): Promise<void> {
  const runs = [...new Map(removal.choose(options.runs, words).map((run) => [run.folder, run])).values()];
  const running = runs.find((run) => statusOf(run) === 'running');
  if (running !== undefined)
    throw new UserError(`${running.id} is running; nothing was removed`, {
      hint: 'wait until it has ended, or stop it with Ctrl-C',
    });
  const rows = runs.map((run) => ({ id: run.id, status: statusOf(run), bytes: sizeOf(removal.path(run)) }));
  const total = rows.reduce((sum, row) => sum + row.bytes, 0);
  const all = `${removal.what} ${number(runs.length)} run${runs.length === 1 ? '' : 's'}, ${bytes(total)}`.trim();
  if (!options.json && runs.length > 0)
    console.log(
      `${table(
        ['run', 'status', 'size'],
        rows.map((row) => [row.id, row.status, bytes(row.bytes)]),
        ['status'],
      )}\n`,
    );
  const removed =
    runs.length > 0 &&
    options.dryRun === undefined &&
    (options.yes ?? (await confirmed(`remove ${all} (${removal.lost})?`)));
  if (removed) for (const run of runs) removal.remove(run);
  if (options.json) return console.log(JSON.stringify({ removed, bytes: total, runs: rows }, null, 2));
  if (runs.length === 0) console.log(`nothing to ${removal.verb} in ${options.runs}`);
  else console.log(removed ? `removed ${all}` : options.dryRun ? `would remove ${all}` : 'nothing was removed');
}

const removalCommand = (removal: Removal, argument: string, about: string, description: string) =>
  new Command(removal.verb)
    .description(description)
    .argument(argument, about)
    .addOption(new Option('--yes', 'do not ask, for scripts').conflicts('dryRun'))
    .option('--dry-run', 'show what would be removed')
    .addOption(runsOption())
    .addOption(jsonOption())
    .action((words: string[], options: RemovalOptions) => removeRuns(removal, words, options));

export function command(): Command {
  return new Command('runs')
    .enablePositionalOptions()
    .addOption(runsOption())
    .addOption(jsonOption())
    .action(list)
    .addCommand(
      removalCommand(
        prune,
        '[runs...]',
        'ids, beginnings of ids or patterns with *; all runs by default',
        'remove the checkpoints of runs that have ended',
      ),
    )
    .addCommand(
      removalCommand(deletion, '<runs...>', 'ids, or patterns with * (in quotes)', 'remove runs with all they hold'),
    );
}
