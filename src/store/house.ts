import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../base/error.ts';
import { reason } from '../base/file.ts';
import type { Run } from './runs.ts';

/** What a file, or a folder with all that is in it, takes; 0 for what is not there. */
export function sizeOf(path: string): number {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) return stats.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (cause) {
    throw new UserError(`cannot remove ${path}: ${reason(cause)}`, { cause });
  }
}

/** The checkpoints of a run, with its trained parameters; results and events stay. */
export const removeCheckpoints = ({ checkpoints }: Run): void => remove(checkpoints);

export function removeRun({ folder }: Run): void {
  // First: without it the folder is no run, so that none is ever half there.
  remove(join(folder, 'experiment.json'));
  remove(folder);
}
