import { extname } from 'node:path';
import type { DuckDBValue } from '@duckdb/node-api';
import { UserError } from '../../base/error.ts';
import { dialectOf } from './header.ts';

/** Numbers of a column; NaN if a value is missing. */
export interface NumberColumn {
  readonly kind: 'number';
  readonly values: Float64Array;
}

/** Text of a column: row r holds values[codes[r]]; code −1 if a value is missing. */
export interface TextColumn {
  readonly kind: 'text';
  readonly codes: Int32Array;
  /** In the order of their first appearance. */
  readonly values: readonly string[];
}

/** What is known of a column before it is read. */
export interface ColumnFacts {
  readonly name: string;
  /** As the file says, VARCHAR for all of CSV. */
  readonly type: string;
  /** Rows that have a value. */
  readonly present: number;
  /** Rows whose value is a finite number. */
  readonly numbers: number;
  readonly distinct: number;
  readonly min: number | null;
  readonly mean: number | null;
  readonly max: number | null;
  /** The first value that is no number. */
  readonly stray: string | null;
}

/** A CSV or Parquet file, open for reading; with a test file, the rows of both one after the other. */
export interface OpenTable {
  readonly rows: number;
  /** Rows of the first file: the others are those of the test file. */
  readonly firstRows: number;
  readonly columns: readonly ColumnFacts[];
  numbers(names: readonly string[]): Promise<readonly NumberColumn[]>;
  texts(names: readonly string[], limit: number): Promise<readonly TextColumn[]>;
}

const csvEndings = ['.csv', '.tsv'];
const bare = (path: string) => path.replace(/\.gz$/, '');
const isParquet = (path: string) => ['.parquet', '.pq'].includes(extname(path));

/** Whether the name of a file says that it is a table. */
export const isTable = (path: string): boolean => isParquet(path) || csvEndings.includes(extname(bare(path)));

/** What other tools write for a value that is not there. */
const missing = ['', 'NA', 'N/A', 'n/a', 'NaN', 'nan', 'NULL', 'null', 'None', '?'];

const text = (value: string) => `'${value.replaceAll("'", "''")}'`;
const name = (column: string) => `"${column.replaceAll('"', '""')}"`;

/** DuckDB takes a path for a pattern. */
const literally = (path: string) => path.replaceAll(/[*?[]/g, '[$&]');

function scanOf(path: string, header: boolean): string {
  if (!isTable(path))
    throw new UserError(`${path} is not known to be a table by its name`, {
      hint: `tables end in .parquet, .csv or .tsv, the last two also with .gz`,
    });
  const file = text(literally(path));
  if (isParquet(path)) return `read_parquet(${file})`;
  const { delimiter, names } = dialectOf(path, header);
  // Every value as text: what is a number is decided from all rows.
  const options = {
    auto_detect: 'false',
    header: String(header),
    delim: text(delimiter),
    quote: `'"'`,
    escape: `'"'`,
    columns: `{${names.map((column) => `${text(column)}: 'VARCHAR'`).join()}}`,
  };
  const rows = `read_csv(${[file, ...Object.entries(options).map(([key, value]) => `${key} = ${value}`)].join(', ')})`;
  // Blanks around a value are no part of it, so DuckDB's own nullstr would not know ` ?`. (It makes a join of every `in`, which is slow.)
  const values = names.map((column) => {
    const value = `trim(${name(column)})`;
    return `case when not list_contains([${missing.map(text).join()}], ${value}) then ${value} end as ${name(column)}`;
  });
  return `(select ${values.join()} from ${rows})`;
}

/** Why DuckDB cannot read a file, without its advice on its own options. */
function refusal(path: string, cause: unknown): UserError {
  const lines = (cause as Error).message.split('\n').map((line) => line.trim());
  const end = lines.findIndex((line) => /^(Possible (fixe?s?|solutions?)|LINE \d|file = )/i.test(line));
  const told = lines.slice(0, end < 0 ? 4 : end).filter((line) => line !== '');
  const why = told.join('; ').replace(/^(\w+ )*Error: /, '');
  return new UserError(`cannot read the table ${path}: ${why.length > 400 ? `${why.slice(0, 399)}…` : why}`, { cause });
}

/** The value of a column as a number or null. */
function asNumber(type: string, column: string): string {
  const numeric = /INT|DOUBLE|FLOAT|DECIMAL|BOOLEAN/.test(type) && !/[[(](?!\d)/.test(type);
  const value = numeric ? `${column}::double` : `try_cast(${column}::varchar as double)`;
  return `case when isfinite(${value}) then ${value} end`;
}

export interface TablePaths {
  readonly path: string;
  readonly testPath?: string | undefined;
  /** Whether the first row of CSV holds the names of the columns; true unless given. */
  readonly header?: boolean;
}

/** Opens tables for as long as they are used. */
export async function withTable<T>(
  { path, testPath, header = true }: TablePaths,
  use: (table: OpenTable) => Promise<T>,
): Promise<T> {
  const paths = testPath === undefined ? [path] : [path, testPath];
  const scans = paths.map((each) => scanOf(each, header));
  // Loaded when a table is read: it is large, and most runs read none.
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    // Nothing is written, and no file takes more memory than this to be read.
    temp_directory: '',
    memory_limit: '4GB',
    threads: '2',
  });
  const connection = await instance.connect();
  let reading = path;
  const ask = async (sql: string): Promise<DuckDBValue[][]> => (await connection.runAndReadAll(sql)).getRows();
  try {
    const types = new Map<string, string>();
    for (const [index, scan] of scans.entries()) {
      reading = paths[index]!;
      const found = await ask(`describe select * from ${scan}`);
      for (const [column, type] of found as string[][]) if (index === 0) types.set(column!, type!);
      const names = new Set(found.map(([column]) => column as string));
      const absent = [...types.keys()].find((column) => !names.has(column));
      if (absent !== undefined)
        throw new UserError(`${reading} has no column "${absent}", but ${path} has`, {
          hint: 'training and test rows need the same columns',
        });
    }
    const all = [...types.keys()];
    const rowsOf = (columns: readonly string[]) =>
      scans.map((scan) => `select ${columns.map(name).join()} from ${scan}`).join(' union all ');
    const table = await openTable(ask, scans, types, rowsOf(all));
    const read = async (columns: readonly string[], exprs: readonly string[], put: Put) => {
      const result = await connection.stream(`select ${exprs.join()} from (${rowsOf(columns)})`);
      let row = 0;
      for (let chunk = await result.fetchChunk(); chunk && chunk.rowCount > 0; chunk = await result.fetchChunk()) {
        for (let column = 0; column < columns.length; column++) {
          const vector = chunk.getColumnVector(column);
          for (let i = 0; i < chunk.rowCount; i++) put(column, row + i, vector.getItem(i));
        }
        row += chunk.rowCount;
      }
    };
    return await use({
      ...table,
      async numbers(names) {
        const columns = names.map(() => new Float64Array(table.rows).fill(Number.NaN));
        const exprs = names.map((column) => asNumber(types.get(column)!, name(column)));
        if (names.length > 0)
          await read(names, exprs, (column, row, value) => {
            if (value !== null) columns[column]![row] = value as number;
          });
        return columns.map((values) => ({ kind: 'number', values }));
      },
      async texts(names, limit) {
        const columns = names.map(() => ({
          codes: new Int32Array(table.rows).fill(-1),
          known: new Map<string, number>(),
        }));
        const exprs = names.map((column) => `${name(column)}::varchar`);
        if (names.length > 0)
          await read(names, exprs, (column, row, value) => {
            if (value === null) return;
            const { codes, known } = columns[column]!;
            let code = known.get(value as string);
            if (code === undefined) known.set(value as string, (code = known.size));
            codes[row] = code;
            if (known.size > limit) throw tooMany(path, names[column]!, limit);
          });
        return columns.map(({ codes, known }) => ({ kind: 'text', codes, values: [...known.keys()] }));
      },
    });
  } catch (cause) {
    if (cause instanceof UserError || !isDuckDbError(cause)) throw cause;
    throw refusal(reading, cause);
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

type Put = (column: number, row: number, value: DuckDBValue) => void;

/** DuckDB's errors begin with their kind, as in `Invalid Input Error:`. */
const isDuckDbError = (cause: unknown) => cause instanceof Error && /^[A-Z][\w ]*Error/.test(cause.message);

const tooMany = (path: string, column: string, limit: number) =>
  new UserError(`${path}: column "${column}" has more than ${limit.toLocaleString('en-US')} different values`, {
    hint: `leave it out with data.ignore: [${column}]`,
  });

/** Counts rows and describes columns in one pass over the files. */
async function openTable(
  ask: (sql: string) => Promise<DuckDBValue[][]>,
  scans: readonly string[],
  types: ReadonlyMap<string, string>,
  rows: string,
): Promise<Pick<OpenTable, 'rows' | 'firstRows' | 'columns'>> {
  const firstRows = Number((await ask(`select count(*) from ${scans[0]}`))[0]![0]);
  const facts = [...types].flatMap(([column, type]) => {
    const number = asNumber(type, name(column));
    return [
      `count(${name(column)})`,
      `count(${number})`,
      `count(distinct ${name(column)}::varchar)`,
      `min(${number})`,
      `avg(${number})`,
      `max(${number})`,
      `first(${name(column)}::varchar) filter (where ${name(column)} is not null and (${number}) is null)`,
    ];
  });
  const [found] = await ask(`select count(*), ${facts.join(', ')} from (${rows})`);
  const columns = [...types].map(([column, type], index): ColumnFacts => {
    const [present, numbers, distinct, min, mean, max, stray] = found!.slice(1 + 7 * index, 8 + 7 * index);
    return {
      name: column,
      type,
      present: Number(present),
      numbers: Number(numbers),
      distinct: Number(distinct),
      min: min as number | null,
      mean: mean as number | null,
      max: max as number | null,
      stray: stray as string | null,
    };
  });
  return { rows: Number(found![0]), firstRows, columns };
}
