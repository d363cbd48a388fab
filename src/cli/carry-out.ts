import type { BackendChoice } from '../backends.ts';
import { UserError } from '../base/error.ts';
import { makeFolder } from '../base/file.ts';
import { type Carried, type CarryOutOptions, carryOut, type RunOutcome } from '../carry-out.ts';
import { type Planned, planText } from '../experiment/experiment.ts';
import { pointText } from '../experiment/sweep.ts';
import type { RunSummary } from '../metric/summary.ts';
import { ListNote } from '../store/lists.ts';
import { readResult, type Status, statusOf } from '../store/runs.ts';
import { conclusion, nextCommands } from './conclusion.ts';
import { interruptible } from './interrupt.ts';
import { type LaunchOptions, launch } from './launch.ts';
import { defaultRuns } from './options.ts';
import { Pace } from './pace.ts';
import { fields, number, textWidth, wrap } from './print.ts';
import { RunProgress } from './progress.ts';
import { summaryOrOutline, summaryText } from './summary.ts';
import { type TogetherOptions, together } from './together.ts';

export interface CommandOptions extends TogetherOptions, LaunchOptions {
  readonly workers?: number;
  readonly backend: BackendChoice;
  readonly overlap?: true;
  readonly json?: true;
  readonly checksums?: true;
}

/** The runs that a command asks for. */
export interface Job {
  readonly planned: readonly Planned[];
  readonly earlier: NonNullable<CarryOutOptions['earlier']>;
  /** Whether the same command again finishes what is left. */
  readonly continues: boolean;
}

const nothing: Job = { planned: [], earlier: () => undefined, continues: false };

/** Points of a sweep are many: each is told in a line, and one that fails does not keep the others from running. */
const isSweep = ({ planned }: Job) => planned.some(({ point }) => point.length > 0);

/** `D_ring`, in a sweep `D_ring seed=1 replicas=8` */
const labelOf = ({ experiment, point }: Planned) =>
  point.length === 0 ? experiment.name : `${experiment.name} ${pointText(point)}`;

/** Carries out a job: rank 0 reads it and decides how far to go, the others do the same with it. */
export async function carryOutJob(load: () => Job, options: CommandOptions): Promise<void> {
  if (options.launch !== undefined) return launchJob(load(), options.launch, options);
  if (options.retries > 0)
    throw new UserError('--retries is for ranks that are started with --launch', {
      hint: 'as in: dbench run FILE --launch "mpirun -n 4" --retries 3',
    });
  const { runs: root, workers, backend, overlap, launched } = options;
  await together(options, async (world) => {
    const job = world.rank === 0 ? load() : nothing;
    const teller = world.rank === 0 ? new Teller(job, options) : undefined;
    const { signal, release } = interruptible(world);
    const engine = { root, workers, backend, overlap, launch: launched, world, signal, earlier: job.earlier };
    const outcomes: RunOutcome[] = [];
    try {
      for await (const each of carryOut(job.planned, engine)) {
        teller?.tell(each);
        if (each.type === 'outcome') outcomes.push(each.outcome);
      }
    } finally {
      teller?.close();
      release();
    }
    if (world.rank === 0) await finish(job, outcomes, options, signal.aborted);
    return { lost: outcomes.some(({ lost }) => lost) };
  });
}

async function launchJob(
  { planned, earlier }: Job,
  command: string,
  { retries, launched }: CommandOptions,
): Promise<void> {
  const code = await launch(command, retries, launched!);
  // The ranks do not tell it by their exit code, after which they would be started again.
  const diverged = () =>
    planned.some(({ experiment }) => {
      const run = earlier(experiment)?.run;
      return run !== undefined && readResult(run)?.status === 'diverged';
    });
  process.exitCode = code === 0 && diverged() ? 1 : code;
}

/** Tells how the runs of a job go. */
class Teller {
  readonly #job: Job;
  readonly #names: readonly string[];
  readonly #pace: Pace;
  /** For who looks on: what is still to come has no folder yet. */
  readonly #note: ListNote | undefined;
  #progress: RunProgress | undefined;

  constructor(job: Job, { runs }: CommandOptions) {
    this.#job = job;
    const { planned, continues } = job;
    const [labels, total] = [planned.map(labelOf), number(planned.length)];
    const width = Math.max(...labels.map(({ length }) => length));
    const place = (index: number) => (isSweep(job) ? `${number(index + 1).padStart(total.length)}/${total}  ` : '');
    this.#names = labels.map((label, index) => place(index) + label.padEnd(width));
    const before = planned.map((each) => statusBefore(job, each));
    const count = (...of: readonly (Status | undefined)[]) => before.filter((status) => of.includes(status)).length;
    const [ended, begun] = [count('complete', 'diverged'), count('stopped', 'interrupted')];
    this.#pace = new Pace(planned.length - ended);
    if (continues)
      console.error(
        `${total} runs: ${number(ended)} done before, ${number(begun)} to resume, ${number(planned.length - ended - begun)} to start`,
      );
    // Told once, rather than by every run.
    if (isSweep(job) && ended < planned.length) makeFolder(runs);
    if (planned.length > 1 && ended < planned.length)
      this.#note = new ListNote(runs, planText(planned, 4), planned.length);
  }

  tell(event: Carried): void {
    if (event.type === 'begin') {
      this.#pace.begin();
      const many = { brief: true, after: () => this.#pace.remaining() };
      this.#progress = new RunProgress(this.#names[event.index]!, isSweep(this.#job) ? many : {});
    } else if (event.type === 'progress') {
      this.#progress?.tell(event.progress);
      if (event.progress.type === 'run') this.#note?.tell({ run: event.progress.run.id });
    } else {
      this.#end(event.outcome, this.#names[event.index]!);
      this.#note?.tell({ run: null, ended: event.index + 1, ...this.#pace.done });
    }
  }

  #end({ run, failure }: RunOutcome, name: string): void {
    const begun = this.#progress !== undefined;
    this.#endProgress();
    if (failure !== undefined) {
      if (!isSweep(this.#job)) throw failure;
      console.error(`${name}  failed: ${failure instanceof UserError ? told(failure) : (failure as Error).stack}`);
    } else if (begun) this.#pace.end();
    else if (run !== undefined && statusOf(run) === 'running')
      console.error(`${name}  is being run by another process`);
  }

  close(): void {
    this.#note?.close();
    this.#endProgress();
  }

  #endProgress(): void {
    this.#progress?.close();
    this.#progress = undefined;
  }
}

const told = ({ message, hint }: UserError) => (hint === undefined ? message : `${message}; ${hint}`);

/** What cannot be read is told when its turn comes. */
function statusBefore({ earlier }: Job, { experiment }: Planned): Status | undefined {
  try {
    return earlier(experiment)?.status;
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

async function finish(
  job: Job,
  outcomes: readonly RunOutcome[],
  options: CommandOptions,
  signalled: boolean,
): Promise<void> {
  const summaries = new Map<RunOutcome, RunSummary>();
  for (const outcome of outcomes)
    if (outcome.run !== undefined) summaries.set(outcome, await summaryOrOutline(outcome.run));
  const statusIn = (outcome: RunOutcome) =>
    outcome.failure !== undefined ? 'failed' : (summaries.get(outcome)?.status ?? 'pending');
  if (options.json) {
    const rows = outcomes.map((outcome) => ({
      ...(summaries.get(outcome) ?? { id: null, name: outcome.planned.experiment.name }),
      status: statusIn(outcome),
      ...(outcome.failure === undefined ? {} : { reason: (outcome.failure as Error).message }),
      ...(isSweep(job) ? { sweep: Object.fromEntries(outcome.planned.point) } : {}),
    }));
    console.log(JSON.stringify(rows, null, 2));
  } else if (summaries.size > 0) {
    const told = [...summaries.values()];
    const labels = [...summaries.keys()].map(({ planned }) => labelOf(planned));
    console.log(`\n${summaryText(told, labels)}`);
    const ended = [...summaries].map(([{ planned }, summary]) => ({ experiment: planned.experiment, summary }));
    const shown = conclusion(ended);
    if (shown !== undefined) console.log(`\n${wrap(shown, textWidth())}`);
    if (options.checksums)
      console.log(`\nparamsSha256\n${fields(told.map(({ id, paramsSha256 }) => [id, paramsSha256 ?? '–']))}`);
    if (options.launched === undefined) console.log(`\n${nextCommands(ended, options.runs)}`);
  }
  const counts = new Map<string, number>();
  for (const outcome of outcomes) counts.set(statusIn(outcome), (counts.get(statusIn(outcome)) ?? 0) + 1);
  if (job.continues)
    console.error(
      `\n${number(outcomes.length)} runs: ${[...counts].map(([status, n]) => `${number(n)} ${status}`).join(', ')}`,
    );
  // Under --launch its process looks for runs that diverged: this code would make it start the ranks again.
  if (counts.has('failed') || (counts.has('diverged') && options.launched === undefined)) process.exitCode = 1;
  const stopped = signalled || counts.has('stopped');
  const why = stopped ? 'stopped' : outcomes.some(({ lost }) => lost) ? 'ranks were lost' : undefined;
  if (why !== undefined) for (const line of leftText(job, outcomes, summaries, options, why)) console.error(line);
  if (stopped) process.exitCode = 130;
}

/** What was not finished, and how to finish it. */
function leftText(
  { continues }: Job,
  outcomes: readonly RunOutcome[],
  summaries: ReadonlyMap<RunOutcome, RunSummary>,
  { runs }: CommandOptions,
  why: string,
): string[] {
  const open = [...summaries.values()].find(({ status }) => status === 'stopped');
  const left = outcomes.filter((outcome) => !summaries.has(outcome)).map(({ planned }) => planned.experiment.name);
  if (continues) return open || left.length > 0 ? [`${why}; the same command runs what is left`] : [];
  const where = runs === defaultRuns ? '' : ` --runs ${runs}`;
  return [
    ...(open ? [`${why}; resume with: dbench run --resume ${open.id}${where}`] : []),
    ...(left.length > 0
      ? [`${why}; not started: ${left.join(', ')}`, 'the same command with --continue runs what is left']
      : []),
  ];
}
