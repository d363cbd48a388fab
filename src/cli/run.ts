import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Command, Option } from 'commander';
import { UserError } from '../base/error.ts';
import { wholeNumber } from '../base/whole-number.ts';
import { loadExperiment, loadPlan, type Planned } from '../experiment/experiment.ts';
import { identityOf } from '../store/identity.ts';
import { findRun, type Run, readContext, standing } from '../store/runs.ts';
import { launcherOf } from '../transport/mpi/launcher.ts';
import { type CommandOptions, carryOutJob, type Job } from './carry-out.ts';
import { launchedOption, launchOption, retriesOption } from './launch.ts';
import { backendOption, jsonOption, runsOption, setOption, timeoutOption, transportOption } from './options.ts';
import { textWidth, wrap } from './print.ts';

interface Options extends CommandOptions {
  readonly set: string[];
  readonly resume?: string;
  readonly continue?: true;
  readonly watch?: true;
}

function common(command: Command): Command {
  return command
    .addOption(setOption())
    .option('--continue', 'leave alone what is done, resume what was interrupted, start the rest; sweeps always do')
    .addOption(
      new Option('--workers <count>', 'worker threads of each process; all cores by default').argParser((text) =>
        wholeNumber('--workers', text, 1, 1024, 'leave it out to use every core'),
      ),
    )
    .addOption(transportOption())
    .addOption(timeoutOption())
    .option('--overlap', 'send rows to other processes while the next replica computes (MPI)')
    .addOption(
      new Option(
        '--survive',
        'continue without ranks that are lost (mpirun --with-ft ulfm of Open MPI from 5 on)',
      ).conflicts('overlap'),
    )
    .addOption(launchOption())
    .addOption(retriesOption())
    .addOption(launchedOption())
    .addOption(backendOption())
    .addOption(runsOption())
    .option('--watch', 'serve a page that follows the run, and print its address')
    .option('--checksums', 'print the SHA-256 of each run’s parameters')
    .addOption(jsonOption());
}

/** With `continues` whatever has the same settings counts as begun, otherwise only what an earlier attempt of this command has begun. */
function earlierOf({ runs, launched }: Options, continues: boolean): Job['earlier'] {
  const ofThisCommand = (run: Run) => readContext(run).launch === launched;
  return (experiment) => {
    if (!continues && launched === undefined) return undefined;
    const found = standing(runs, experiment, continues ? undefined : ofThisCommand);
    // Whoever was writing to it in an earlier attempt was lost, and is about to be gone.
    const left = launched !== undefined && found?.status === 'running' && ofThisCommand(found.run);
    return left ? { ...found, status: 'interrupted' } : found;
  };
}

const runAll = (load: () => readonly Planned[], options: Options) =>
  carryOutJob(() => {
    const planned = load();
    watch(options);
    const continues = options.continue === true || planned.some(({ point }) => point.length > 0);
    return { planned, continues, earlier: earlierOf(options, continues) };
  }, options);

function runToResume(id: string, file: string | undefined, options: Options): Run {
  const stored = findRun(options.runs, id);
  if (file !== undefined || options.set.length > 0) {
    const wanted = file === undefined ? [] : loadExperiment(file, options.set);
    if (!wanted.some((experiment) => identityOf(experiment) === identityOf(stored.experiment)))
      throw new UserError(`${stored.id} was started with another experiment`, {
        hint: 'resume it without a file and --set, or start a new run',
      });
  }
  return stored;
}

const resumeOne = (id: string, file: string | undefined, options: Options) =>
  carryOutJob(() => {
    const run = runToResume(id, file, options);
    watch(options);
    const planned = [{ experiment: run.experiment, point: [] }];
    return { planned, continues: false, earlier: () => ({ run, status: 'interrupted' }) };
  }, options);

/** A name for this command and all its attempts, if it has others started. */
const named = (options: Options): Options =>
  options.launch === undefined ? options : { ...options, launched: randomUUID() };

/** Of ranks that a launcher started the first alone, and not again those that a command with --launch started. */
function watch({ watch, runs, launched, launch }: Options): void {
  const rank = launcherOf(process.env)?.rank ?? 0;
  if (watch && rank === 0 && (launched === undefined || launch !== undefined))
    void import('./serve.ts').then(({ serveBeside }) => serveBeside(runs));
}

export function command(): Command {
  return common(
    new Command('run').argument('[experiment]', 'a file in YAML or JSON, or the name of one that comes with DBench'),
  )
    .addOption(new Option('--resume <id>', 'resume a run that was interrupted').conflicts('continue'))
    .action(async (file: string | undefined, given: Options) => {
      const options = named(given);
      if (options.resume !== undefined) return resumeOne(options.resume, file, options);
      if (file === undefined)
        throw new UserError('the experiment is missing', {
          hint: 'as in: dbench run quickstart, or dbench run FILE; dbench experiments lists those that have a name',
        });
      await runAll(() => loadPlan(file, options.set), options);
    });
}

/** `dbench compare`: the quickstart unless a file is given. */
export function compareCommand(): Command {
  const quickstart = fileURLToPath(new URL('../../experiments/quickstart.yaml', import.meta.url));
  return common(
    new Command('compare').argument('[experiment]', 'a file or name, as in run; the quickstart by default'),
  ).action(async (file: string | undefined, given: Options) => {
    const options = named(given);
    await runAll(() => {
      // Ranks that another process launched need not repeat it.
      if (file === undefined && given.launched === undefined)
        console.error(
          wrap(
            'Quickstart: 64 replicas of a small network learn MNIST. C: gradients are averaged over all replicas. D: each replica trains ' +
              'alone and averages its parameters with its neighbours in a topology. Ada: neighbours become fewer over the epochs. Half a ' +
              'minute on two cores.\n',
            textWidth(),
          ),
        );
      return loadPlan(file ?? quickstart, options.set);
    }, options);
  });
}
