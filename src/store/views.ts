import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, type DuckDBResultReader, DuckDBTypeId } from '@duckdb/node-api';
import { UserError } from '../base/error.ts';
import { inUse, unreadable } from './database.ts';
import { type EventTable, eventTables, sqlText, storedColumns } from './schema.ts';
import { eventQuery, eventViews, type Source, type StoredTables, sourceOf } from './tidy.ts';

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

export interface Database {
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

/** The events of runs, attached to a connection: of those that can be read, and why the others cannot. */
export class Attached {
  readonly problems: readonly ViewProblem[];
  readonly #connection: DuckDBConnection;
  readonly #runs: readonly (readonly [id: string, source: Source])[];
  readonly #aliases: readonly string[];

  private constructor(
    connection: DuckDBConnection,
    problems: readonly ViewProblem[],
    aliases: readonly string[],
    runs: readonly (readonly [id: string, source: Source])[],
  ) {
    this.#connection = connection;
    this.problems = problems;
    this.#aliases = aliases;
    this.#runs = runs;
  }

  static async open(connection: DuckDBConnection, databases: readonly Database[]): Promise<Attached> {
    const problems: ViewProblem[] = [];
    const aliases = new Map<Database, string>();
    for (const [index, database] of databases.entries()) {
      const { id, path } = database;
      if (!existsSync(path)) continue;
      try {
        await connection.run(`attach ${sqlText(path)} as r${index} (read_only)`);
        aliases.set(database, `r${index}`);
      } catch (cause) {
        if (inUse(cause))
          problems.push({ id, error: new UserError(`${id} is being written by another process`), pending: true });
        else problems.push({ id, error: unreadable(path, cause), pending: false });
      }
    }
    const stored = await storedIn(connection);
    const refused = new Set(problems.map(({ id }) => id));
    const runs: (readonly [id: string, source: Source])[] = [];
    for (const database of databases) {
      const { id, path } = database;
      const alias = aliases.get(database) ?? '';
      const tables = stored.get(alias) ?? {};
      const wrong = wrongColumn(tables);
      if (refused.has(id)) continue;
      // One that was killed early has no tables.
      if (tables.steps === undefined)
        problems.push({ id, error: new UserError(`${id} has no events yet`), pending: true });
      else if (wrong !== undefined)
        problems.push({ id, error: new UserError(`${path} cannot be read: ${wrong}`), pending: false });
      else runs.push([sqlText(id), sourceOf(alias, tables)]);
    }
    return new Attached(connection, problems, [...aliases.values()], runs);
  }

  /** A table over these runs as a question. */
  query(name: EventTableName): string {
    return eventQuery(name, this.#runs);
  }

  async detach(): Promise<void> {
    for (const alias of this.#aliases) await this.#connection.run(`detach ${alias}`);
  }
}

export type EventTableName = keyof typeof eventViews;

/** The types of columns by table and attached database; one of another version may lack some tables or some of their columns. */
async function storedIn(connection: DuckDBConnection): Promise<Map<string, StoredTables>> {
  const found = await connection.runAndReadAll(
    "select database_name, table_name, column_name, data_type from duckdb_columns() where not internal and database_name <> 'memory'",
  );
  const stored = new Map<string, Record<string, Map<string, string>>>();
  for (const [alias, table, column, type] of found.getRowsJS() as [string, string, string, string][]) {
    const tables = stored.get(alias) ?? {};
    stored.set(alias, tables);
    (tables[table] ??= new Map()).set(column, type.toLowerCase());
  }
  return stored;
}

/** A column that is not of its type. */
function wrongColumn(stored: StoredTables): string | undefined {
  for (const table of Object.keys(eventTables) as EventTable[])
    for (const { name, type } of storedColumns(eventTables[table])) {
      const found = stored[table]?.get(name) ?? type;
      if (found !== type) return `column ${name} of ${table} is of type ${found}, not ${type}`;
    }
  return undefined;
}

/** Those of these tables that a question names; all if it names none, as one that lists them does. None if it cannot be read: then it says why itself. */
export function tablesIn<T extends string>(
  connection: DuckDBConnection,
  sql: string,
  tables: readonly T[],
): readonly T[] {
  try {
    const names = new Set(connection.getTableNames(sql, false).map((name) => name.toLowerCase()));
    const named = tables.filter((table) => names.has(table));
    return named.length > 0 ? named : tables;
  } catch {
    return [];
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
  return readEventsOf([{ id: '', path }], async (events, [problem]) => {
    if (problem?.pending) return undefined;
    if (problem !== undefined) throw problem.error;
    return ask(events);
  });
}

/** Asks the events of several runs at once, those that can be read. If one alone turns out to be damaged, it is named. */
export async function readEventsOf<T>(
  databases: readonly Database[],
  ask: (events: Events, problems: readonly ViewProblem[]) => Promise<T>,
): Promise<T> {
  const { connection, close } = await openMemory();
  try {
    const attached = await Attached.open(connection, databases);
    const made = new Set<string>();
    const asking =
      <R>(read: (sql: string) => Promise<R>) =>
      async (sql: string) => {
        try {
          for (const name of tablesIn(connection, sql, Object.keys(eventViews) as EventTableName[])) {
            if (!made.has(name)) await connection.run(`create view ${name} as ${attached.query(name)}`);
            made.add(name);
          }
          return await read(sql);
        } catch (cause) {
          throw databases.length === 1 ? unreadable(databases[0]!.path, cause) : cause;
        }
      };
    const events: Events = {
      rows: asking(async (sql) => answerOf(await connection.runAndReadAll(sql)).rows),
      numbers: asking((sql) => numbersOf(connection, sql)),
    };
    return await ask(events, attached.problems);
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
