import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UserError } from './error.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  EEXIST: 'a file has that name',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  ENOSPC: 'the disk is full',
};

/** Why the system refused, without its internals. */
export function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return reasons[code ?? ''] ?? message;
}

/** The content of a file the user named; `what` says what it is for. */
export function readBytes(path: string, what: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw new UserError(`cannot read the ${what} ${path}: ${reason(cause)}`, { cause });
  }
}

export const readText = (path: string, what: string): string => readBytes(path, what).toString();

/** The value that a JSON text stands for; undefined if it is none. (What V8 says about it quotes the text, line breaks and all.) */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * With all folders above it; nothing happens if it is there. Unlike Node's own function it always returns: that one tries without end
 * if folders cannot be made at all, as below /proc.
 */
export function makeFolders(folder: string): void {
  const path = resolve(folder);
  if (!existsSync(dirname(path))) makeFolders(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/** The same for a folder that the user named. */
export function makeFolder(folder: string): void {
  try {
    makeFolders(folder);
  } catch (cause) {
    throw new UserError(`cannot make the folder ${folder}: ${reason(cause)}`, { cause });
  }
}

/** A temporary file beside the target that takes its place once it is whole, or is removed. */
function staged(path: string) {
  const temporary = `${path}.${randomUUID()}.tmp`;
  return {
    temporary,
    place: () => renameSync(temporary, path),
    /** What the system refused is the user's to solve; the rest are mistakes of ours. */
    drop(cause: unknown): unknown {
      rmSync(temporary, { force: true });
      const { syscall } = cause as NodeJS.ErrnoException;
      return syscall === undefined ? cause : new UserError(`cannot write ${path}: ${reason(cause)}`, { cause });
    },
  };
}

/** Lets `write` fill a file under a temporary name and renames it: the file is there whole or not at all. */
export function writeWholeBy(path: string, write: (temporary: string) => void): void {
  const { temporary, place, drop } = staged(path);
  try {
    write(temporary);
    place();
  } catch (cause) {
    throw drop(cause);
  }
}

/** The same for what takes its time to write. */
export async function writeWholeLater(path: string, write: (temporary: string) => Promise<unknown>): Promise<void> {
  const { temporary, place, drop } = staged(path);
  try {
    await write(temporary);
    place();
  } catch (cause) {
    throw drop(cause);
  }
}

export const writeWhole = (path: string, content: string | Uint8Array): void =>
  writeWholeBy(path, (temporary) => writeFileSync(temporary, content));
