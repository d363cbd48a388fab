import { z } from 'zod';
import { sha256Setting } from '../../../base/content.ts';
import { number } from '../../../base/format.ts';
import { normalizeTargets, sampleSettings, task } from '../../settings.ts';
import type { ColumnFacts } from '../../table/table.ts';

/** Categories of one column, or classes: beyond it a column is an identifier rather than a category. */
export const maxValues = 1000;

const columnNames = z.array(z.string().min(1));

/** Of tables of the user's. */
export const tableSettings = {
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
export type TableSettings = z.output<z.ZodObject<typeof tableSettings>>;

/** A column with almost as many different numbers as rows: hardly classes. */
export const areNumbers = ({ numbers, present, distinct }: ColumnFacts): boolean =>
  numbers === present && distinct > 20 && distinct > 0.5 * present;

export const labelsOf = (label: TableSettings['label']): readonly string[] =>
  typeof label === 'string' ? [label] : label;

export const list = (names: readonly string[]) => {
  const shown = names.slice(0, 12).join(', ');
  return names.length > 12 ? `${shown} and ${number(names.length - 12)} more` : shown;
};

export const rowText = (row: number) => `row ${number(row + 1)} (without the header)`;

/** The classes in order: ascending if they are numbers. */
export function inOrder(values: readonly string[]): readonly string[] {
  const numeric = values.every((value) => Number.isFinite(Number(value)));
  return [...values].sort(numeric ? (a, b) => Number(a) - Number(b) : (a, b) => (a < b ? -1 : a > b ? 1 : 0));
}
