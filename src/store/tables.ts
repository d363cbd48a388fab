import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, type DuckDBResultReader } from '@duckdb/node-api';
import { UserError } from '../base/error.ts';
import { flatten } from '../experiment/path.ts';
import { eventTables, inUse, query, unreadable } from './database.ts';
import { type Run, readContext, readResult, refuseSameIds, statusOf } from './runs.ts';

/** A table over the events of all runs: every column as SQL over one run's database, which `from` selects of. */
interface EventTable {
  readonly summary: string;
  readonly from: (database: string) => string;
  readonly columns: Readonly<Record<string, string>>;
}

const same = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, name]));
const meanOf = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `list_avg(${name})`]));
const eachOf = (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, `unnest(${name})`]));
/** The position in a list with a value for each replica. */
const replicaIn = (list: string) => ({ replica: `unnest(range(len(${list})))::integer` });

/** Replicas that were lost have null; list_avg, list_min and list_max leave them out by themselves. */
const measured = (list: string) => `list_filter(${list}, lambda x: x is not null)`;

/** Not joined: that would give up the order of the rows. */
const tensorName = (database: string) => `(select list(name order by tensor) from ${database}.tensors)[tensor + 1]`;

/** 0 where all replicas are equal, as `dispersion` of base/statistics.ts has it; v is sorted, n its length, m its mean. */
const unlessEqual = (formula: string) => `case when v[1] = v[n] and not isnan(m) then 0 else ${formula} end`;

/** Unlike DuckDB's own function it takes what a diverged run leaves behind: NaN and ∞. */
const variance = 'list_sum(list_transform(v, lambda x: (x - m) * (x - m))) / n';

const eventTablesOfAllRuns = {
  steps: {
    summary: 'one row a step; loss, accuracy and gradient norm are means over the replicas',
    from: (database) => `${database}.steps`,
    columns: {
      ...same('step', 'epoch', 'connections', 'learning_rate'),
      ...meanOf('loss', 'accuracy', 'gradient_norm'),
      ...same('distance', 'controlled_distance', 'target_distance', 'gossips', 'sent_bytes', 'sent_messages'),
      ...same('data_ms', 'compute_ms', 'mix_ms', 'wait_ms', 'probe_ms'),
    },
  },
  replica_steps: {
    summary: 'one row a step and replica, on its own batch',
    from: (database) => `${database}.steps`,
    columns: { ...same('step'), ...replicaIn('loss'), ...eachOf('loss', 'accuracy', 'gradient_norm') },
  },
  norms: {
    summary: 'one row a probed step, tensor and replica: its L2 norm before averaging',
    from: (database) => `(select step, ${tensorName(database)} as tensor, norm from ${database}.norms)`,
    columns: { ...same('step', 'tensor'), ...replicaIn('norm'), ...eachOf('norm') },
  },
  dispersion: {
    summary: 'one row a probed step and tensor: how unequal the norms of the replicas are',
    from: (database) =>
      `(select step, ${tensorName(database)} as tensor, list_sort(${measured('norm')}) v, len(v) n, list_avg(norm) m
        from ${database}.norms)`,
    columns: {
      ...same('step', 'tensor'),
      index_of_dispersion: unlessEqual(`${variance} / m`),
      coefficient_of_variation: unlessEqual(`sqrt(${variance}) / m`),
      quartile_coefficient: unlessEqual(
        'coalesce((v[3 * n // 4 + 1] - v[n // 4 + 1]) / nullif(v[3 * n // 4 + 1] + v[n // 4 + 1], 0), 0)',
      ),
      gini: unlessEqual('list_sum(list_transform(v, lambda x, i: (2 * i - 1 - n) * x)) / (n * n * m)'),
    },
  },
  evaluations: {
    summary: 'one row an evaluation on the test set: local models (mean, least, largest) and their average',
    from: (database) => `${database}.evaluations`,
    columns: {
      ...same('step', 'epoch'),
      replicas: 'len(replicas)::integer',
      ...same('samples'),
      ...meanOf('loss', 'accuracy'),
      accuracy_min: 'list_min(accuracy)',
      accuracy_max: 'list_max(accuracy)',
      ...same('merged_loss', 'merged_accuracy', 'ms'),
    },
  },
  replica_evaluations: {
    summary: 'one row an evaluation and replica',
    from: (database) => `${database}.evaluations`,
    columns: { ...same('step', 'epoch'), replica: 'unnest(replicas)::integer', ...eachOf('loss', 'accuracy') },
  },
  tensors: {
    summary: 'the parameter tensors of the model, in order',
    from: (database) => `${database}.tensors`,
    columns: { position: 'tensor', tensor: 'name', ...same('shape', 'kind', 'size') },
  },
} satisfies Record<string, EventTable>;

/** What its events add: over all steps, and at the last evaluation. */
const outcomes = {
  steps: 'count(*)::integer',
  connections: 'avg(connections)',
  sent_bytes: 'sum(sent_bytes)',
  final_distance: 'arg_max(distance, step)',
};
const finals = ['accuracy', 'loss', 'merged_accuracy', 'merged_loss'];

const runColumns = ['run', 'status', 'started_at', 'seconds', 'params_sha256', ...Object.keys(outcomes), ...finals];

export type TableName = keyof typeof eventTablesOfAllRuns | 'runs';

/** The tidy tables over any number of runs: what there is to ask, and to export. */
export const tidyTables: Readonly<
  Record<TableName, { readonly summary: string; readonly columns: readonly string[] }>
> = {
  runs: {
    summary:
      'one row a run; accuracy and loss on the test set at the last evaluation, mean of the local models; then every setting',
    columns: runColumns,
  },
  ...(Object.fromEntries(
    Object.entries(eventTablesOfAllRuns).map(([name, { summary, columns }]) => [
      name,
      { summary, columns: ['run', ...Object.keys(columns)] },
    ]),
  ) as Record<keyof typeof eventTablesOfAllRuns, { summary: string; columns: string[] }>),
};

export const sqlText = (value: string) => `'${value.replaceAll("'", "''")}'`;
const sqlName = (name: string) => `"${name.replaceAll('"', '""')}"`;

type Type = 'bigint' | 'double' | 'boolean' | 'varchar' | 'timestamp';

function typeOf(values: readonly unknown[]): Type {
  if (values.length === 0) return 'varchar';
  if (values.every(Number.isSafeInteger)) return 'bigint';
  if (values.every((value) => typeof value === 'number')) return 'double';
  return values.every((value) => typeof value === 'boolean') ? 'boolean' : 'varchar';
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') return sqlText(value);
  return typeof value === 'object' ? sqlText(JSON.stringify(value)) : String(value);
}

/** What is known of a run without its events: how it ended, every setting by its path, and the machine; lists as JSON. */
function factsOf(run: Run): Map<string, unknown> {
  const status = statusOf(run);
  const result = status === 'running' || status === 'interrupted' ? undefined : readResult(run);
  const { startedAt, ...context } = readContext(run);
  return new Map([
    ['run', run.id],
    ['status', status],
    ['started_at', startedAt.replace(/Z$/, '')],
    ['seconds', result?.seconds],
    ['params_sha256', result?.paramsSha256],
    ...flatten(run.experiment),
    ...flatten({ context }),
  ]);
}

/** A column for everything that is known of some run. */
function factsTable(runs: readonly Run[]): { readonly sql: string; readonly columns: readonly string[] } {
  const rows = runs.map(factsOf);
  const types = new Map<string, Type>([
    ['run', 'varchar'],
    ['status', 'varchar'],
    ['started_at', 'timestamp'],
    ['seconds', 'double'],
    ['params_sha256', 'varchar'],
  ]);
  for (const name of new Set(rows.flatMap((row) => [...row.keys()])))
    if (!types.has(name))
      types.set(name, typeOf(rows.map((row) => row.get(name)).filter((each) => each !== undefined)));
  const columns = [...types.keys()];
  const values = rows.map((row) => `(${columns.map((name) => literal(row.get(name)))})`);
  const create = `create table facts (${[...types].map(([name, type]) => `${sqlName(name)} ${type}`)})`;
  return { sql: values.length === 0 ? create : `${create}; insert into facts values ${values}`, columns };
}

/** A view over all attached databases; the first, without rows, gives it its types. */
function viewOf(name: string, { from, columns }: EventTable, attached: readonly Attached[]): string {
  const list = Object.entries(columns).map(([column, sql]) => `${sql} as ${column}`);
  const select = (run: string, database: string) => `select ${run} as run, ${list} from ${from(database)}`;
  const parts = attached.map(({ run, alias }) => select(sqlText(run.id), alias));
  return `create view ${name} as ${[select('null::varchar', 'none'), ...parts].join(' union all ')}`;
}

const runsView = (facts: readonly string[]) => `
  create view runs as select ${[...runColumns, ...facts.filter((name) => !runColumns.includes(name)).map(sqlName)]}
  from facts
  left join (select run, ${Object.entries(outcomes).map(([name, sql]) => `${sql} as ${name}`)} from steps group by run) using (run)
  left join (select run, ${finals.map((name) => `arg_max_null(${name}, step) as ${name}`)} from evaluations group by run) using (run)
  order by started_at, run`;

interface Attached {
  readonly run: Run;
  readonly alias: string;
}

/** The tidy tables over the events of many runs, open for questions. Nothing is copied: a question reads the runs' own files. */
export class Tables {
  /** Runs whose events are not here, and why. */
  readonly problems: readonly string[];
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection, problems: readonly string[]) {
    this.#instance = instance;
    this.#connection = connection;
    this.problems = problems;
  }

  /**
   * A run that is being written, or whose events cannot be read, is left out of all tables but `runs`.
   * Damage inside a file shows only when that part is read: `thorough` reads every file to its end first.
   */
  static async open(runs: readonly Run[], { thorough = false } = {}): Promise<Tables> {
    refuseSameIds(runs);
    const instance = await DuckDBInstance.create(':memory:', {
      autoinstall_known_extensions: 'false',
      autoload_known_extensions: 'false',
      // A folder of its own: what is in it stays writable for a question.
      temp_directory: join(tmpdir(), `dbench-tables-${randomUUID()}`),
    });
    const connection = await instance.connect();
    await connection.run(`attach ':memory:' as none; use none; ${eventTables}; use memory`);
    const { attached, problems } = await attachAll(connection, runs, thorough);
    for (const [name, table] of Object.entries(eventTablesOfAllRuns))
      await connection.run(viewOf(name, table, attached));
    const facts = factsTable(runs);
    await connection.run(facts.sql);
    await connection.run(runsView(facts.columns));
    return new Tables(instance, connection, problems);
  }

  /** From now on no other file can be read, and none written. */
  async seal(): Promise<void> {
    await this.#connection.run('set enable_external_access = false; set lock_configuration = true');
  }

  ask(sql: string): Promise<DuckDBResultReader> {
    return this.#connection.runAndReadAll(sql);
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }
}

/** Fails where a part of a run's events cannot be read. */
const readWhole = ({ database }: Run) =>
  query(database, async ({ rows }) => {
    for (const { name } of await rows('select table_name as name from duckdb_tables()'))
      await rows(`select count(hash(t)) from "${name}" t`);
  });

/** Opens the events of all runs that can be read, and says why the others cannot. */
async function attachAll(
  connection: DuckDBConnection,
  runs: readonly Run[],
  thorough: boolean,
): Promise<{ attached: readonly Attached[]; problems: readonly string[] }> {
  const problems: string[] = [];
  const opened: Attached[] = [];
  for (const [index, run] of runs.entries()) {
    const alias = `r${index}`;
    try {
      if (!existsSync(run.database)) throw new UserError(`${run.id} has no events yet`);
      if (thorough) await readWhole(run);
      await connection.run(`attach ${sqlText(run.database)} as ${alias} (read_only)`);
      opened.push({ run, alias });
    } catch (cause) {
      if (cause instanceof UserError) problems.push(cause.message);
      else if (inUse(cause)) problems.push(`${run.id} is being written by another process`);
      else problems.push(unreadable(run.database, cause).message);
    }
  }
  // Killed before its first flush, or written by another version: a table or a column is missing.
  const columns = await connection.runAndReadAll(`
    with columns as (select database_name, table_name || '.' || column_name as name from duckdb_columns())
    select database_name, min(name) from
      (select o.database_name, w.name from (select distinct database_name from duckdb_databases()) o, columns w
        where w.database_name = 'none' except select * from columns) group by database_name`);
  const missing = new Map(columns.getRows() as [string, string][]);
  const attached = opened.filter(({ alias }) => !missing.has(alias));
  for (const { run, alias } of opened)
    if (missing.has(alias)) problems.push(`${run.database} has no ${missing.get(alias)}`);
  return { attached, problems };
}
