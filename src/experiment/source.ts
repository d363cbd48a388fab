import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LineCounter, parseDocument } from 'yaml';
import { suggest, UserError } from '../base/error.ts';
import { readText } from '../base/file.ts';
import { locate } from './files.ts';
import { type Data, isData } from './path.ts';

/** Reads YAML or JSON; mistakes are reported with file and line. */
export function parseText(text: string, where: string): unknown {
  const lines = new LineCounter();
  const hint = 'the file must be YAML or JSON';
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
    const problem = document.errors[0];
    if (problem !== undefined)
      throw new UserError(`${where}:${lines.linePos(problem.pos[0]).line}: ${problem.message}`, { hint });
    const value: unknown = document.toJS();
    // Refuses what contains itself.
    JSON.stringify(value);
    return value;
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new UserError(`${where}: ${whyUnreadable(cause as Error)}`, { cause, hint });
  }
}

function whyUnreadable({ name, message }: Error): string {
  if (name === 'RangeError') return 'it is nested too deeply';
  // An alias (*name) without an anchor (&name) before it, or too many of them, is told by its message.
  return name === 'ReferenceError' ? message : 'an alias stands for something that contains it';
}

/** The experiments that come with the package. */
const shippedFolder = fileURLToPath(new URL('../../experiments/', import.meta.url));
const shippedPath = (name: string) => join(shippedFolder, `${name}.yaml`);

/** Those that can be run, by name. */
export function shippedExperiments(): { readonly name: string; readonly description: string; readonly path: string }[] {
  const files = readdirSync(shippedFolder).filter((file) => file.endsWith('.yaml'));
  return files.sort().map((file) => {
    const path = join(shippedFolder, file);
    const { description } = parseText(readText(path, 'experiment'), path) as { readonly description: string };
    return { name: basename(file, '.yaml'), description, path };
  });
}

/** What a word stands for: the file with this path, if there is one, otherwise an experiment that comes with the package. */
export function findExperiment(word: string, folder = process.cwd()): string {
  const path = resolve(folder, word);
  if (existsSync(path) && !statSync(path).isDirectory()) return path;
  if (/^[\w-]+(\/[\w-]+)?$/.test(word) && existsSync(shippedPath(word))) return shippedPath(word);
  const names = shippedExperiments().map(({ name }) => name);
  throw new UserError(
    `cannot read the experiment ${word}: ${existsSync(path) ? 'it is a folder' : 'no such file or folder'}`,
    { hint: `give a file, or the name of an experiment that comes with DBench; ${suggest(word, names)}` },
  );
}

/** The settings in an experiment file, laid on top of those that it extends. Paths in a file count from its folder. */
export function readSettings(path: string, where = path, extending: readonly string[] = []): unknown {
  if (extending.includes(path)) throw new UserError(`${where}: extends itself, by ${extending.join(', ')}`);
  const data = locate(parseText(readText(path, 'experiment'), where), dirname(path));
  return extended(data, where, dirname(path), [...extending, path]);
}

/** Settings with what they extend: another file, by path or by the name of an experiment that comes with the package. */
export function extended(data: unknown, where: string, folder: string, extending: readonly string[] = []): unknown {
  if (!isData(data) || data.extends === undefined) return data;
  const { extends: word, ...own } = data;
  if (typeof word !== 'string')
    throw new UserError(
      `${where}: extends: must be the name or the path of an experiment, got ${JSON.stringify(word)}`,
    );
  const path = findExperiment(word, folder);
  const base = readSettings(path, word, extending);
  if (!isData(base)) throw new UserError(`${path}: must be a group of settings to be extended`);
  // What it is, a file says for itself.
  const { description: _, ...inherited } = base;
  const merged = merge(inherited, own) as Data;
  return isList(base.compare) && isList(own.compare)
    ? { ...merged, compare: mergedVariants(base.compare, own.compare) }
    : merged;
}

const isList = (value: unknown): value is readonly Data[] => Array.isArray(value) && value.every(isData);

/** Variants of the same name are merged, others are added. */
function mergedVariants(base: readonly Data[], own: readonly Data[]): unknown[] {
  const named = (variants: readonly Data[], name: unknown) => variants.find((variant) => variant.name === name);
  return [
    ...base.map((variant) => merge(variant, named(own, variant.name) ?? {})),
    ...own.filter(({ name }) => named(base, name) === undefined),
  ];
}

/** `over` laid on top of `base`, group by group; a group whose `kind` changes, or that names another module, is replaced as a whole. */
export function merge(base: unknown, over: unknown): unknown {
  if (!isData(base) || !isData(over)) return over;
  const isOther = over.kind !== base.kind || (over.kind === 'module' && over.path !== base.path);
  if (over.kind !== undefined && isOther) return over;
  const merged = { ...base };
  for (const [key, value] of Object.entries(over)) merged[key] = key in base ? merge(base[key], value) : value;
  return merged;
}
