import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { suggest, UserError } from '../base/error.ts';
import { reason, writeWhole } from '../base/file.ts';
import { checkpointsIn } from '../engine/checkpoint.ts';
import type { EndEvent } from '../engine/event.ts';
import type { Experiment } from '../experiment/schema.ts';
import type { Context } from './context.ts';

/** How a run ended, written when it did. */
export interface Result extends Omit<EndEvent, 'type'> {
  /** Over all sittings. */
  readonly seconds: number;
}

export type Status = EndEvent['status'] | 'running' | 'interrupted';

/**
 * A run's folder: experiment.json (resolved), context.json (machine), events.duckdb, checkpoints/, and result.json when it has ended.
 * `lock` names the process that is writing.
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
  experiment,
  checkpoints: join(root, id, 'checkpoints'),
  database: join(root, id, 'events.duckdb'),
});

/** What an experiment is, as eight letters: equal for equal settings. */
export function fingerprint(experiment: Experiment): string {
  return createHash('sha256').update(JSON.stringify(experiment)).digest('hex').slice(0, 8);
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (cause) {
    throw new UserError(`cannot make the folder ${path}: ${reason(cause)}`, { cause });
  }
}

/** A new folder named after the experiment; the second run of the same gets a number. */
export function createRun(root: string, experiment: Experiment, context: Context): Run {
  makeFolder(root);
  const base = `${experiment.name}-${fingerprint(experiment)}`;
  for (let count = 1; ; count++) {
    const run = at(root, count === 1 ? base : `${base}-${count}`, experiment);
    if (existsSync(run.folder)) continue;
    makeFolder(run.folder);
    lock(run);
    writeWhole(join(run.folder, 'experiment.json'), json(experiment));
    writeWhole(join(run.folder, 'context.json'), json(context));
    return run;
  }
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** The process that is writing to a run, if it lives. */
function writer({ folder }: Run): number | undefined {
  const path = join(folder, 'lock');
  const pid = existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
  return pid > 0 && alive(pid) ? pid : undefined;
}

/** Only one process may write to a run. */
export function lock(run: Run): void {
  const pid = writer(run);
  if (pid !== undefined && pid !== process.pid)
    throw new UserError(`${run.id} is being written by process ${pid}`, { hint: 'wait until it has ended, or end it' });
  writeWhole(join(run.folder, 'lock'), String(process.pid));
}

export function unlock({ folder }: Run): void {
  rmSync(join(folder, 'lock'), { force: true });
}

export function readContext({ folder }: Run): Context {
  return JSON.parse(readFileSync(join(folder, 'context.json'), 'utf8'));
}

export function readResult({ folder }: Run): Result | undefined {
  const path = join(folder, 'result.json');
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

export function writeResult({ folder }: Run, result: Result): void {
  writeWhole(join(folder, 'result.json'), json(result));
}

export function statusOf(run: Run): Status {
  if (writer(run) !== undefined) return 'running';
  return readResult(run)?.status ?? 'interrupted';
}

/** All runs below a folder, oldest first. */
export function listRuns(root: string): Run[] {
  if (!existsSync(root)) return [];
  const runs = readdirSync(root).flatMap((id) => {
    const path = join(root, id, 'experiment.json');
    return existsSync(path) ? [at(root, id, JSON.parse(readFileSync(path, 'utf8')))] : [];
  });
  return runs.sort((a, b) => readContext(a).startedAt.localeCompare(readContext(b).startedAt));
}

/** The run with this id, or the only one whose id begins so. */
export function findRun(root: string, id: string): Run {
  const runs = listRuns(root);
  const exact = runs.find((run) => run.id === id);
  const near = runs.filter((run) => run.id.startsWith(id));
  if (exact !== undefined) return exact;
  if (near.length === 1) return near[0]!;
  if (near.length > 1)
    throw new UserError(`"${id}" may be ${near.map((run) => run.id).join(' or ')}`, { hint: 'give more of the id' });
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

/** The newest whole checkpoint of a run. */
export function newestCheckpoint(run: Run): number | undefined {
  return checkpointsIn(run.checkpoints).at(-1);
}
