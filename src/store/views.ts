import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, type DuckDBResultReader, DuckDBTypeId } from '@duckdb/node-api';
import { UserError } from '../base/error.ts';
import { inUse, unreadable } from './database.ts';
import { type EventTable, eventTables, sqlText, storedColumns } from './schema.ts';
import { eventView, eventViews, type Source, type StoredTables, sourceOf } from './tidy.ts';

/** A database in memory that the databases of runs are attached to. */
export async function openMemory(): Promise<{ connection: DuckDBConnection; close(): void }> {
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    // A folder of its own: what is in it stays writable for a question.
    temp_directory: join(tmpdir(), `dbench-tables-${randomUUID()}`),
  });
  const connection = await instance.connect();
  return {
    connection,
    close() {
      // A connection keeps attached files open and locked, whatever becomes of the instance.
      connection.closeSync();
      instance.closeSync();
    },
  };
}

interface Database {
  readonly id: string;
  readonly path: string;
}

/** Why a run's events cannot be read: there are none yet, another process is writing them, or they are damaged. */
export interface ViewProblem {
  readonly id: string;
  readonly error: UserError;
  /** It may be read later. */
  readonly pending: boolean;
}

/** Makes the views over the events of all runs that can be read, and says why the others cannot. */
export async function createViews(
  connection: DuckDBConnection,
  databases: readonly Database[],
): Promise<ViewProblem[]> {
  const problems: ViewProblem[] = [];
  const runs: (readonly [id: string, source: Source])[] = [];
  for (const [index, { id, path }] of databases.entries()) {
    const refuse = (error: UserError, pending: boolean) => problems.push({ id, error, pending });
    try {
      const stored = existsSync(path) ? await attach(connection, path, `r${index}`) : {};
      if (stored.steps === undefined) refuse(new UserError(`${id} has no events yet`), true);
      else runs.push([sqlText(id), sourceOf(`r${index}`, stored)]);
    } catch (cause) {
      if (cause instanceof UserError) refuse(cause, false);
      else if (inUse(cause)) refuse(new UserError(`${id} is being written by another process`), true);
      else refuse(unreadable(path, cause), false);
    }
  }
  for (const name of Object.keys(eventViews) as (keyof typeof eventViews)[])
    await connection.run(eventView(name, runs));
  return problems;
}

/** Its tables; a run that was killed early has none, one of another version may lack some or some of their columns. */
async function attach(connection: DuckDBConnection, path: string, alias: string): Promise<StoredTables> {
  await connection.run(`attach ${sqlText(path)} as ${alias} (read_only)`);
  const tables = Object.keys(eventTables) as EventTable[];
  const stored = await Promise.all(
    tables.map(async (table) => [table, await columnsOf(connection, `${alias}.${table}`)] as const),
  );
  for (const [table, found] of stored)
    for (const { name, type } of storedColumns(eventTables[table]))
      if ((found?.get(name) ?? type) !== type)
        throw new UserError(
          `${path} cannot be read: column ${name} of ${table} is of type ${found!.get(name)}, not ${type}`,
        );
  return Object.fromEntries(stored);
}

/** Asked of the table itself: the system's list of all columns is ten times slower. */
async function columnsOf(connection: DuckDBConnection, table: string): Promise<Map<string, string> | undefined> {
  try {
    const none = await connection.run(`from ${table} limit 0`);
    return new Map(none.columnNames().map((name, i) => [name, String(none.columnType(i)).toLowerCase()]));
  } catch (error) {
    if ((error as Error).message.startsWith('Catalog Error')) return undefined;
    throw error;
  }
}

/** What a question is answered with, as plain data. */
export interface Answer {
  readonly columns: readonly string[];
  /** Whether a column holds numbers. */
  readonly numeric: readonly boolean[];
  /** Numbers, texts, true and false, null; lists and structures as JSON has them. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

const { TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT, UTINYINT, USMALLINT, UINTEGER, UBIGINT, UHUGEINT } = DuckDBTypeId;
const { FLOAT, DOUBLE, DECIMAL } = DuckDBTypeId;
const numericTypes = new Set<DuckDBTypeId>([
  ...[TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT, UTINYINT, USMALLINT, UINTEGER, UBIGINT, UHUGEINT],
  ...[FLOAT, DOUBLE, DECIMAL],
]);

export function answerOf(found: DuckDBResultReader): Answer {
  const columns = found.deduplicatedColumnNames();
  const numeric = found.columnTypes().map(({ typeId }) => numericTypes.has(typeId));
  // Whole numbers of 64 bits, NaN and ∞ come as text.
  const plain = (value: unknown, column: number) => (numeric[column] && value !== null ? Number(value) : value);
  const rows = found
    .getRowsJson()
    .map((row) => Object.fromEntries(row.map((value, index) => [columns[index]!, plain(value, index)])));
  return { columns, numeric, rows };
}

/** What can be asked of the events of one run, in the same tables as those of many. */
export interface Events {
  rows(sql: string): Promise<Answer['rows']>;
  /** Columns of numbers, NaN for null; some thousand rows at a time, for what is too large to be held as rows. */
  numbers(sql: string): Promise<ReadonlyMap<string, Float64Array>>;
}

/** Asks the events of a run; undefined if there are none yet, or another process is writing them. */
export async function readEvents<T>(path: string, ask: (events: Events) => Promise<T>): Promise<T | undefined> {
  if (!existsSync(path)) return undefined;
  const { connection, close } = await openMemory();
  try {
    const [problem] = await createViews(connection, [{ id: '', path }]);
    if (problem?.pending) return undefined;
    if (problem !== undefined) throw problem.error;
    const readable = <R>(reading: Promise<R>) => reading.catch((cause) => Promise.reject(unreadable(path, cause)));
    return await ask({
      rows: async (sql) => answerOf(await readable(connection.runAndReadAll(sql))).rows,
      numbers: (sql) => readable(numbersOf(connection, sql)),
    });
  } finally {
    close();
  }
}

async function numbersOf(connection: DuckDBConnection, sql: string): Promise<ReadonlyMap<string, Float64Array>> {
  const result = await connection.stream(sql);
  const parts = result.columnNames().map((): Float64Array[] => []);
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) break;
    for (const [column, pieces] of parts.entries()) {
      const vector = chunk.getColumnVector(column);
      pieces.push(Float64Array.from({ length: chunk.rowCount }, (_, row) => Number(vector.getItem(row) ?? Number.NaN)));
    }
  }
  return new Map(result.columnNames().map((name, column) => [name, joined(parts[column]!)]));
}

function joined(pieces: readonly Float64Array[]): Float64Array {
  const whole = new Float64Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
