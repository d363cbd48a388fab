import { UserError } from '../../../base/error.ts';
import { number } from '../../../base/format.ts';
import { type FeatureColumn, type Samples, sharedFloats, sharedInts } from '../../dataset.ts';
import { scaleOf, type TestSplit, unscaled } from '../../own.ts';
import type { OpenTable, TextColumn } from '../../table/table.ts';
import { areNumbers, inOrder, labelsOf, list, maxValues, rowText, type TableSettings } from './settings.ts';

/** What is to be predicted, of all rows. */
interface TableLabels {
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

/** Whether a text is a number that is told from its neighbours, as long identifiers are not. */
const isExact = (value: string) => value.trim() !== '' && Math.abs(Number(value)) <= Number.MAX_SAFE_INTEGER;

/** The class of every row: the different values of a column. */
export async function classLabels({ label, path }: TableSettings, table: OpenTable): Promise<TableLabels> {
  const [column, ...more] = labelsOf(label);
  if (more.length > 0)
    throw new UserError(`data.label: classification predicts one column, got ${list([column!, ...more])}`, {
      hint: 'say data.task: regression or multi-label, or give one column',
    });
  const facts = table.columns.find(({ name }) => name === column)!;
  const fractions = areNumbers(facts);
  if (facts.distinct > maxValues || fractions)
    throw new UserError(
      `data.label: column "${column}" of ${path} has ${number(facts.distinct)} different ${fractions ? 'numbers, which are hardly' : 'values, too many for'} classes`,
      { hint: 'to predict numbers, say data.task: regression' },
    );
  const [{ codes, values }] = (await table.texts([column!], maxValues)) as [TextColumn];
  const absent = codes.indexOf(-1);
  if (absent >= 0) throw withoutLabel(path, column!, absent);
  // 1 and 1.0 are one class, called as it is written first.
  const keyOf = values.every(isExact) ? Number : String;
  const called = new Map(values.toReversed().map((value) => [keyOf(value), value]));
  const names = inOrder([...called.values()]);
  if (names.length < 2)
    throw new UserError(`data.label: column "${column}" of ${path} holds ${names.length} class, at least 2 are needed`);
  const place = values.map((value) => names.indexOf(called.get(keyOf(value))!));
  return {
    classes: names.length,
    names,
    labelSize: 1,
    pick: (rows) => sharedInts(Int32Array.from(rows, (row) => place[codes[row]!]!)),
  };
}

/** Numbers to predict, normalised; or 1 and 0 for yes and no. */
export async function numberLabels(
  settings: TableSettings,
  table: OpenTable,
  { train }: TestSplit,
): Promise<TableLabels> {
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
