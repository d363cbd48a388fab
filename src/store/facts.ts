import { type DuckDBAppender, type DuckDBConnection, DuckDBTimestampValue } from '@duckdb/node-api';
import { flatten } from '../experiment/path.ts';
import { type Run, readContext, readResult, statusOf } from './runs.ts';
import { sqlName } from './schema.ts';
import { factColumns } from './tidy.ts';

/** What is known of a run without its events: how it ended, every setting by its path, and the machine; lists as JSON. */
function factsOf(run: Run): Map<string, unknown> {
  const status = statusOf(run);
  const result = status === 'running' || status === 'interrupted' ? undefined : readResult(run);
  const { startedAt, ...context } = readContext(run);
  return new Map<string, unknown>([
    ['run', run.id],
    ['status', status],
    ['started_at', Date.parse(startedAt)],
    ['seconds', result?.seconds],
    ['params_sha256', result?.paramsSha256],
    ...flatten(run.experiment),
    ...flatten({ context }),
  ]);
}

function typeOf(values: readonly unknown[]): string {
  if (values.length === 0) return 'varchar';
  if (values.every(Number.isSafeInteger)) return 'bigint';
  if (values.every((value) => typeof value === 'number')) return 'double';
  return values.every((value) => typeof value === 'boolean') ? 'boolean' : 'varchar';
}

function put(appender: DuckDBAppender, type: string, value: unknown): void {
  if (value === null || value === undefined) appender.appendNull();
  else if (type === 'bigint') appender.appendBigInt(BigInt(value as number));
  else if (type === 'double') appender.appendDouble(value as number);
  else if (type === 'boolean') appender.appendBoolean(value as boolean);
  else if (type === 'timestamp') appender.appendTimestamp(new DuckDBTimestampValue(1000n * BigInt(value as number)));
  else appender.appendVarchar(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Makes the table `facts`, with a column for everything that is known of some run. Returns their names in SQL. */
export async function createFacts(connection: DuckDBConnection, runs: readonly Run[]): Promise<string[]> {
  const rows = runs.map(factsOf);
  const types = new Map(factColumns.map(({ name, type }) => [name, type]));
  const known = (name: string) =>
    rows.map((row) => row.get(name)).filter((each) => each !== undefined && each !== null);
  for (const name of new Set(rows.flatMap((row) => [...row.keys()])))
    if (!types.has(name)) types.set(name, typeOf(known(name)));
  const columns = [...types.keys()].map(sqlName);
  await connection.run(`create table facts (${[...types].map(([name, type]) => `${sqlName(name)} ${type}`)})`);
  const appender = await connection.createAppender('facts');
  for (const row of rows) {
    for (const [name, type] of types) put(appender, type, row.get(name));
    appender.endRow();
  }
  appender.closeSync();
  return columns;
}
