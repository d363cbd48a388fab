import { extname, resolve } from 'node:path';
import { contentSha256 } from '../data/content.ts';
import { findFile } from '../data/folder.ts';
import { libsvmNames } from '../data/sets/libsvm.ts';
import { isData } from './path.ts';

/**
 * Files that an experiment names are part of the run. A setting that names one is called `path` or `…Path`, and the SHA-256 of its
 * content stands in the setting beside it: filled in when the experiment is resolved, checked when the file is read.
 */
const namesFile = (key: string) => /^(path|\w+Path)$/.test(key);
const sha256Key = (key: string) => (key === 'path' ? 'sha256' : key.replace(/Path$/, 'Sha256'));

/** Whether one word for a network stands for a file. */
export const isNetworkFile = (word: string): boolean => ['.yaml', '.yml', '.json'].includes(extname(word));

/** The settings with all paths counted from this folder; keys may be whole paths of settings, as in a sweep. */
export function locate(settings: unknown, folder: string, key = ''): unknown {
  if (typeof settings === 'string') {
    const isFile = (namesFile(key) && settings !== '') || (key === 'network' && isNetworkFile(settings));
    return isFile ? located(settings, folder) : settings;
  }
  if (Array.isArray(settings)) return settings.map((item) => locate(item, folder, key));
  if (!isData(settings)) return settings;
  const lastOf = (name: string) => name.slice(name.lastIndexOf('.') + 1);
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, locate(value, folder, lastOf(name))]),
  );
}

/** `a9a` is a set that can be downloaded, unless there is a file of that name. */
function located(path: string, folder: string): string {
  const absolute = resolve(folder, path);
  return libsvmNames.includes(path) && findFile('', absolute) === undefined ? path : absolute;
}

/** A file in the settings: where it is, and what it holds. */
interface NamedFile {
  readonly path?: string;
  readonly sha256?: string | undefined;
}

/** The settings with every file replaced; their order stays that of the schema. */
export function replaceFiles<T>(settings: T, replace: (file: Required<NamedFile>) => NamedFile): T {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (!isData(value)) return value;
    const keys = Object.keys(value).filter((key) => namesFile(key) && typeof value[key] === 'string');
    const sums = keys.map(sha256Key);
    const entries = Object.entries(value).flatMap(([key, part]): [string, unknown][] => {
      if (sums.includes(key)) return [];
      if (!keys.includes(key)) return [[key, walk(part)]];
      const { path, sha256 } = replace({ path: part as string, sha256: value[sha256Key(key)] as string | undefined });
      const file: [string, unknown][] = [
        [key, path],
        [sha256Key(key), sha256],
      ];
      return file.filter(([, each]) => each !== undefined);
    });
    return Object.fromEntries(entries);
  };
  return walk(settings) as T;
}

/** The settings with the SHA-256 of every file that is there. */
export const pinned = <T>(settings: T): T =>
  replaceFiles(settings, ({ path, sha256 }) => ({ path, sha256: sha256 ?? contentSha256(path) }));

/** The settings with the content of files in place of their paths. */
export const byContent = <T>(settings: T): T =>
  replaceFiles(settings, ({ path, sha256 }) => (sha256 === undefined ? { path } : { sha256 }));
