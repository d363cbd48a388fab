import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileSha256, sha256Of } from '../base/content.ts';
import { UserError } from '../base/error.ts';
import { reason } from '../base/file.ts';
import { contentOf, findFile } from './folder.ts';

/** The images of a folder: the files in train/ and val/, in a folder per class; hidden ones are left out. */
function imagesIn(folder: string): string[] {
  const below = (path: string, levels: number): string[] => {
    if (!statSync(path).isDirectory()) return levels === 0 ? [path] : [];
    const names = levels === 0 ? [] : readdirSync(path).filter((name) => !name.startsWith('.'));
    return names.sort().flatMap((name) => below(join(path, name), levels - 1));
  };
  return ['train', 'val']
    .map((split) => join(folder, split))
    .flatMap((path) => (existsSync(path) ? below(path, 2) : []));
}

const ofFile = (file: string) => (file.endsWith('.gz') ? sha256Of(contentOf(file)) : fileSha256(file));

function ofFolder(folder: string, files: readonly string[]): string {
  const list = createHash('sha256');
  for (const file of files) list.update(`${fileSha256(file)}  ${relative(folder, file).replaceAll(sep, '/')}\n`);
  return list.digest('hex');
}

/** What this process has read before, by names, sizes and times of change. */
const known = new Map<string, string>();

/**
 * The SHA-256 of what a path names: of the uncompressed content of a file, plain or .gz; of a folder that of the list which
 * `sha256sum` prints for the images in it. Undefined if there is nothing: whoever reads it says so.
 */
export function contentSha256(path: string): string | undefined {
  const found = findFile('', path);
  if (found === undefined) return undefined;
  try {
    const kind = statSync(found);
    const isFolder = kind.isDirectory();
    // A device may have no end.
    if (!isFolder && !kind.isFile()) return undefined;
    const files = isFolder ? imagesIn(found) : [found];
    const state = createHash('sha256');
    for (const file of files) {
      const { size, mtimeMs } = statSync(file);
      state.update(`${file}\0${size}\0${mtimeMs}\n`);
    }
    const key = state.digest('hex');
    if (!known.has(key)) known.set(key, isFolder ? ofFolder(found, files) : ofFile(found));
    return known.get(key);
  } catch (cause) {
    throw new UserError(`cannot read ${found}: ${reason(cause)}`, { cause });
  }
}
