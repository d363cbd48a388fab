import { Command } from 'commander';
import { UserError } from '../base/error.ts';
import { dataFolder, homeOf, inspect, presence, remedy } from '../data/folder.ts';
import { type Got, get, sourceName } from '../data/get/get.ts';
import type { Collection } from '../data/set.ts';
import { allSets, collectionOf, collections } from '../data/sets.ts';
import { inspectCommand } from './data-inspect.ts';
import { partitionCommand } from './data-partition.ts';
import { progressOn } from './download-progress.ts';
import { jsonOption } from './options.ts';
import { bytes, number, table } from './print.ts';

interface Json {
  readonly json?: true;
}

const contentBytes = (collection: Collection) => collection.files.reduce((sum, file) => sum + file.bytes, 0);

/** Every set and every collection that goes with one, as `list` shows them. */
function listed(folder: string) {
  const kept = collections.map((collection) => {
    const { here, storedBytes } = presence(folder, collection);
    const builtIn = collection.sources.length === 0;
    return {
      name: collection.name,
      contents: collection.summary,
      here: builtIn ? 'built in' : here ? 'yes' : 'no',
      bytes: contentBytes(collection),
      storedBytes,
      from: collection.from,
      licence: collection.licence,
      sources: collection.sources.map(sourceName),
    };
  });
  const others = allSets
    .filter((set) => set.collection === undefined)
    .map(({ name, summary, origin }) => ({
      name,
      contents: summary,
      here: name === 'synthetic' ? 'built in' : 'yours',
      bytes: null,
      storedBytes: 0,
      ...origin!,
      sources: [],
    }));
  return [...kept, ...others];
}

function listCommand(): Command {
  return new Command('list')
    .description('every data set: whether it is here, its size, where it comes from, its licence')
    .addOption(jsonOption())
    .action((options: Json) => {
      const folder = dataFolder();
      const rows = listed(folder);
      if (options.json) return console.log(JSON.stringify({ folder, sets: rows }, null, 2));
      const cells = rows.map((row) => [
        row.name,
        row.here,
        row.bytes === null ? '' : bytes(row.bytes),
        row.contents,
        row.from,
        row.licence,
      ]);
      const text = ['here', 'contents', 'from', 'licence'];
      console.log(table(['set', 'here', 'size', 'contents', 'from', 'licence'], cells, text));
      console.log(`\nkept in ${folder} (DBENCH_DATA names another folder)`);
      if (rows.some((row) => row.here === 'no')) console.log('to get one: dbench data get <set>');
    });
}

function gotText(got: Got, collection: Collection): string {
  const size = `${number(collection.files.length)} file${collection.files.length === 1 ? '' : 's'}, ${bytes(contentBytes(collection))}`;
  return got.source === null
    ? `${got.name}: already here, checksums match (${size} in ${got.folder})`
    : `${got.name}: ${size} in ${got.folder}, from ${got.source}, checksums match`;
}

function getCommand(): Command {
  return new Command('get')
    .description('download data sets, checked; an interrupted download is continued')
    .argument('<set...>', `of: ${collections.map(({ name }) => name).join(', ')}`)
    .addOption(jsonOption())
    .addHelpText('after', '\nDBENCH_MIRROR names a server with a folder laid out like the data folder, tried first.')
    .action(async (names: string[], options: Json) => {
      const wanted = names.map(collectionOf);
      const progress = options.json ? undefined : progressOn(process.stderr);
      const stop = new AbortController();
      const interrupt = () => stop.abort();
      process.once('SIGINT', interrupt);
      const results: Got[] = [];
      try {
        for (const collection of wanted) {
          const got = await get(collection, dataFolder(), {
            mirror: process.env.DBENCH_MIRROR,
            signal: stop.signal,
            onEvent: progress?.onEvent,
          });
          results.push(got);
          progress?.end();
          if (!options.json) console.log(gotText(got, collection));
        }
        if (options.json) console.log(JSON.stringify(results, null, 2));
      } catch (error) {
        progress?.end();
        if (!stop.signal.aborted) throw error;
        console.error('dbench: stopped; what was fetched is kept, the same command continues');
        process.exitCode = 130;
      } finally {
        process.removeListener('SIGINT', interrupt);
      }
    });
}

function verified(folder: string, collection: Collection) {
  const files = collection.files.map((file) => {
    const found = inspect(homeOf(folder, collection), file);
    return {
      name: file.name,
      state: found.state,
      problem: found.state === 'damaged' ? found.problem : null,
    };
  });
  const state = files.every((file) => file.state === 'missing')
    ? 'not here'
    : files.every((file) => file.state === 'ok')
      ? 'ok'
      : files.some((file) => file.state === 'damaged')
        ? 'damaged'
        : 'incomplete';
  return { name: collection.name, state, files };
}

/** What `verify` says about one collection, beyond its state. */
function detail({ state, files }: ReturnType<typeof verified>, collection: Collection): string {
  if (state === 'ok')
    return `${number(files.length)} file${files.length === 1 ? '' : 's'}, ${bytes(contentBytes(collection))}`;
  if (state === 'not here') return remedy(collection);
  return files
    .filter((file) => file.state !== 'ok')
    .map((file) => `${file.name}: ${file.problem ?? 'missing'}`)
    .join('; ');
}

function verifyCommand(): Command {
  return new Command('verify')
    .description('compare the files of data sets with their checksums; all that are here, or those named')
    .argument('[set...]')
    .addOption(jsonOption())
    .action((names: string[], options: Json) => {
      const folder = dataFolder();
      const asked = names.length === 0 ? collections : names.map(collectionOf);
      const results = asked.map((collection) => verified(folder, collection));
      if (options.json) console.log(JSON.stringify({ folder, sets: results }, null, 2));
      else {
        const rows = results.map((result, i) => [result.name, result.state, detail(result, asked[i]!)]);
        console.log(table(['set', 'state', 'files'], rows, ['state', 'files']));
      }
      // A set nobody asked for may be absent.
      const bad = results.filter(({ state }) => state !== 'ok' && (names.length > 0 || state !== 'not here'));
      if (bad.length === 0) return;
      throw new UserError(bad.map(({ name, state }) => `${name} is ${state}`).join(', '), {
        hint: bad.map(({ name }) => remedy(collectionOf(name))).join('; '),
      });
    });
}

export function command(): Command {
  return new Command('data')
    .addCommand(listCommand())
    .addCommand(getCommand())
    .addCommand(verifyCommand())
    .addCommand(inspectCommand())
    .addCommand(partitionCommand());
}
