import { z } from 'zod';
import { sha256Setting } from '../../base/content.ts';
import { suggest, UserError } from '../../base/error.ts';
import { number } from '../../base/format.ts';
import { requireMemory } from '../../base/memory.ts';
import { type FeatureColumn, type Samples, sharedFloats, sharedInts } from '../dataset.ts';
import { firstTrain, ownFile, scaleOf, setAside, type TestSplit, unscaled } from '../own.ts';
import { dataSet } from '../set.ts';
import { normalizeTargets, sampleSettings, task } from '../settings.ts';
import { unnamed } from '../table/header.ts';
import { type ColumnFacts, type NumberColumn, type OpenTable, type TextColumn, withTable } from '../table/table.ts';

/** Categories of one column, or classes: beyond it a column is an identifier rather than a category. */
const maxValues = 1000;

const columnNames = z.array(z.string().min(1));

const settings = {
  path: z.string().min(1).describe('a CSV file (.csv or .tsv, plain or .gz) or a Parquet file (.parquet)'),
  sha256: sha256Setting,
  testPath: z.string().min(1).optional().describe('test rows in a file of their own, with the same columns'),
  testSha256: sha256Setting,
  header: z.boolean().default(true).describe('whether the first row of CSV names the columns; false: c1, c2, …'),
  task,
  label: z
    .union([z.string().min(1), columnNames.min(1)])
    .describe('the column to predict; a list of them for regression and multi-label'),
  normalizeTargets,
  features: columnNames.min(1).optional().describe('columns to predict from; all others by default'),
  ignore: columnNames.default([]).describe('columns to leave out, such as identifiers'),
  categorical: columnNames.default([]).describe('columns of numbers that are names of categories; text always is'),
  split: z.string().min(1).optional().describe('a column that holds "train" or "test" in every row'),
  testShare: z
    .number()
    .gt(0)
    .lt(1)
    .default(0.2)
    .describe('share of the rows set aside for testing, drawn by the seed; not used with testPath or split'),
  group: z.string().min(1).optional().describe('a column that says to whom a row belongs, for the partition group'),
  normalize: z
    .boolean()
    .default(true)
    .describe('bring numbers to mean 0 and standard deviation 1 over the training rows'),
  missing: z
    .enum(['refuse', 'fill'])
    .default('refuse')
    .describe('features without a value: an error, or the mean of the training rows (of categories: none of them)'),
  ...sampleSettings,
};
type Settings = z.output<z.ZodObject<typeof settings>>;

const labelsOf = (label: Settings['label']): readonly string[] => (typeof label === 'string' ? [label] : label);

const list = (names: readonly string[]) => {
  const shown = names.slice(0, 12).join(', ');
  return names.length > 12 ? `${shown} and ${number(names.length - 12)} more` : shown;
};

/** Settings that name columns, each checked: a mistyped name is told with the one that is meant. */
function requireColumns(
  { label, features = [], ignore, categorical, split, group, header, path }: Settings,
  table: OpenTable,
): void {
  const names = table.columns.map((column) => column.name);
  const labels = labelsOf(label);
  const asked = { label: labels, features, ignore, categorical, split: [split], group: [group] };
  for (const [setting, wanted] of Object.entries(asked))
    for (const name of wanted) {
      if (name === undefined || names.includes(name)) continue;
      const values = header && names.some((other) => other !== '' && Number.isFinite(Number(other)));
      const hint = `${suggest(name, names).replace(/^use one of: .*/, `its columns are ${list(names)}`)}${
        values ? '; if its first row holds values rather than names, say data.header: false' : ''
      }`;
      throw new UserError(`data.${setting}: ${path} has no column "${name}"`, { hint });
    }
  const both = features.find((name) => labels.includes(name));
  if (both !== undefined) throw new UserError(`data.features: "${both}" is the label, it cannot be a feature`);
}

/** Numbers or categories? A column of numbers with a few other values is a mistake rather than a category. */
function isNumeric(column: ColumnFacts, { categorical, path }: Settings): boolean {
  if (categorical.includes(column.name) || column.numbers === 0) return false;
  if (column.numbers === column.present) return true;
  if (column.numbers < 0.5 * column.present) return false;
  throw new UserError(
    `${path}: column "${column.name}" holds ${number(column.numbers)} numbers, but also "${column.stray}"`,
    {
      hint: `mend the values that are no numbers (they begin with this one), or say data.categorical: [${column.name}]`,
    },
  );
}

const rowText = (row: number) => `row ${number(row + 1)} (without the header)`;

/** Rows that train and rows that test. */
async function testSplitOf(settings: Settings, table: OpenTable, seed: number): Promise<TestSplit> {
  const { split, testPath, testShare, path } = settings;
  if (testPath !== undefined) return firstTrain(table.rows, table.firstRows);
  if (split === undefined) return setAside(table.rows, testShare, seed, path);
  const [{ codes, values }] = (await table.texts([split], maxValues)) as [TextColumn];
  const parts = values.map((value) => value.trim().toLowerCase());
  const other = codes.findIndex((code) => parts[code] !== 'train' && parts[code] !== 'test');
  if (other >= 0) {
    const found = codes[other]! < 0 ? 'has no value' : `is "${values[codes[other]!]}"`;
    throw new UserError(`${path}: column "${split}" ${found} in ${rowText(other)}; it must be "train" or "test"`);
  }
  const rowsOf = (part: string) => Uint32Array.from([...codes.keys()].filter((row) => parts[codes[row]!] === part));
  const rows = { train: rowsOf('train'), test: rowsOf('test') };
  for (const [part, { length }] of Object.entries(rows))
    if (length === 0) throw new UserError(`${path}: column "${split}" says "${part}" in no row`);
  return rows;
}

/** The classes in order: ascending if they are numbers. */
function inOrder(values: readonly string[]): readonly string[] {
  const numeric = values.every((value) => Number.isFinite(Number(value)));
  return [...values].sort(numeric ? (a, b) => Number(a) - Number(b) : (a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

/** What is to be predicted, of all rows. */
interface Labels {
  readonly classes: number;
  readonly names: readonly string[];
  readonly labelSize: number;
  readonly targets?: readonly FeatureColumn[];
  /** Of these rows, in shared memory. */
  pick(rows: Uint32Array): Samples['labels'];
}

const withoutLabel = (path: string, column: string, row: number) =>
  new UserError(`${path}: column "${column}" has no value in ${rowText(row)}`, {
    hint: 'every row needs its label: give one, or leave the row out',
  });

/** The class of every row: the different values of a column. */
async function classLabels({ label, path }: Settings, table: OpenTable): Promise<Labels> {
  const [column, ...more] = labelsOf(label);
  if (more.length > 0)
    throw new UserError(`data.label: classification predicts one column, got ${list([column!, ...more])}`, {
      hint: 'say data.task: regression or multi-label, or give one column',
    });
  const facts = table.columns.find(({ name }) => name === column)!;
  const fractions = facts.numbers === facts.present && facts.distinct > 20 && facts.distinct > 0.5 * facts.present;
  if (facts.distinct > maxValues || fractions)
    throw new UserError(
      `data.label: column "${column}" of ${path} has ${number(facts.distinct)} different ${fractions ? 'numbers, which are hardly' : 'values, too many for'} classes`,
      { hint: 'to predict numbers, say data.task: regression' },
    );
  const [{ codes, values }] = (await table.texts([column!], maxValues)) as [TextColumn];
  const absent = codes.indexOf(-1);
  if (absent >= 0) throw withoutLabel(path, column!, absent);
  if (values.length < 2)
    throw new UserError(
      `data.label: column "${column}" of ${path} holds ${values.length} class, at least 2 are needed`,
    );
  const names = inOrder(values);
  const place = values.map((value) => names.indexOf(value));
  return {
    classes: names.length,
    names,
    labelSize: 1,
    pick: (rows) => sharedInts(Int32Array.from(rows, (row) => place[codes[row]!]!)),
  };
}

/** Numbers to predict, normalised; or 1 and 0 for yes and no. */
async function numberLabels(settings: Settings, table: OpenTable, { train }: TestSplit): Promise<Labels> {
  const { label, path, task: asked, normalizeTargets: normalised } = settings;
  const names = labelsOf(label);
  const columns = await table.numbers(names);
  const scales = columns.map(({ values }, index) => {
    const absent = values.findIndex(Number.isNaN);
    const { stray } = table.columns.find(({ name }) => name === names[index])!;
    if (absent >= 0 && stray !== null)
      throw new UserError(`data.label: column "${names[index]}" of ${path} holds "${stray}"; ${asked} needs numbers`);
    if (absent >= 0) throw withoutLabel(path, names[index]!, absent);
    const other = values.findIndex((value) => value !== 0 && value !== 1);
    if (asked === 'multi-label' && other >= 0)
      throw new UserError(
        `data.label: column "${names[index]}" of ${path} is ${values[other]} in ${rowText(other)}; multi-label needs 1 (yes) or 0 (no)`,
      );
    return asked === 'regression' && normalised ? scaleOf(values, train) : unscaled;
  });
  return {
    classes: names.length,
    names,
    labelSize: names.length,
    ...(asked === 'regression' ? { targets: names.map((name, index) => ({ name, ...scales[index]! })) } : {}),
    pick(rows) {
      const labels = (asked === 'regression' ? sharedFloats : sharedInts)(rows.length * names.length);
      rows.forEach((row, place) => {
        for (const [index, { values }] of columns.entries()) {
          const { mean, deviation } = scales[index]!;
          labels[place * names.length + index] = (values[row]! - mean) / deviation;
        }
      });
      return labels;
    },
  };
}

interface Encoded {
  readonly columns: readonly FeatureColumn[];
  readonly width: number;
  /** Puts all features of one row at `at`. */
  put(row: number, into: Float32Array, at: number): void;
}

/** Numbers as they are or normalised, categories as one number each, 1 for the row's own and 0 for the others. */
function encode(
  columns: readonly ({ readonly name: string } & (NumberColumn | TextColumn))[],
  { normalize, missing, path }: Settings,
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
async function featuresOf(settings: Settings, table: OpenTable) {
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

export const table = dataSet({
  name: 'table',
  summary: 'rows of a CSV or Parquet file of yours',
  settings,
  origin: { from: 'a file of yours', licence: 'yours' },
  read(given, { seed, verify }) {
    const files = {
      path: ownFile(given.path, given.sha256, 'table', verify),
      testPath: given.testPath && ownFile(given.testPath, given.testSha256, 'table', verify),
      header: given.header,
    };
    return withTable(files, async (opened) => {
      if (opened.rows === 0) throw new UserError(`the table ${given.path} has no rows`);
      requireColumns(given, opened);
      const rows = await testSplitOf(given, opened, seed);
      const labels = await (given.task === 'classification'
        ? classLabels(given, opened)
        : numberLabels(given, opened, rows));
      const columns = await featuresOf(given, opened);
      const groups = given.group && ((await opened.texts([given.group], opened.rows))[0] as TextColumn).codes;
      const encoded = encode(columns, given, rows);
      const { width } = encoded;
      requireMemory(
        4 * opened.rows * width,
        `${number(opened.rows)} rows of ${number(width)} features`,
        'cut the file',
      );
      const split = (chosen: Uint32Array): Samples => {
        const features = sharedFloats(chosen.length * width);
        chosen.forEach((row, place) => {
          encoded.put(row, features, place * width);
        });
        const pick = (of: Int32Array) => sharedInts(Int32Array.from(chosen, (row) => of[row]!));
        return {
          count: chosen.length,
          features,
          labels: labels.pick(chosen),
          ...(labels.labelSize > 1 ? { labelSize: labels.labelSize } : {}),
          shape: [width],
          ...(groups ? { groups: pick(groups) } : {}),
        };
      };
      return {
        task: given.task,
        name: 'table',
        shape: [width],
        classes: labels.classes,
        classNames: labels.names,
        ...(labels.targets ? { targets: labels.targets } : {}),
        columns: encoded.columns,
        train: split(rows.train),
        test: split(rows.test),
      };
    });
  },
});
