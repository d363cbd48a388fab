import type { DuckDBConnection } from '@duckdb/node-api';
import { UserError } from '../base/error.ts';
import { writeWholeLater } from '../base/file.ts';
import { refusal } from './database.ts';
import { createFacts } from './facts.ts';
import { type Run, refuseSameIds } from './runs.ts';
import { sqlText } from './schema.ts';
import { runsView, type TableName } from './tidy.ts';
import { type Answer, answerOf, createViews, openMemory, readEvents } from './views.ts';

export const tableFormats = ['csv', 'parquet'] as const;
export type TableFormat = (typeof tableFormats)[number];

/** The tidy tables over the events of many runs, open for questions. Nothing is copied: a question reads the runs' own files. */
export class Tables {
  /** Runs whose events are not here, and why. */
  readonly problems: readonly string[];
  readonly #connection: DuckDBConnection;
  readonly close: () => void;

  private constructor(connection: DuckDBConnection, close: () => void, problems: readonly string[]) {
    this.#connection = connection;
    this.close = close;
    this.problems = problems;
  }

  /**
   * A run that is being written, or whose events cannot be read, is left out of all tables but `runs`.
   * Damage inside a file shows only when that part is read: `thorough` reads every file to its end first.
   */
  static async open(runs: readonly Run[], { thorough = false } = {}): Promise<Tables> {
    refuseSameIds(runs);
    const damaged = thorough ? await damages(runs) : new Map<string, string>();
    const { connection, close } = await openMemory();
    try {
      const sound = runs.filter(({ id }) => !damaged.has(id)).map(({ id, database }) => ({ id, path: database }));
      const found = new Map((await createViews(connection, sound)).map(({ id, error }) => [id, error.message]));
      await connection.run(runsView(await createFacts(connection, runs)));
      const problems = runs.flatMap(({ id }) => damaged.get(id) ?? found.get(id) ?? []);
      return new Tables(connection, close, problems);
    } catch (error) {
      close();
      throw error;
    }
  }

  /** From now on no other file can be read, and none written. */
  async seal(): Promise<void> {
    await this.#connection.run('set enable_external_access = false; set lock_configuration = true');
  }

  async ask(sql: string): Promise<Answer> {
    return answerOf(await this.#connection.runAndReadAll(sql));
  }

  /** Writes a whole table to a file. */
  copy(table: TableName, file: string, format: TableFormat): Promise<void> {
    const options = format === 'csv' ? 'format csv, header' : 'format parquet, compression zstd';
    return writeWholeLater(file, async (temporary) => {
      try {
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
