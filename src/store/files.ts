import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { requireSha256, sha256Of } from '../base/content.ts';
import { makeFolder, readBytes, writeWhole } from '../base/file.ts';
import { replaceFiles } from '../experiment/files.ts';
import type { Experiment } from '../experiment/schema.ts';

/** Where a run keeps its copy of a topology file or a module. */
const copyIn = (folder: string, sha256: string) => resolve(folder, 'files', sha256);

/** The topology files and modules that an experiment names, by their SHA-256. */
export function smallFiles({ topology, algorithm }: Experiment): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>();
  replaceFiles([topology, algorithm], (file) => {
    if (file.sha256 === undefined) return file;
    const content = readBytes(file.path, 'file');
    requireSha256(file.path, sha256Of(content), file.sha256);
    files.set(file.sha256, content);
    return file;
  });
  return files;
}

export function keepFiles(folder: string, files: ReadonlyMap<string, Buffer>): void {
  if (files.size > 0) makeFolder(resolve(folder, 'files'));
  for (const [sha256, content] of files) writeWhole(copyIn(folder, sha256), content);
}

/** A stored run names its own copies of topology files and modules: what became of the originals does not matter. */
export function withCopies(folder: string, experiment: Experiment): Experiment {
  const { topology, algorithm } = replaceFiles(
    { topology: experiment.topology, algorithm: experiment.algorithm },
    ({ path, sha256 }) => {
      const copy = copyIn(folder, sha256 ?? '');
      return { path: sha256 !== undefined && existsSync(copy) ? copy : path, sha256 };
    },
  );
  return { ...experiment, topology, algorithm };
}
