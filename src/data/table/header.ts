import { closeSync, openSync, readSync } from 'node:fs';
import { constants, gunzipSync } from 'node:zlib';
import { UserError } from '../../base/error.ts';
import { reason } from '../../base/file.ts';

/** Enough for thousands of columns. */
const headBytes = 2 ** 20;

/** How a CSV file is written, found in its first line alone, so that no guess depends on the rows below. */
export interface CsvDialect {
  readonly delimiter: string;
  readonly names: readonly string[];
}

/** The beginning of a file, plain or .gz. */
function headOf(path: string): string {
  const bytes = Buffer.alloc(headBytes);
  try {
    const file = openSync(path, 'r');
    try {
      const head = bytes.subarray(0, readSync(file, bytes));
      // The end is cut off: what comes before it counts.
      return path.endsWith('.gz')
        ? gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: 2 ** 26 }).toString()
        : head.toString();
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    throw new UserError(`cannot read the table ${path}: ${reason(cause)}`, { cause });
  }
}

/** The fields of the first record: quoted ones may hold delimiters and line breaks, and "" for a quote. */
function firstRecord(text: string, delimiter: string): string[] {
  const fields: string[] = [];
  let [field, quoted] = ['', false];
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (quoted) {
      if (c !== '"') field += c;
      else if (text[i + 1] === '"') field += text[i++]!;
      else quoted = false;
    } else if (c === '"' && field === '') quoted = true;
    else if (c === delimiter) {
      fields.push(field);
      field = '';
    } else if (c === '\n' || c === '\r') break;
    else field += c;
  }
  return [...fields, field];
}

/** Columns without a name, such as the index that pandas writes, are called so; they are no features. */
export const unnamed = 'unnamed:';

export function dialectOf(path: string, hasHeader: boolean): CsvDialect {
  const head = headOf(path).replace(/^\uFEFF/, '');
  if (head.trim() === '') throw new UserError(`the table ${path} is empty`);
  if (head.includes('\0'))
    throw new UserError(`${path} is not a CSV file: it holds bytes that are no text`, {
      hint: 'a Parquet file ends in .parquet, a NumPy file in .npy or .npz; text must be UTF-8',
    });
  const records = [',', ';', '\t', '|'].map((delimiter) => ({ delimiter, names: firstRecord(head, delimiter) }));
  const { delimiter, names } = records.reduce((a, b) => (b.names.length > a.names.length ? b : a));
  if (!hasHeader) return { delimiter, names: names.map((_, index) => `c${index + 1}`) };
  const called = names.map((name, index) => name.trim() || `${unnamed}${index + 1}`);
  const twice = called.find((name, index) => called.findIndex((other) => same(other, name)) !== index);
  if (twice !== undefined)
    throw new UserError(`${path}: two columns are called "${twice}"`, {
      hint: 'every column needs a name of its own in the first row; if there is no such row, say data.header: false',
    });
  return { delimiter, names: called };
}

/** DuckDB does not tell upper from lower case in names. */
const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();
