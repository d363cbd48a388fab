import { accessSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { suggest, UserError } from '../base/error.ts';
import { makeFolder, reason } from '../base/file.ts';
import { readLock, writeLock } from '../base/lock.ts';
import { checkpointsIn, rewindCheckpoints } from '../engine/checkpoint.ts';
import type { EndEvent } from '../engine/event.ts';
import type { Experiment } from '../experiment/schema.ts';
import { toMeasure } from '../network/devices.ts';
import type { MachineContext } from './context.ts';
import type { EventStore } from './database.ts';
import { filesToKeep, keepFiles, withCopies } from './files.ts';
import { fingerprintOf, identityIn, identityOf } from './identity.ts';
import { contextIn, experimentIn, type Result, resultIn, writePart } from './parts.ts';

export type Status = EndEvent['status'] | 'running' | 'interrupted';

/**
 * A run's folder: experiment.json (resolved), context.json (machine), dealt.json (who has which data), events.duckdb, checkpoints/, files/ (copies of topology files, modules and models,
 * by SHA-256), and result.json when it has ended. While it is written there are `lock`, which names the process that does, and live.jsonl.
 */
export interface Run {
  readonly id: string;
  readonly folder: string;
  readonly experiment: Experiment;
  readonly checkpoints: string;
  readonly database: string;
}

const at = (root: string, id: string, experiment: Experiment): Run => ({
  id,
  folder: join(root, id),
  experiment: withCopies(join(root, id), experiment),
  checkpoints: join(root, id, 'checkpoints'),
  database: join(root, id, 'events.duckdb'),
});

/** The run of this very name; refused if it cannot be read. */
export const openRun = (root: string, id: string): Run => at(root, id, experimentIn(join(root, id)));

const idOf = (experiment: Experiment) => `${experiment.name}-${fingerprintOf(identityOf(experiment))}`;

/** Whether the folder is new: of two processes that want it only one makes it. */
function claimFolder(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new UserError(`cannot make the folder ${path}: ${reason(cause)}`, { cause });
  }
}

/** A new folder named after the experiment; the second run of the same gets a number. */
export function createRun(root: string, experiment: Experiment, context: MachineContext): Run {
  makeFolder(root);
  const base = idOf(experiment);
  const files = filesToKeep(experiment);
  for (let count = 1; ; count++) {
    const id = count === 1 ? base : `${base}-${count}`;
    const folder = join(root, id);
    if (!claimFolder(folder)) continue;
    writePart(folder, 'context.json', context);
    keepFiles(folder, files);
    // Last: with it the folder counts as a run.
    writePart(folder, 'experiment.json', experiment);
    return at(root, id, experiment);
  }
}

/** Who makes this file asks the run to end after its step, with a checkpoint; it is looked for about every second. */
export const stopFile = ({ folder }: Pick<Run, 'folder'>) => join(folder, 'stop');

const lockOf = ({ folder }: Run) => join(folder, 'lock');

/** Tells others who is writing; returns what takes it back. What keeps a second process out is the database, which only one can open. */
export const lock = (run: Run): (() => void) => writeLock(lockOf(run));

/** How long a process that was just killed may take to be gone. */
const patienceMs = 5000;

/** Another process that is writing is named, before the database refuses. */
export async function refuseSecond(run: Run): Promise<void> {
  const other = () => {
    const found = readLock(lockOf(run));
    return found?.held && !found.own ? found : undefined;
  };
  for (const start = performance.now(); other() && performance.now() - start < patienceMs; ) await sleep(100);
  const writer = other();
  if (writer !== undefined)
    throw new UserError(`${run.id} is being written by ${writer.holder}`, {
      hint: `wait until it has ended; if it is something else, remove ${lockOf(run)}`,
    });
}

/** A run that has ended, or that another process is writing, cannot be resumed. */
export async function refuseResume(run: Run): Promise<void> {
  const result = readResult(run);
  if (result !== undefined && result.status !== 'stopped')
    throw new UserError(`${run.id} is ${result.status}: there is nothing to resume`, {
      hint: `see it with: dbench show ${run.id}`,
    });
  await refuseSecond(run);
}

/** Back to the newest of these checkpoints whose events are stored as well; undefined: to the beginning. */
export async function rewind(
  run: Run,
  store: EventStore,
  checkpoints: readonly number[] = checkpointsIn(run.checkpoints),
): Promise<number | undefined> {
  const stored = new Set(await store.checkpoints());
  const step = checkpoints.findLast((each) => stored.has(each));
  await store.rewind(step ?? 0);
  rewindCheckpoints(run.checkpoints, step ?? 0);
  return step;
}

export const readContext = ({ folder }: Run): MachineContext => contextIn(folder);
export const readResult = ({ folder }: Run): Result | undefined => resultIn(folder);
export const writeResult = ({ folder }: Run, result: Result): void => writePart(folder, 'result.json', result);

/** Writes how a run ended; `seconds` are those since it was started or resumed. */
export function writeEnd(run: Run, { type: _, ...end }: EndEvent, seconds: number): void {
  writeResult(run, { ...end, seconds: (readResult(run)?.seconds ?? 0) + seconds });
}

export function statusOf(run: Run): Status {
  const lock = readLock(lockOf(run));
  if (lock?.held) return 'running';
  const ended = readResult(run)?.status ?? 'interrupted';
  // Stopped, resumed, and then killed: it could no longer say so.
  return ended === 'stopped' && lock !== undefined ? 'interrupted' : ended;
}

/** The other machine that is writing a run; undefined if none is. */
export function hostOf(run: Run): string | undefined {
  const lock = readLock(lockOf(run));
  return lock?.held ? lock.host : undefined;
}

/** All runs below a folder, oldest first, and what is wrong with those that cannot be read. */
export function scanRuns(root: string): { readonly runs: Run[]; readonly problems: readonly string[] } {
  if (!existsSync(root)) return { runs: [], problems: [] };
  const problems: string[] = [];
  const found: { run: Run; startedAt: string }[] = [];
  for (const id of foldersIn(root)) {
    const folder = join(root, id);
    if (!present(join(folder, 'experiment.json'))) continue;
    try {
      const run = at(root, id, experimentIn(folder));
      readResult(run);
      found.push({ run, startedAt: readContext(run).startedAt });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push(error.message);
    }
  }
  found.sort((a, b) => a.startedAt.localeCompare(b.startedAt));
  return { runs: found.map(({ run }) => run), problems };
}

/** True also for a file that may not be read: the attempt to read it says why. */
function present(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch (error) {
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code!);
  }
}

function foldersIn(root: string): string[] {
  try {
    return readdirSync(root);
  } catch (cause) {
    throw new UserError(`cannot read the folder ${root}: ${reason(cause)}`, { cause });
  }
}

/** Ids name runs in tables and reports; folders that were renamed or come from elsewhere may share one. */
export function refuseSameIds(runs: readonly Run[]): void {
  const seen = new Map<string, Run>();
  for (const run of runs) {
    const other = seen.get(run.id);
    if (other !== undefined)
      throw new UserError(`two runs have the id ${run.id}: ${other.folder} and ${run.folder}`, {
        hint: 'leave one out, or rename the folder of one, which is its id',
      });
    seen.set(run.id, run);
  }
}

/** The step of the newest checkpoint: what would not have to be done again. */
export const stepsKept = (run: Run): number => checkpointsIn(run.checkpoints).at(-1) ?? 0;

export interface Standing {
  readonly run: Run;
  readonly status: Status;
}

/** What an experiment has come to in this root, by the run that is furthest of those that count; undefined: it was never started. */
export function standing(
  root: string,
  experiment: Experiment,
  counts: (run: Run) => boolean = () => true,
): Standing | undefined {
  const wanted = identityOf(experiment);
  // Names of folders are not relied on: those of other versions were made from other settings.
  const ids = existsSync(root) ? foldersIn(root).filter((id) => id.startsWith(`${experiment.name}-`)) : [];
  const runs = ids
    .filter((id) => is(wanted, root, id))
    .map((id) => at(root, id, asMeasured(experiment, join(root, id))));
  const order: readonly Status[] = ['complete', 'diverged', 'running', 'stopped', 'interrupted'];
  return runs
    .filter(counts)
    .map((run) => ({ run, status: statusOf(run) }))
    .sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status) || stepsKept(b.run) - stepsKept(a.run))[0];
}

/** What was measured when a run began is stored with it. */
const asMeasured = (experiment: Experiment, folder: string): Experiment =>
  experiment.devices !== undefined && toMeasure(experiment.devices)
    ? { ...experiment, devices: experimentIn(folder).devices }
    : experiment;

/** A run that cannot be read is in the way only if its name says that it is the one. */
function is(wanted: string, root: string, id: string): boolean {
  try {
    return identityIn(join(root, id)) === wanted;
  } catch (error) {
    if (error instanceof UserError && !id.includes(fingerprintOf(wanted))) return false;
    throw error;
  }
}

export const listRuns = (root: string): Run[] => scanRuns(root).runs;

/** So many are named. */
const mostNear = 10;

/** The run with this id, or the only one whose id begins so. */
export function findRun(root: string, id: string): Run {
  const { runs, problems } = scanRuns(root);
  const exact = runs.find((run) => run.id === id);
  const near = runs.filter((run) => run.id.startsWith(id));
  if (exact !== undefined) return exact;
  if (near.length === 1) return near[0]!;
  if (near.length > 1)
    throw new UserError(
      `"${id}" may be ${near
        .slice(0, mostNear)
        .map((run) => run.id)
        .join(' or ')}${near.length > mostNear ? ` or ${near.length - mostNear} more` : ''}`,
      { hint: 'give more of the id' },
    );
  const damaged = problems.find((problem) => problem.includes(join(root, id)));
  if (damaged !== undefined) throw new UserError(damaged);
  throw new UserError(`there is no run "${id}" in ${root}`, {
    hint:
      runs.length === 0
        ? 'start one with: dbench run FILE'
        : suggest(
            id,
            runs.map((run) => run.id),
          ),
  });
}

/**
 * The runs that a word stands for, oldest first: a run's folder, a folder of runs, an id, the beginning of ids, or a pattern of ids
 * with `*`.
 */
export function findRuns(root: string, word: string): Run[] {
  if (existsSync(join(word, 'experiment.json'))) return [findRun(dirname(resolve(word)), basename(resolve(word)))];
  if (existsSync(word) && statSync(word).isDirectory()) {
    const { runs, problems } = scanRuns(word);
    if (runs.length > 0) return runs;
    throw new UserError(problems[0] ?? `there are no runs in the folder ${word}`);
  }
  const { runs } = scanRuns(root);
  const exact = runs.filter((run) => run.id === word);
  if (exact.length > 0) return exact;
  const pattern = word.replaceAll(/[^\w*]/g, '\\$&').replaceAll('*', '.*');
  const matching = new RegExp(`^${pattern}${word.includes('*') ? '$' : ''}`);
  const found = runs.filter((run) => matching.test(run.id));
  return found.length > 0 ? found : [findRun(root, word)];
}
