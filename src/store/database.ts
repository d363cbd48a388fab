import { setTimeout as sleep } from 'node:timers/promises';
import { DOUBLE, type DuckDBAppender, type DuckDBConnection, DuckDBInstance, LIST } from '@duckdb/node-api';
import { UserError } from '../base/error.ts';
import type { Column, PerReplica, Row } from '../engine/columns.ts';
import { type Event, evaluationRow, type StartEvent, stepRow } from '../engine/event.ts';
import { createTables, type EventTable, eventTables, storedColumns } from './schema.ts';

type Writers = { readonly [T in EventTable]: TableWriter<T> };

/** The events of one run. Appended in memory, on disk with every flush: at a checkpoint and at the end. */
export class EventStore {
  readonly #path: string;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #tables: Writers;

  private constructor(path: string, instance: DuckDBInstance, connection: DuckDBConnection, tables: Writers) {
    this.#path = path;
    this.#instance = instance;
    this.#connection = connection;
    this.#tables = tables;
  }

  /** Only one process can have it open. */
  static async open(path: string): Promise<EventStore> {
    const instance = await openDatabase(path);
    const connection = await instance.connect();
    try {
      await connection.run(createTables);
      const stored = await columnsIn(connection);
      const tables = Object.keys(eventTables) as EventTable[];
      const writers = await Promise.all(
        tables.map(async (table) => [table, await writerOf(connection, table, stored.get(table)!)]),
      );
      return new EventStore(path, instance, connection, Object.fromEntries(writers) as Writers);
    } catch (cause) {
      connection.closeSync();
      instance.closeSync();
      throw unreadable(path, cause);
    }
  }

  /** The checkpoints up to which all events are here. */
  async checkpoints(): Promise<number[]> {
    const rows = await this.#connection.runAndReadAll('select step from checkpoints');
    return rows.getRows().map(([step]) => Number(step));
  }

  /** Forgets what happened from this step on: it is about to happen again. */
  async rewind(step: number): Promise<void> {
    await this.#connection.run(`
      delete from steps where step >= ${step};
      delete from norms where step >= ${step};
      delete from edges where step >= ${step};
      delete from links where step > ${step};
      delete from evaluations where step > ${step};
      delete from checkpoints where step > ${step};`);
  }

  async append(event: Event): Promise<void> {
    try {
      if (event.type === 'start') await this.#start(event);
      else if (event.type === 'step') this.#tables.steps.append(stepRow(event));
      else if (event.type === 'norms')
        event.norms.forEach((norm, tensor) => {
          this.#tables.norms.append({ step: event.step, tensor, norm });
        });
      else if (event.type === 'edges') this.#tables.edges.append(event);
      else if (event.type === 'links') this.#tables.links.append(event);
      else if (event.type === 'evaluation') this.#tables.evaluations.append(evaluationRow(event));
      // Whose numbers are null in a step took no part in it.
      else if (event.type !== 'presence') this.#flush();
      // After the flush: a checkpoint that is listed has all its events here.
      if (event.type === 'checkpoint') {
        this.#tables.checkpoints.append({ step: event.step });
        this.#tables.checkpoints.flush();
      }
    } catch (cause) {
      throw this.#failed(cause);
    }
  }

  /** What the system refused, as when the disk is full, is the user's to solve; everything else is a mistake of ours. */
  #failed(cause: unknown): unknown {
    const why = refusal(cause);
    return why === undefined ? cause : new UserError(`cannot write ${this.#path}: ${why}`, { cause });
  }

  async #start({ tensors }: StartEvent): Promise<void> {
    await this.#connection.run('delete from tensors');
    tensors.forEach(({ name, shape, kind, size }, tensor) => {
      this.#tables.tensors.append({ tensor, name, shape: shape.join('×'), kind, size });
    });
    this.#tables.tensors.flush();
  }

  #flush(): void {
    for (const table of Object.values(this.#tables)) table.flush();
  }

  close(): void {
    try {
      for (const table of Object.values(this.#tables)) table.close();
    } catch (cause) {
      throw this.#failed(cause);
    } finally {
      this.#connection.closeSync();
      this.#instance.closeSync();
    }
  }
}

/** The columns of every table, in their order. */
async function columnsIn(connection: DuckDBConnection): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = await connection.runAndReadAll(
    'select table_name, list(column_name order by column_index) from duckdb_columns() group by all',
  );
  return new Map(found.getRowsJS().map(([table, names]) => [String(table), names as string[]]));
}

/** Columns that a database of an older version lacks are added; those of a newer one stay empty. */
async function writerOf<T extends EventTable>(
  connection: DuckDBConnection,
  table: T,
  stored: readonly string[],
): Promise<TableWriter<T>> {
  const columns = storedColumns(eventTables[table]);
  const missing = columns.filter(({ name }) => !stored.includes(name));
  for (const { name, type } of missing) await connection.run(`alter table ${table} add column ${name} ${type}`);
  const order = [...stored, ...missing.map(({ name }) => name)];
  return new TableWriter(
    await connection.createAppender(table),
    order.map((name) => columns.find((column) => column.name === name)),
  );
}

/** Appends rows by the names of their columns, in whatever order the database has them. */
class TableWriter<T extends EventTable> {
  readonly #appender: DuckDBAppender;
  readonly #order: readonly ({ readonly key: string; readonly column: Column } | undefined)[];

  constructor(appender: DuckDBAppender, order: readonly ({ key: string; column: Column } | undefined)[]) {
    this.#appender = appender;
    this.#order = order;
  }

  append(row: Row<(typeof eventTables)[T]>): void {
    const values = row as Readonly<Record<string, number | string | null | PerReplica>>;
    for (const place of this.#order)
      if (place === undefined) this.#appender.appendNull();
      else put(this.#appender, place.column, values[place.key]!);
    this.#appender.endRow();
  }

  flush(): void {
    this.#appender.flushSync();
  }

  close(): void {
    this.#appender.closeSync();
  }
}

function put(appender: DuckDBAppender, { type }: Column, value: number | string | null | PerReplica): void {
  if (value === null) appender.appendNull();
  else if (typeof value === 'string') appender.appendVarchar(value);
  else if (typeof value === 'object') appender.appendList([...value], LIST(DOUBLE));
  else if (type === 'integer') appender.appendInteger(value);
  else appender.appendDouble(value);
}

/** How long somebody who is just reading it may take. */
const patienceMs = 3000;

async function openDatabase(path: string, since = performance.now()): Promise<DuckDBInstance> {
  try {
    return await DuckDBInstance.create(path);
  } catch (cause) {
    if (inUse(cause) && performance.now() - since < patienceMs) {
      await sleep(50);
      return openDatabase(path, since);
    }
    if (inUse(cause))
      throw new UserError(`${path} is in use by another process`, { cause, hint: 'wait until that process has ended' });
    throw unreadable(path, cause);
  }
}

/** Why the system refused to write; undefined if something else went wrong. The appender wraps the reason in words of its own. */
export function refusal(cause: unknown): string | undefined {
  const [message] = (cause as Error).message.split('\n');
  if (message!.includes('No space left on device')) return 'the disk is full';
  return /^IO Error|Could not write file/.test(message!) ? message : undefined;
}

export const inUse = (cause: unknown) => (cause as Error).message.includes('Could not set lock');
export const unreadable = (path: string, cause: unknown) =>
  new UserError(`${path} cannot be read: ${(cause as Error).message.split('\n')[0]}`, { cause });
