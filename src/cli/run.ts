import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { Command, Option } from 'commander';
import type { BackendChoice } from '../backends.ts';
import { UserError } from '../base/error.ts';
import { loadExperiment } from '../experiment/experiment.ts';
import type { Experiment } from '../experiment/schema.ts';
import { type Progress, resume, run } from '../run.ts';
import { findRun, type Run, scanRuns } from '../store/runs.ts';
import { outlineRun, type RunSummary, summarizeRun } from '../store/summary.ts';
import { backendOption, setOption } from './options.ts';
import { bytes, number, table } from './print.ts';
import { duration, RunProgress } from './progress.ts';

interface Options {
  readonly set: string[];
  readonly workers?: number;
  readonly backend: BackendChoice;
  readonly runs: string;
  readonly json?: true;
  readonly resume?: string;
}

function workers(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 1024) return value;
  throw new UserError(`--workers must be a whole number from 1 to 1024, got "${text}"`, {
    hint: 'leave it out to use every core',
  });
}

const defaultRuns = 'runs';
const runsOption = () => new Option('--runs <folder>', 'where runs are kept').default(defaultRuns);
const jsonOption = () => new Option('--json', 'print JSON');

function common(command: Command): Command {
  return command
    .addOption(setOption())
    .addOption(new Option('--workers <count>', 'worker threads; all cores by default').argParser(workers))
    .addOption(backendOption())
    .addOption(runsOption())
    .addOption(jsonOption());
}

/** Ends runs cleanly on the first Ctrl-C, at once on the second. */
function interruptible(): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
    process.stderr.write('\nstopping after this step, with a checkpoint; Ctrl-C again to end at once\n');
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  return {
    signal: controller.signal,
    release() {
      process.off('SIGINT', interrupt);
      process.off('SIGTERM', interrupt);
    },
  };
}

/** Follows one run to its end; the run as it was stored. */
async function follow(events: AsyncGenerator<Progress>, name: string, width: number): Promise<Run> {
  const progress = new RunProgress(name, width);
  let stored: Run | undefined;
  try {
    for await (const event of events) {
      if (event.type === 'run') stored = event.run;
      progress.tell(event);
    }
  } finally {
    progress.close();
  }
  return stored!;
}

const percent = (share: number | null | undefined) =>
  share === null || share === undefined ? '–' : (100 * share).toFixed(2);
const orDash = (value: number | null, show: (value: number) => string) => (value === null ? '–' : show(value));

export function summaryTable(summaries: readonly RunSummary[]): string {
  const rows = summaries.map((s) => [
    s.name,
    orDash(s.connections, (k) => number(k, 3)),
    percent(s.accuracy?.mean),
    percent(s.mergedAccuracy),
    orDash(s.loss, (loss) => loss.toFixed(3)),
    orDash(s.peakGini, (gini) => gini.toFixed(4)),
    orDash(s.finalDistance, (distance) => number(distance, 3)),
    orDash(s.sentBytes, bytes),
    orDash(s.seconds, duration),
    s.status === 'complete' ? '' : s.status,
  ]);
  const headers = [
    'implementation',
    'connections',
    'test %',
    'merged %',
    'loss',
    'peak Gini',
    'final Ξ',
    'sent',
    'time',
    '',
  ];
  return table(headers, rows);
}

const legend =
  'test: mean accuracy of the local models · merged: of their average · loss: on the test set · Gini: of per-replica tensor norms before averaging\nΞ: distance of the replicas from their mean · sent: by one replica over the run';

async function runAll(experiments: readonly Experiment[], options: Options): Promise<void> {
  const { signal, release } = interruptible();
  const width = Math.max(...experiments.map(({ name }) => name.length));
  const done: Run[] = [];
  try {
    for (const experiment of experiments) {
      if (signal.aborted) break;
      done.push(
        await follow(
          run(experiment, { root: options.runs, workers: options.workers, backend: options.backend, signal }),
          experiment.name,
          width,
        ),
      );
    }
  } finally {
    release();
  }
  await finish(done, options, signal.aborted);
}

async function finish(runs: readonly Run[], options: Pick<Options, 'json' | 'runs'>, stopped: boolean): Promise<void> {
  const summaries: RunSummary[] = [];
  for (const each of runs) summaries.push(await summarizeRun(each));
  if (options.json) console.log(JSON.stringify(summaries, null, 2));
  else {
    console.log(`\n${summaryTable(summaries)}\n\n${legend}`);
    for (const s of summaries) console.log(`${s.id}  paramsSha256 ${s.paramsSha256 ?? '–'}`);
  }
  const open = summaries.find(({ status }) => status === 'stopped');
  if (stopped) {
    const where = options.runs === defaultRuns ? '' : ` --runs ${options.runs}`;
    if (open !== undefined) console.error(`stopped; go on with: dbench run --resume ${open.id}${where}`);
    process.exitCode = 130;
  }
}

async function resumeOne(id: string, file: string | undefined, options: Options): Promise<void> {
  const stored = findRun(options.runs, id);
  if (file !== undefined || options.set.length > 0) {
    const wanted = file === undefined ? [] : loadExperiment(file, options.set);
    if (!wanted.some((experiment) => isDeepStrictEqual(JSON.parse(JSON.stringify(experiment)), stored.experiment)))
      throw new UserError(`${stored.id} was started with another experiment`, {
        hint: 'resume it without a file and --set, or start a new run',
      });
  }
  const { signal, release } = interruptible();
  try {
    await follow(
      resume(stored, { workers: options.workers, backend: options.backend, signal }),
      stored.experiment.name,
      stored.experiment.name.length,
    );
  } finally {
    release();
  }
  await finish([stored], options, signal.aborted);
}

export function command(): Command {
  return common(new Command('run').argument('[file]', 'experiment in YAML or JSON'))
    .option('--resume <id>', 'go on with a run that was interrupted')
    .action(async (file: string | undefined, options: Options) => {
      if (options.resume !== undefined) return resumeOne(options.resume, file, options);
      if (file === undefined)
        throw new UserError('the experiment file is missing', {
          hint: 'as in: dbench run experiments/quickstart.yaml',
        });
      await runAll(loadExperiment(file, options.set), options);
    });
}

/** `dbench compare`: the quickstart unless a file is given. */
export function compareCommand(): Command {
  const quickstart = fileURLToPath(new URL('../../experiments/quickstart.yaml', import.meta.url));
  return common(
    new Command('compare').argument('[file]', 'experiment with variants; the quickstart by default'),
  ).action(async (file: string | undefined, options: Options) => {
    if (file === undefined)
      console.error(
        'Quickstart: the same network on MNIST at 64 replicas, centralized and over five topologies (half a minute on two cores)\n',
      );
    await runAll(loadExperiment(file ?? quickstart, options.set), options);
  });
}

/** One run that is damaged must not hide the others. */
async function summaryOrOutline(stored: Run): Promise<RunSummary> {
  try {
    return await summarizeRun(stored);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    console.error(`dbench: ${error.message}`);
    return outlineRun(stored);
  }
}

/** `dbench runs`: what is stored. */
export function runsCommand(): Command {
  return new Command('runs')
    .addOption(runsOption())
    .addOption(jsonOption())
    .action(async (options: Pick<Options, 'runs' | 'json'>) => {
      const summaries: RunSummary[] = [];
      const { runs, problems } = scanRuns(options.runs);
      for (const problem of problems) console.error(`dbench: ${problem}`);
      for (const stored of runs) summaries.push(await summaryOrOutline(stored));
      if (options.json) return console.log(JSON.stringify(summaries, null, 2));
      if (summaries.length === 0) return console.log(`no runs in ${options.runs}; start one with: dbench run FILE`);
      console.log(
        table(
          ['run', 'status', 'replicas', 'steps', 'test %', 'merged %', 'time'],
          summaries.map((s) => [
            s.id,
            s.status,
            number(s.replicas),
            number(s.steps),
            percent(s.accuracy?.mean),
            percent(s.mergedAccuracy),
            orDash(s.seconds, duration),
          ]),
        ),
      );
    });
}
