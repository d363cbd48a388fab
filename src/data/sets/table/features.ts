import { UserError } from '../../../base/error.ts';
import { number } from '../../../base/format.ts';
import type { FeatureColumn } from '../../dataset.ts';
import { scaleOf, type TestSplit } from '../../own.ts';
import { unnamed } from '../../table/header.ts';
import type { ColumnFacts, NumberColumn, OpenTable, TextColumn } from '../../table/table.ts';
import { inOrder, labelsOf, maxValues, rowText, type TableSettings } from './settings.ts';

/** Numbers or categories? A column of numbers with a few other values, or with commas for points, is a mistake rather than a category. */
function isNumeric(column: ColumnFacts, { categorical, path }: TableSettings): boolean {
  if (categorical.includes(column.name)) return false;
  if (column.numbers === column.present) return true;
  if (/^[+-]?[\d.]*,\d+$/.test(column.stray ?? ''))
    throw new UserError(`${path}: column "${column.name}" holds "${column.stray}", a number with a decimal comma`, {
      hint: `write numbers with a point (1.5), or say data.categorical: [${column.name}] if these are names`,
    });
  if (column.numbers < 0.5 * column.present) return false;
  throw new UserError(
    `${path}: column "${column.name}" holds ${number(column.numbers)} numbers, but also "${column.stray}"`,
    {
      hint: `mend the values that are no numbers (they begin with this one), or say data.categorical: [${column.name}]`,
    },
  );
}

interface Encoded {
  readonly columns: readonly FeatureColumn[];
  readonly width: number;
  /** Puts all features of one row at `at`. */
  put(row: number, into: Float32Array, at: number): void;
}

/** Numbers as they are or normalised, categories as one number each, 1 for the row's own and 0 for the others. */
export function encode(
  columns: readonly ({ readonly name: string } & (NumberColumn | TextColumn))[],
  { normalize, missing, path }: TableSettings,
  { train }: TestSplit,
): Encoded {
  const refuse = (name: string, row: number) =>
    new UserError(`${path}: column "${name}" has no value in ${rowText(row)}`, {
      hint: `give one, leave the column out with data.ignore: [${name}], or say data.missing: fill`,
    });
  let width = 0;
  const encoded = columns.map((column) => {
    const from = width;
    const absent = column.kind === 'number' ? column.values.findIndex(Number.isNaN) : column.codes.indexOf(-1);
    if (absent >= 0 && missing === 'refuse') throw refuse(column.name, absent);
    if (column.kind === 'text') {
      const categories = inOrder(column.values);
      const place = column.values.map((value) => categories.indexOf(value));
      width += categories.length;
      const put = (row: number, into: Float32Array, at: number) => {
        if (column.codes[row]! >= 0) into[at + from + place[column.codes[row]!]!] = 1;
      };
      return { about: { name: column.name, categories }, put };
    }
    width += 1;
    const { values } = column;
    const known = absent < 0 ? train : train.filter((row) => !Number.isNaN(values[row]));
    const found = known.length === 0 ? { mean: 0, deviation: 1 } : scaleOf(values, known);
    const { mean, deviation } = normalize ? found : { mean: 0, deviation: 1 };
    const put = (row: number, into: Float32Array, at: number) => {
      const value = values[row]!;
      into[at + from] = ((Number.isNaN(value) ? found.mean : value) - mean) / deviation;
    };
    return { about: { name: column.name, mean, deviation }, put };
  });
  return {
    columns: encoded.map(({ about }) => about),
    width,
    put: (row, into, at) => {
      for (const { put } of encoded) put(row, into, at);
    },
  };
}

/** The columns to predict from, in the order of the settings or of the file. */
export async function featuresOf(settings: TableSettings, table: OpenTable) {
  const { features, label, ignore, split, group } = settings;
  const left = new Set([...labelsOf(label), split, group, ...ignore]);
  const chosen = table.columns.filter(({ name }) =>
    features === undefined ? !left.has(name) && !name.startsWith(unnamed) : features.includes(name),
  );
  const nested = chosen.find(({ type }) => /[[(]|BLOB/.test(type) && !type.startsWith('DECIMAL'));
  if (nested !== undefined)
    throw new UserError(`${settings.path}: column "${nested.name}" holds ${nested.type}, not single values`, {
      hint: `leave it out with data.ignore: [${nested.name}]`,
    });
  const used = chosen.filter(({ present }) => present > 0);
  if (used.length === 0) throw new UserError(`${settings.path} has no column left to predict from`);
  const numeric = used.filter((column) => isNumeric(column, settings)).map(({ name }) => name);
  const textual = used.map(({ name }) => name).filter((name) => !numeric.includes(name));
  const [numbers, texts] = [await table.numbers(numeric), await table.texts(textual, maxValues)];
  return used.map(({ name }) => ({
    name,
    ...(numeric.includes(name) ? numbers[numeric.indexOf(name)]! : texts[textual.indexOf(name)]!),
  }));
}
