import type { DuckDBConnection } from '@duckdb/node-api';
import { UserError } from '../base/error.ts';
import { writeWholeLater } from '../base/file.ts';
import { chunks } from '../base/list.ts';
import { refusal } from './database.ts';
import { createFacts } from './facts.ts';
import { type Run, refuseSameIds } from './runs.ts';
import { sqlText } from './schema.ts';
import { runsQuery, type TableName, tidyTables } from './tidy.ts';
import { type Answer, Attached, answerOf, type Database, openMemory, readEvents, tablesIn } from './views.ts';

export const tableFormats = ['csv', 'parquet'] as const;
export type TableFormat = (typeof tableFormats)[number];

interface Batch {
  /** Of all its runs. */
  readonly ids: readonly string[];
  /** Of those that are not damaged. */
  readonly databases: readonly Database[];
}

/** So many runs are attached at once: each takes a third of a megabyte, and files of which a process may open some thousand. */
const mostAttached = 200;

/**
 * The tidy tables over the events of many runs, open for questions. Nothing is copied: a question reads the runs' own files. Of very many
 * runs the tables that a question names are gathered first, two hundred runs at a time.
 */
export class Tables {
  /** Runs whose events are not here, and why. */
  readonly problems: readonly string[];
  readonly #connection: DuckDBConnection;
  readonly #batches: readonly Batch[];
  /** The columns of the table of facts, in SQL. */
  readonly #facts: readonly string[];
  /** All runs, unless they are too many. */
  readonly #attached: Attached | undefined;
  readonly #made = new Set<TableName>();
  readonly close: () => void;

  private constructor(
    { connection, close }: Awaited<ReturnType<typeof openMemory>>,
    batches: readonly Batch[],
    facts: readonly string[],
    attached: Attached | undefined,
    problems: readonly string[],
  ) {
    this.#connection = connection;
    this.close = close;
    this.#batches = batches;
    this.#facts = facts;
    this.#attached = attached;
    this.problems = problems;
  }

  /**
   * A run that is being written, or whose events cannot be read, is left out of all tables but `runs`.
   * Damage inside a file shows only when that part is read: `thorough` reads every file to its end first.
   * @param options.most runs that are attached at once
   */
  static async open(runs: readonly Run[], { thorough = false, most = mostAttached } = {}): Promise<Tables> {
    refuseSameIds(runs);
    const problems = thorough ? await damages(runs) : new Map<string, string>();
    const memory = await openMemory();
    try {
      const batches = chunks(runs, most).map((some) => {
        const sound = some.filter(({ id }) => !problems.has(id));
        return { ids: some.map(({ id }) => id), databases: sound.map(({ id, database }) => ({ id, path: database })) };
      });
      const facts = await createFacts(memory.connection, runs);
      let attached: Attached | undefined;
      for (const { databases } of batches) {
        await attached?.detach();
        attached = await Attached.open(memory.connection, databases);
        for (const { id, error } of attached.problems) problems.set(id, error.message);
      }
      if (batches.length > 1) await attached?.detach();
      return new Tables(
        memory,
        batches,
        facts,
        batches.length > 1 ? undefined : attached,
        runs.flatMap(({ id }) => problems.get(id) ?? []),
      );
    } catch (error) {
      memory.close();
      throw error;
    }
  }

  /** Makes the tables that a question names, if they are not yet here. */
  async #make(sql: string): Promise<void> {
    const names = tablesIn(this.#connection, sql, Object.keys(tidyTables) as TableName[]);
    const missing = names.filter((name) => !this.#made.has(name));
    for (const name of missing) this.#made.add(name);
    if (missing.length === 0) return;
    const attached = this.#attached;
    if (attached !== undefined)
      for (const name of missing) await this.#connection.run(`create view ${name} as ${this.#query(name, attached)}`);
    else await this.#gather(missing);
  }

  async #gather(names: readonly TableName[]): Promise<void> {
    for (const [index, { ids, databases }] of this.#batches.entries()) {
      const attached = await Attached.open(this.#connection, databases);
      for (const name of names) {
        const rows = this.#query(name, attached, `(from facts where run in (${ids.map(sqlText)}))`);
        await this.#connection.run(`${index === 0 ? `create table ${name} as` : `insert into ${name}`} ${rows}`);
      }
      await attached.detach();
    }
    if (names.includes('runs'))
      await this.#connection.run('create or replace table runs as from runs order by started_at, run');
  }

  #query(name: TableName, attached: Attached, facts = 'facts'): string {
    return name === 'runs' ? runsQuery(facts, this.#facts, (table) => attached.query(table)) : attached.query(name);
  }

  /** From now on no other file can be read, and none written. What a question names is here from before; all tables, unless it is given. */
  async seal(sql = ''): Promise<void> {
    await this.#make(sql);
    await this.#connection.run('set enable_external_access = false; set lock_configuration = true');
  }

  async ask(sql: string): Promise<Answer> {
    await this.#make(sql);
    return answerOf(await this.#connection.runAndReadAll(sql));
  }

  /** Writes a whole table to a file. */
  copy(table: TableName, file: string, format: TableFormat): Promise<void> {
    const options = format === 'csv' ? 'format csv, header' : 'format parquet, compression zstd';
    return writeWholeLater(file, async (temporary) => {
      try {
        await this.#make(`from ${table}`);
        await this.#connection.run(`copy (from ${table}) to ${sqlText(temporary)} (${options})`);
      } catch (cause) {
        const why = refusal(cause);
        throw why === undefined ? cause : new UserError(`cannot write ${file}: ${why}`, { cause });
      }
    });
  }
}

/**
 * Asks the tables over these runs. Damage inside a file shows only when that part is read: then all files are read to their end, and the
 * work is done again without those that are damaged.
 */
export async function withTables<T>(runs: readonly Run[], work: (tables: Tables) => Promise<T>): Promise<T> {
  const attempt = async (thorough: boolean) => {
    const tables = await Tables.open(runs, { thorough });
    try {
      return await work(tables);
    } finally {
      tables.close();
    }
  };
  return attempt(false).catch((error) => (error instanceof UserError ? Promise.reject(error) : attempt(true)));
}

/** What is wrong with those of these runs that cannot be read to their end. */
async function damages(runs: readonly Run[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const { id, database } of runs)
    try {
      await readEvents(database, async ({ rows }) => {
        for (const { name } of await rows("select table_name as name from duckdb_tables() where database_name = 'r0'"))
          await rows(`select count(hash(t)) from r0."${name}" t`);
      });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      found.set(id, error.message);
    }
  return found;
}
