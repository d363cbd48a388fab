import { constants, copyFileSync, existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileSha256, requireSha256 } from '../base/content.ts';
import { UserError } from '../base/error.ts';
import { makeFolder, reason, writeWholeBy } from '../base/file.ts';
import { replaceFiles } from '../experiment/files.ts';
import type { Experiment } from '../experiment/schema.ts';

/** Where a run keeps its copy of a topology file, a module or a model. */
const copyIn = (folder: string, sha256: string) => resolve(folder, 'files', sha256);

/** The settings whose files are kept with a run. Data are not: they may be large, and whoever has none of them has no use for the run. */
const keeping = ({ topology, algorithm, model }: Experiment) => ({ topology, algorithm, model });

/** The files that an experiment names and a run keeps: SHA-256 → path; each is what the experiment says. */
export function filesToKeep(experiment: Experiment): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  replaceFiles(keeping(experiment), (file) => {
    if (file.sha256 === undefined) return file;
    requireSha256(file.path, sha256In(file.path), file.sha256);
    files.set(file.sha256, file.path);
    return file;
  });
  return files;
}

function sha256In(path: string): string {
  try {
    return fileSha256(path);
  } catch (cause) {
    throw new UserError(`cannot read the file ${path}: ${reason(cause)}`, { cause });
  }
}

/** A model is as large as a replica's row in a checkpoint; file systems that can share the blocks of both files do. */
export function keepFiles(folder: string, files: ReadonlyMap<string, string>): void {
  if (files.size > 0) makeFolder(resolve(folder, 'files'));
  for (const [sha256, path] of files)
    writeWholeBy(copyIn(folder, sha256), (temporary) => copyFileSync(path, temporary, constants.COPYFILE_FICLONE));
}

/** A stored run names its own copies: what became of the originals does not matter. */
export function withCopies(folder: string, experiment: Experiment): Experiment {
  const own = replaceFiles(keeping(experiment), ({ path, sha256 }) => {
    const copy = copyIn(folder, sha256 ?? '');
    return { path: sha256 !== undefined && existsSync(copy) ? copy : path, sha256 };
  });
  return { ...experiment, ...own };
}
