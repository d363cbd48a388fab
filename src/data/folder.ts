import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { UserError } from '../base/error.ts';
import { reason } from '../base/file.ts';
import type { Collection, DataFile } from './set.ts';

/** Where data sets are kept: DBENCH_DATA, or a folder of ours in the user's cache. */
export function dataFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const given = environment.DBENCH_DATA;
  if (given !== undefined && given !== '') return given;
  return join(environment.XDG_CACHE_HOME || join(homedir(), '.cache'), 'dbench');
}

/** The path of a file as it is kept, plain or compressed, or undefined. */
export function findFile(folder: string, name: string): string | undefined {
  return [join(folder, name), join(folder, `${name}.gz`)].find((path) => existsSync(path));
}

/** The uncompressed content of a file. */
export function contentOf(path: string): Buffer {
  const raw = readFileSync(path);
  return path.endsWith('.gz') ? gunzipSync(raw, { maxOutputLength: 2 ** 32 }) : raw;
}

export function checksumOf(content: Uint8Array, like: string): string {
  const algorithm = like.slice(0, like.indexOf(':'));
  return `${algorithm}:${createHash(algorithm).update(content).digest('hex')}`;
}

const count = (value: number) => value.toLocaleString('en-US');

/** What is wrong with a content, or undefined. */
export function flaw(content: Uint8Array, file: Pick<DataFile, 'bytes' | 'checksum'>): string | undefined {
  if (content.length < file.bytes) return `truncated: ${count(content.length)} of ${count(file.bytes)} bytes`;
  if (content.length > file.bytes) return `${count(content.length)} bytes, expected ${count(file.bytes)}`;
  const found = checksumOf(content, file.checksum);
  return found === file.checksum ? undefined : `wrong checksum: ${found}, expected ${file.checksum}`;
}

export type FileState =
  | { readonly state: 'ok'; readonly path: string; readonly storedBytes: number; readonly content: Buffer }
  | { readonly state: 'damaged'; readonly path: string; readonly storedBytes: number; readonly problem: string }
  | { readonly state: 'missing' };

/** Reads and checks one file of a collection kept in `folder`. */
export function inspect(folder: string, file: DataFile): FileState {
  const path = findFile(folder, file.name);
  if (path === undefined) return { state: 'missing' };
  const storedBytes = statSync(path).size;
  try {
    const content = contentOf(path);
    const problem = flaw(content, file);
    return problem === undefined
      ? { state: 'ok', path, storedBytes, content }
      : { state: 'damaged', path, storedBytes, problem };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const problem = code === 'Z_BUF_ERROR' ? 'truncated' : code?.startsWith('Z_') ? 'not a gzip file' : reason(error);
    return { state: 'damaged', path, storedBytes, problem };
  }
}

/** Where a collection is kept: in the data folder, or where the installation has it. */
export const homeOf = (dataFolder: string, collection: Collection) => resolve(dataFolder, collection.folder);

/** What to do about a collection that is missing or damaged. */
export const remedy = (collection: Collection) =>
  collection.sources.length === 0
    ? 'it is part of the installation: install DBench again'
    : `get it with: dbench data get ${collection.name}`;

/** The content of a file of a collection, checked; a UserError says how to get or repair it. */
export function readChecked(dataFolder: string, collection: Collection, name: string): Buffer {
  const file = collection.files.find((candidate) => candidate.name === name)!;
  const home = homeOf(dataFolder, collection);
  const found = inspect(home, file);
  if (found.state === 'ok') return found.content;
  const message =
    found.state === 'missing'
      ? `the data set ${collection.name} is not here: there is no ${join(home, name)}`
      : `the data set ${collection.name} is damaged: ${found.path}: ${found.problem}`;
  throw new UserError(message, { hint: remedy(collection) });
}

/** Are all files of a collection there (their content is not read), and how large are they as kept? */
export function presence(dataFolder: string, collection: Collection): { here: boolean; storedBytes: number } {
  const paths = collection.files.map((file) => findFile(homeOf(dataFolder, collection), file.name));
  const storedBytes = paths.reduce((sum, path) => sum + (path === undefined ? 0 : statSync(path).size), 0);
  return { here: paths.every((path) => path !== undefined), storedBytes };
}
