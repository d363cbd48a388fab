import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { Command, Option } from 'commander';
import type { BackendChoice } from '../backends.ts';
import { UserError } from '../base/error.ts';
import { loadExperiment, loadPlan, type Planned } from '../experiment/experiment.ts';
import { type RunSummary, summarizeRun } from '../metric/summary.ts';
import { resume, run } from '../run.ts';
import { findRun, type Run, readResult } from '../store/runs.ts';
import type { World } from '../transport/world.ts';
import { follow, interruptible } from './follow.ts';
import { journal, journalOption, launchOption, retriesOption } from './launch.ts';
import {
  backendOption,
  defaultRuns,
  jsonOption,
  runsOption,
  setOption,
  timeoutOption,
  transportOption,
} from './options.ts';
import { RunProgress } from './progress.ts';
import { legend, summaryTable } from './summary.ts';
import { runSweep } from './sweep.ts';
import { type TogetherOptions, together } from './together.ts';

interface Options extends TogetherOptions {
  readonly set: string[];
  readonly workers?: number;
  readonly backend: BackendChoice;
  readonly json?: true;
  readonly resume?: string;
  readonly overlap?: true;
}

function workers(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 1024) return value;
  throw new UserError(`--workers must be a whole number from 1 to 1024, got "${text}"`, {
    hint: 'leave it out to use every core',
  });
}

function common(command: Command): Command {
  return command
    .addOption(setOption())
    .addOption(
      new Option('--workers <count>', 'worker threads of each process; all cores by default').argParser(workers),
    )
    .addOption(transportOption())
    .addOption(timeoutOption())
    .option('--overlap', 'send rows to other processes while the next replica computes (MPI)')
    .addOption(
      new Option(
        '--survive',
        'go on without ranks that are lost (mpirun --with-ft ulfm of Open MPI from 5 on)',
      ).conflicts('overlap'),
    )
    .addOption(launchOption())
    .addOption(retriesOption())
    .addOption(journalOption())
    .addOption(backendOption())
    .addOption(runsOption())
    .addOption(jsonOption());
}

const engineOptions = ({ workers, backend, overlap }: Options, world: World, signal: AbortSignal) => ({
  workers,
  backend,
  overlap,
  world,
  signal,
});

const hasEnded = (stored: Run) => ['complete', 'diverged'].includes(readResult(stored)?.status ?? '');

/** Rank 0 reads the experiments and decides how far to go; the others do the same with it. */
async function runAll(load: () => readonly Planned[], options: Options): Promise<void> {
  await together(options, async (world) => {
    const planned = await world.share(world.rank === 0 ? load() : []);
    if (planned.some(({ point }) => point.length > 0)) return runSweep(planned, options, world);
    const { signal, release } = interruptible(world);
    const width = Math.max(...planned.map(({ experiment }) => experiment.name.length));
    const done: Run[] = [];
    let lost = false;
    const { begun, note } = journal(options.journal);
    const engine = engineOptions(options, world, signal);
    try {
      for (const [place, { experiment }] of planned.entries()) {
        if (await world.share(signal.aborted)) break;
        const earlier = await world.share(begun[place] === undefined ? null : findRun(options.runs, begun[place]));
        if (earlier !== null && (await world.share(hasEnded(earlier)))) {
          done.push(earlier);
          continue;
        }
        const events = earlier === null ? run(experiment, { ...engine, root: options.runs }) : resume(earlier, engine);
        const progress = world.rank === 0 ? new RunProgress(experiment.name.padEnd(width)) : undefined;
        const followed = await follow(events, progress, earlier === null ? note : undefined);
        if (followed.stored !== undefined) done.push(followed.stored);
        lost = followed.lost;
        if (lost) {
          if (world.rank === 0 && place + 1 < planned.length)
            console.error(`dbench: ranks were lost, so the variants after ${experiment.name} are left out`);
          break;
        }
      }
    } finally {
      release();
    }
    const left = planned.slice(done.length).map(({ experiment }) => experiment.name);
    if (world.rank === 0) await finish(done, options, signal.aborted, left);
    return { lost };
  });
}

async function finish(
  runs: readonly Run[],
  options: Pick<Options, 'json' | 'runs' | 'journal'>,
  stopped: boolean,
  left: readonly string[] = [],
): Promise<void> {
  const summaries: RunSummary[] = [];
  for (const each of runs) summaries.push(await summarizeRun(each));
  if (options.json) console.log(JSON.stringify(summaries, null, 2));
  else {
    console.log(`\n${summaryTable(summaries)}\n\n${legend()}`);
    for (const s of summaries) console.log(`${s.id}  paramsSha256 ${s.paramsSha256 ?? '–'}`);
  }
  // Under --launch its process says so: this code would make it start the ranks again.
  if (summaries.some(({ status }) => status === 'diverged') && options.journal === undefined) process.exitCode = 1;
  const open = summaries.find(({ status }) => status === 'stopped');
  if (stopped) {
    const where = options.runs === defaultRuns ? '' : ` --runs ${options.runs}`;
    if (open !== undefined) console.error(`stopped; go on with: dbench run --resume ${open.id}${where}`);
    if (left.length > 0) console.error(`not started: ${left.join(', ')}`);
    process.exitCode = 130;
  }
}

function runToResume(id: string, file: string | undefined, options: Options): Run {
  const stored = findRun(options.runs, id);
  if (file !== undefined || options.set.length > 0) {
    const wanted = file === undefined ? [] : loadExperiment(file, options.set);
    if (!wanted.some((experiment) => isDeepStrictEqual(JSON.parse(JSON.stringify(experiment)), stored.experiment)))
      throw new UserError(`${stored.id} was started with another experiment`, {
        hint: 'resume it without a file and --set, or start a new run',
      });
  }
  return stored;
}

async function resumeOne(id: string, file: string | undefined, options: Options): Promise<void> {
  await together(options, async (world) => {
    const stored = await world.share(world.rank === 0 ? runToResume(id, file, options) : (undefined as never));
    const { signal, release } = interruptible(world);
    const progress = world.rank === 0 ? new RunProgress(stored.experiment.name) : undefined;
    let lost = false;
    try {
      ({ lost } = await follow(resume(stored, engineOptions(options, world, signal)), progress));
    } finally {
      release();
    }
    if (world.rank === 0) await finish([stored], options, signal.aborted);
    return { lost };
  });
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
      await runAll(() => loadPlan(file, options.set), options);
    });
}

/** `dbench compare`: the quickstart unless a file is given. */
export function compareCommand(): Command {
  const quickstart = fileURLToPath(new URL('../../experiments/quickstart.yaml', import.meta.url));
  return common(
    new Command('compare').argument('[file]', 'experiment with variants; the quickstart by default'),
  ).action(async (file: string | undefined, options: Options) => {
    await runAll(() => {
      if (file === undefined)
        console.error(
          'Quickstart: the same network on MNIST at 64 replicas, centralized and over five topologies (half a minute on two cores)\n',
        );
      return loadPlan(file ?? quickstart, options.set);
    }, options);
  });
}
