import { suggest, UserError } from '../../base/error.ts';
import { number } from '../../base/format.ts';
import { requireMemory } from '../../base/memory.ts';
import { type Samples, sharedFloats, sharedInts } from '../dataset.ts';
import { firstTrain, ownFile, setAside, type TestSplit } from '../own.ts';
import { dataSet } from '../set.ts';
import { type OpenTable, type TextColumn, withTable } from '../table/table.ts';
import { encode, featuresOf } from './table/features.ts';
import { classLabels, numberLabels } from './table/labels.ts';
import { labelsOf, list, maxValues, rowText, type TableSettings, tableSettings } from './table/settings.ts';

/** Settings that name columns, each checked: a mistyped name is told with the one that is meant. */
function requireColumns(
  { label, features = [], ignore, categorical, split, group, header, path }: TableSettings,
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

/** Rows that train and rows that test. */
async function testSplitOf(settings: TableSettings, table: OpenTable, seed: number): Promise<TestSplit> {
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

export const table = dataSet({
  name: 'table',
  summary: 'rows of a CSV or Parquet file of yours',
  settings: tableSettings,
  origin: { from: 'a file of yours', licence: 'yours' },
  read(given, { seed, verify }) {
    const files = {
      path: ownFile(given.path, given.sha256, 'table', verify),
      testPath: given.testPath && ownFile(given.testPath, given.testSha256, 'table', verify),
      header: given.header,
    };
    return withTable(files, async (opened) => {
      if (opened.rows === 0) throw new UserError(`the table ${given.path} has no rows`);
      if (given.testPath !== undefined && opened.firstRows === opened.rows)
        throw new UserError(`the table ${given.testPath} has no rows`);
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
