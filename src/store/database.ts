import { setTimeout as sleep } from 'node:timers/promises';
import {
  type DuckDBAppender,
  type DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  type DuckDBType,
  listValue,
} from '@duckdb/node-api';
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
  const appender = await connection.createAppender(table);
  return new TableWriter(
    appender,
    order.map((name) => columns.find((column) => column.name === name)),
    order.map((_, index) => appender.columnType(index)),
  );
}

/** Rows that are handed to the database together: a list that is appended by itself takes twenty times as long. */
const mostRows = 64;

type Stored = number | string | null | PerReplica;

/** Appends rows by the names of their columns, in whatever order the database has them. */
class TableWriter<T extends EventTable> {
  readonly #appender: DuckDBAppender;
  readonly #order: readonly ({ readonly key: string; readonly column: Column } | undefined)[];
  readonly #types: readonly DuckDBType[];
  #rows: Readonly<Record<string, Stored>>[] = [];

  constructor(
    appender: DuckDBAppender,
    order: readonly ({ key: string; column: Column } | undefined)[],
    types: readonly DuckDBType[],
  ) {
    this.#appender = appender;
    this.#order = order;
    this.#types = types;
  }

  append(row: Row<(typeof eventTables)[T]>): void {
    this.#rows.push(row as Readonly<Record<string, Stored>>);
    if (this.#rows.length >= mostRows) this.#hand();
  }

  #hand(): void {
    if (this.#rows.length === 0) return;
    const chunk = DuckDBDataChunk.create(this.#types, this.#rows.length);
    for (const [index, place] of this.#order.entries()) {
      const value = (row: Readonly<Record<string, Stored>>) => (place === undefined ? null : stored(row[place.key]!));
      chunk.setColumnValues(index, this.#rows.map(value));
    }
    this.#appender.appendDataChunk(chunk);
    this.#rows = [];
  }

  flush(): void {
    this.#hand();
    this.#appender.flushSync();
  }

  close(): void {
    this.#hand();
    this.#appender.closeSync();
  }
}

const stored = (value: Stored) => (typeof value === 'object' && value !== null ? listValue(value) : value);

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
