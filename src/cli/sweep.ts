import type { BackendChoice } from '../backends.ts';
import { UserError } from '../base/error.ts';
import { makeFolder } from '../base/file.ts';
import type { Planned } from '../experiment/experiment.ts';
import { pointText } from '../experiment/sweep.ts';
import type { RunSummary } from '../metric/summary.ts';
import { type Progress, resume, run } from '../run.ts';
import { type Run, type Status, standing } from '../store/runs.ts';
import type { World } from '../transport/world.ts';
import { follow, interruptible } from './follow.ts';
import { number } from './print.ts';
import { duration, RunProgress } from './progress.ts';
import { legend, summaryOrOutline, summaryTable } from './summary.ts';

interface Options {
  readonly runs: string;
  readonly workers?: number | undefined;
  readonly backend: BackendChoice;
  readonly overlap?: true | undefined;
  readonly json?: true | undefined;
}

/** What became of a run of a sweep: stored (maybe without ranks that were lost), failed, or not reached. */
interface Outcome {
  readonly planned: Planned;
  readonly run?: Run;
  readonly failure?: unknown;
  readonly lost?: boolean;
}

/** `D_ring seed=1 replicas=8` */
const labelOf = ({ experiment, point }: Planned) => `${experiment.name} ${pointText(point)}`;

/**
 * Runs what is not yet complete in the root, and goes on with what was interrupted: the same command again finishes a sweep. A run that
 * fails does not keep the others from running.
 */
export async function runSweep(
  planned: readonly Planned[],
  options: Options,
  world: World,
): Promise<{ lost: boolean }> {
  const before = planned.map(({ experiment }) => statusBefore(options.runs, experiment));
  const count = (...of: readonly (Status | undefined)[]) => before.filter((status) => of.includes(status)).length;
  const [ended, begun, total] = [count('complete', 'diverged'), count('stopped', 'interrupted'), planned.length];
  if (world.rank === 0)
    console.error(
      `${number(total)} runs: ${number(ended)} done before, ${number(begun)} to go on with, ${number(total - ended - begun)} to start`,
    );
  // Told once, rather than by every run.
  if (world.rank === 0 && ended < total) makeFolder(options.runs);
  const { signal, release } = interruptible(world);
  const width = Math.max(...planned.map((each) => labelOf(each).length));
  const pace = new Pace(total - ended);
  const outcomes: Outcome[] = [];
  let lost = false;
  try {
    for (const [index, each] of planned.entries()) {
      const place = `${number(index + 1).padStart(number(total).length)}/${number(total)}`;
      const name = `${place}  ${labelOf(each).padEnd(width)}`;
      const stopped: boolean = lost || (await world.share(signal.aborted));
      const outcome: Outcome = stopped
        ? { planned: each }
        : await runOnce(each, name, pace, { ...options, signal, world });
      outcomes.push(outcome);
      lost ||= outcome.lost === true;
    }
  } finally {
    release();
  }
  if (world.rank > 0) return { lost };
  await finish(outcomes, options);
  if (lost) console.error('ranks were lost; the same command runs what is left');
  if (signal.aborted) {
    console.error('stopped; the same command goes on');
    process.exitCode = 130;
  }
  return { lost };
}

/** What cannot be read is told when its turn comes. */
function statusBefore(root: string, experiment: Planned['experiment']): Status | undefined {
  try {
    return standing(root, experiment)?.status;
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

async function runOnce(
  planned: Planned,
  name: string,
  pace: Pace,
  { runs: root, world, ...options }: Options & { readonly signal: AbortSignal; readonly world: World },
): Promise<Outcome> {
  const { workers, backend, overlap, signal } = options;
  const engine = { workers, backend, overlap, signal, world };
  let stored: Run | undefined;
  try {
    const found = await world.share(world.rank === 0 ? (standing(root, planned.experiment) ?? null) : null);
    stored = found?.run;
    if (found?.status === 'running' && world.rank === 0) console.error(`${name}  is being run by another process`);
    if (found !== null && found.status !== 'stopped' && found.status !== 'interrupted')
      return { planned, run: found.run };
    const events = stored === undefined ? run(planned.experiment, { ...engine, root }) : resume(stored, engine);
    const progress =
      world.rank === 0 ? new RunProgress(name, { brief: true, after: () => pace.remaining() }) : undefined;
    const followed = await follow(pace.timed(events), progress);
    const { lost } = followed;
    stored = followed.stored ?? stored;
    return stored === undefined ? { planned, lost } : { planned, run: stored, lost };
  } catch (failure) {
    // Other processes may not have failed and would wait: all end, and the same command goes on.
    if (world.size > 1) throw failure;
    console.error(`${name}  failed: ${failure instanceof UserError ? told(failure) : (failure as Error).stack}`);
    return { planned, failure, ...(stored === undefined ? {} : { run: stored }) };
  }
}

const told = ({ message, hint }: UserError) => (hint === undefined ? message : `${message}; ${hint}`);

/** How long the rest will take, going by the runs that are done. */
class Pace {
  #left: number;
  #done = 0;
  #seconds = 0;
  #startedAt = 0;

  constructor(runs: number) {
    this.#left = runs;
  }

  async *timed(events: AsyncGenerator<Progress>): AsyncGenerator<Progress> {
    this.#startedAt = performance.now();
    this.#left -= 1;
    yield* events;
    this.#seconds += this.#elapsed();
    this.#done += 1;
  }

  #elapsed(): number {
    return (performance.now() - this.#startedAt) / 1000;
  }

  /** In the middle of a run, or as its last event is told. */
  remaining(): string {
    if (this.#done === 0) return '';
    const mean = this.#seconds / this.#done;
    return `  about ${duration(this.#left * mean + Math.max(0, mean - this.#elapsed()))} left in all`;
  }
}

async function finish(outcomes: readonly Outcome[], options: Options): Promise<void> {
  const summaries = new Map<Outcome, RunSummary>();
  for (const outcome of outcomes)
    if (outcome.run !== undefined) summaries.set(outcome, await summaryOrOutline(outcome.run));
  const statusOf = (outcome: Outcome) =>
    outcome.failure !== undefined ? 'failed' : (summaries.get(outcome)?.status ?? 'pending');
  if (options.json) {
    const rows = outcomes.map((outcome) => ({
      ...(summaries.get(outcome) ?? { id: null, name: outcome.planned.experiment.name }),
      status: statusOf(outcome),
      ...(outcome.failure === undefined ? {} : { reason: (outcome.failure as Error).message }),
      sweep: Object.fromEntries(outcome.planned.point),
    }));
    console.log(JSON.stringify(rows, null, 2));
  } else if (summaries.size > 0) {
    const labels = [...summaries.keys()].map(({ planned }) => labelOf(planned));
    console.log(`\n${summaryTable([...summaries.values()], labels)}\n\n${legend()}`);
  }
  const counts = new Map<string, number>();
  for (const outcome of outcomes) counts.set(statusOf(outcome), (counts.get(statusOf(outcome)) ?? 0) + 1);
  console.error(
    `\n${number(outcomes.length)} runs: ${[...counts].map(([status, n]) => `${number(n)} ${status}`).join(', ')}`,
  );
  if (counts.has('failed') || counts.has('diverged')) process.exitCode = 1;
}
