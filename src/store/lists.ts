import { randomBytes } from 'node:crypto';
import { readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { makeFolder, parseJson, readText, writeWhole } from '../base/file.ts';
import { readLock, writeLock } from '../base/lock.ts';

/** A comparison or sweep that a command is carrying out, told beside its runs: those that are still to come have no folder. */
const listSchema = z.object({
  title: z.string(),
  startedAt: z.string(),
  total: z.int().min(1),
  /** Runs that have ended, and how long those that this command carried out took together. */
  ended: z.int().min(0),
  timed: z.int().min(0),
  seconds: z.number().min(0),
  /** The run that is going on. */
  run: z.string().nullable(),
});

export type RunList = Readonly<z.output<typeof listSchema>>;

const folderOf = (root: string) => join(root, '.lists');

/** Tells a list from its first run on; `close` takes it back. What cannot be written is not told: nothing depends on it. */
export class ListNote {
  readonly #root: string;
  readonly #path: string;
  #release: (() => void) | undefined;
  #list: RunList;

  constructor(root: string, title: string, total: number) {
    const startedAt = new Date().toISOString();
    this.#list = { title, startedAt, total, ended: 0, timed: 0, seconds: 0, run: null };
    this.#root = root;
    this.#path = join(folderOf(root), randomBytes(6).toString('hex'));
  }

  get list(): RunList {
    return this.#list;
  }

  tell(changes: Partial<RunList>): void {
    this.#list = { ...this.#list, ...changes };
    try {
      this.#release ??= this.#begin();
      writeWhole(`${this.#path}.json`, JSON.stringify(this.#list));
    } catch {
      // As said.
    }
  }

  #begin(): () => void {
    makeFolder(folderOf(this.#root));
    for (const left of listsIn(this.#root)) if (!left.held) remove(left.path);
    return writeLock(`${this.#path}.lock`);
  }

  close(): void {
    this.#release?.();
    remove(this.#path);
    try {
      // Only if no other list is told.
      rmdirSync(folderOf(this.#root));
    } catch {
      // As said.
    }
  }
}

function remove(path: string): void {
  try {
    for (const ending of ['json', 'lock']) rmSync(`${path}.${ending}`, { force: true });
  } catch {
    // It was never there.
  }
}

/** All that were told, those of killed commands included. */
function listsIn(root: string): { readonly path: string; readonly held: boolean }[] {
  let names: string[];
  try {
    names = readdirSync(folderOf(root));
  } catch {
    return [];
  }
  const paths = names.flatMap((name) => (name.endsWith('.json') ? [join(folderOf(root), name.slice(0, -5))] : []));
  return paths.map((path) => ({ path, held: readLock(`${path}.lock`)?.held === true }));
}

/** The lists that are being carried out, the oldest first. */
export function runningLists(root: string): RunList[] {
  const found = listsIn(root).flatMap(({ path, held }) => {
    if (!held) return [];
    try {
      const parsed = listSchema.safeParse(parseJson(readText(`${path}.json`, 'list')));
      return parsed.success ? [parsed.data] : [];
    } catch {
      // It ended at this moment.
      return [];
    }
  });
  return found.sort((a, b) => a.startedAt.localeCompare(b.startedAt));
}
