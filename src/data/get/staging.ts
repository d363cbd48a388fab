import { renameSync, rmdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { UserError } from '../../base/error.ts';
import { makeFolders, reason } from '../../base/file.ts';
import { takeLock } from '../../base/lock.ts';
import { findFile } from '../folder.ts';
import type { Collection, DataFile } from '../set.ts';

/** Where the files wait until all of them are there and right. Interrupted downloads stay in it, to be continued. */
export const stagingOf = (dataFolder: string, collection: Collection) => join(dataFolder, '.partial', collection.name);

/** Errors of the file system are the user's to solve; the rest are ours. */
export function writeFailure(error: unknown, staging: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined || error instanceof UserError) return error;
  try {
    rmSync(staging, { recursive: true, force: true });
  } catch {
    // Where nothing could be written there may be nothing to remove.
  }
  return new UserError(`cannot write to ${staging}: ${reason(error)}`, {
    cause: error,
    hint: 'DBENCH_DATA names another folder for data',
  });
}

/** Moves complete files to their place; the other form of a file (plain, compressed) there would hide or outlive it. */
export function settle(wanted: readonly DataFile[], staging: string, home: string): void {
  try {
    makeFolders(home);
    for (const { name } of wanted) {
      const path = findFile(staging, name)!;
      renameSync(path, join(home, basename(path)));
      for (const old of [name, `${name}.gz`]) if (old !== basename(path)) rmSync(join(home, old), { force: true });
    }
  } catch (error) {
    throw writeFailure(error, staging);
  }
}

/** One process at a time may fetch a collection; a lock whose process is gone does not count. */
export function claim(staging: string, name: string): () => void {
  const path = join(staging, 'lock');
  try {
    makeFolders(staging);
    const lock = takeLock(path);
    if (typeof lock !== 'function')
      throw new UserError(`${lock.holder} is getting ${name} right now`, { hint: `wait, or remove ${path}` });
    return () => {
      lock();
      removeIfEmpty(staging);
      removeIfEmpty(join(staging, '..'));
    };
  } catch (error) {
    throw writeFailure(error, staging);
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Something in it is still wanted.
  }
}
