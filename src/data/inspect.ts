import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { suggest, UserError } from '../base/error.ts';
import { ownFile } from './own.ts';
import { parseLibsvm } from './sets/libsvm.ts';
import { readArrays } from './sets/numpy/pair.ts';
import { textIn } from './sets/text.ts';
import { type ColumnFacts, isTable, type TextColumn, withTable } from './table/table.ts';

/** How often each value occurs, the most frequent first. */
export type Counts = readonly (readonly [value: string, count: number])[];

export interface ArrayFacts {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly min: number;
  readonly mean: number;
  readonly max: number;
  /** Elements that are NaN or infinite. */
  readonly bad: number;
  /** Whether all are whole numbers. */
  readonly whole: boolean;
  /** Of whole numbers along one axis, if they may be classes. */
  readonly classes?: Counts;
}

/** What is in a file of the user's, by the kind of data that reads it. */
export type Inspection =
  | {
      readonly kind: 'table';
      readonly rows: number;
      readonly columns: readonly ColumnFacts[];
      readonly classes?: Counts;
    }
  | { readonly kind: 'numpy'; readonly arrays: readonly ArrayFacts[] }
  | { readonly kind: 'images'; readonly classes: readonly { name: string; train: number; val: number }[] }
  | { readonly kind: 'libsvm'; readonly samples: number; readonly features: number; readonly classes: Counts }
  | {
      readonly kind: 'text';
      readonly characters: number;
      readonly differentCharacters: number;
      readonly words: number;
      readonly differentWords: number;
      readonly lines: number;
    };

function countsOf(values: Iterable<string | number>): Counts {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(String(value), (counts.get(String(value)) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}

/** More different values than these are hardly classes. */
const mostClasses = 1000;

function arraysOf(file: string): Inspection {
  const arrays = [...readArrays(file)].map(([name, read]): ArrayFacts => {
    const { dtype, shape, values } = read();
    let [min, max, sum, bad] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0];
    for (const value of values) {
      if (!Number.isFinite(value)) bad++;
      else {
        [min, max] = [Math.min(min, value), Math.max(max, value)];
        sum += value;
      }
    }
    const whole = values.every(Number.isInteger);
    const facts = { name, dtype, shape, min, mean: sum / (values.length - bad), max, bad, whole };
    const single = shape.length === 1 || (shape.length === 2 && shape[1] === 1);
    if (!single || !whole) return facts;
    const classes = countsOf(values);
    return classes.length > mostClasses ? facts : { ...facts, classes };
  });
  return { kind: 'numpy', arrays };
}

const isFolder = (path: string) => existsSync(path) && statSync(path).isDirectory();

/** Images per class in the folders train/ and val/. */
function imagesIn(folder: string): Inspection {
  const within = (path: string) => (isFolder(path) ? readdirSync(path).filter((name) => !name.startsWith('.')) : []);
  const classes = [...new Set(['train', 'val'].flatMap((split) => within(join(folder, split))))].sort();
  if (classes.length === 0)
    throw new UserError(`${folder} has no train/ and val/ with a folder of images per class`, {
      hint: 'give a file, or a folder laid out so',
    });
  const count = (split: string, name: string) =>
    within(join(folder, split, name)).filter((file) => /\.(jpe?g|png)$/i.test(file)).length;
  return {
    kind: 'images',
    classes: classes.map((name) => ({ name, train: count('train', name), val: count('val', name) })),
  };
}

function libsvmIn(text: string, file: string): Inspection {
  const { labels, indices } = parseLibsvm(text, file);
  const features = indices.reduce((most, index) => Math.max(most, index + 1), 0);
  return { kind: 'libsvm', samples: labels.length, features, classes: countsOf(labels) };
}

function textFacts(text: string): Inspection {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const characters = [...text];
  return {
    kind: 'text',
    characters: characters.length,
    differentCharacters: new Set(characters).size,
    words: words.length,
    differentWords: new Set(words).size,
    lines: text.split('\n').length,
  };
}

function tableIn(path: string, header: boolean, label: string | undefined): Promise<Inspection> {
  return withTable({ path, header }, async ({ rows, columns, texts }) => {
    const found = { kind: 'table', rows, columns } as const;
    if (label === undefined) return found;
    const names = columns.map(({ name }) => name);
    if (!names.includes(label))
      throw new UserError(`${path} has no column "${label}"`, { hint: suggest(label, names) });
    const [{ codes, values }] = (await texts([label], 1_000_000)) as [TextColumn];
    return { ...found, classes: countsOf(Array.from(codes, (code) => (code < 0 ? '(missing)' : values[code]!))) };
  });
}

/** What is in a file or a folder of images. */
export async function inspectData(
  path: string,
  { header = true, label }: { readonly header?: boolean; readonly label?: string | undefined } = {},
): Promise<Inspection> {
  if (isFolder(path)) return imagesIn(path);
  const file = ownFile(path, undefined, 'file');
  if (isTable(file)) return tableIn(file, header, label);
  if (/\.np[yz](\.gz)?$/.test(file)) return arraysOf(file);
  const text = textIn(file);
  return /^[+-]?[\d.]+(\s+\d+:\S+)+\s*$/m.test(text.slice(0, 1000).split('\n')[0]!)
    ? libsvmIn(text, file)
    : textFacts(text);
}
