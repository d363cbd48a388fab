import { randomUUID } from 'node:crypto';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { UserError } from '../base/error.ts';
import { makeFolder, reason } from '../base/file.ts';
import { type RunSeries, readSeries } from '../metric/series.ts';
import { summaryOf } from '../metric/summary.ts';
import { type Run, readContext } from '../store/runs.ts';
import { flatten } from './settings.ts';

export const tableFormats = ['csv', 'parquet'] as const;
export type TableFormat = (typeof tableFormats)[number];

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
const named = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** What is selected from a run's database `db`: one value a cell. */
const eventTables: Readonly<Record<string, (db: string) => string>> = {
  steps: (db) => `step, epoch, connections, learning_rate, distance, controlled_distance, target_distance, gossips,
    sent_bytes, sent_messages, data_ms, compute_ms, mix_ms, wait_ms, probe_ms from ${db}.steps`,
  replica_steps: (
    db,
  ) => `step, generate_subscripts(loss, 1) - 1 as replica, unnest(loss) loss, unnest(accuracy) accuracy,
    unnest(gradient_norm) gradient_norm from ${db}.steps`,
  // Not joined: that would give up the order of the rows.
  norms: (db) => `step, (select list(name order by tensor) from ${db}.tensors)[tensor + 1] as tensor,
    generate_subscripts(norm, 1) - 1 as replica, unnest(norm) norm from ${db}.norms`,
  evaluations: (db) => `step, epoch, samples, unnest(replicas::bigint[]) as replica, unnest(loss) loss,
    unnest(accuracy) accuracy, merged_loss, merged_accuracy from ${db}.evaluations`,
};

/**
 * The events of these runs as tidy tables, with their settings and the dispersion of their norms: one file a table. Returns the
 * paths of the files.
 */
export async function exportTables(runs: readonly Run[], folder: string, format: TableFormat): Promise<string[]> {
  makeFolder(folder);
  const instance = await DuckDBInstance.create();
  try {
    const connection = await instance.connect();
    await fillRunsAndDispersion(connection, runs);
    for (const [index, run] of runs.entries())
      await connection.run(`attach ${quoted(run.database)} as run${index} (read_only)`);
    const selects = Object.entries(eventTables).map(([table, select]): [string, string] => [
      table,
      runs.map((run, index) => `select ${quoted(run.id)} run, ${select(`run${index}`)}`).join(' union all '),
    ]);
    const files: string[] = [];
    for (const [table, select] of [['runs', 'from runs'], ['dispersion', 'from dispersion'], ...selects] as const) {
      const file = join(folder, `${table}.${format}`);
      await copyWhole(connection, select, file, format);
      files.push(file);
    }
    return files;
  } finally {
    instance.closeSync();
  }
}

/** To a temporary name, then renamed: the file is there whole or not at all. */
async function copyWhole(
  connection: DuckDBConnection,
  select: string,
  file: string,
  format: TableFormat,
): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  const options = format === 'csv' ? 'format csv, header' : 'format parquet, compression zstd';
  try {
    await connection.run(`copy (${select}) to ${quoted(temporary)} (${options})`);
    renameSync(temporary, file);
  } catch (cause) {
    rmSync(temporary, { force: true });
    const { message, code } = cause as NodeJS.ErrnoException;
    const refused = code !== undefined || message.startsWith('IO Error');
    throw refused ? new UserError(`cannot write ${file}: ${reason(cause).split('\n')[0]}`, { cause }) : cause;
  }
}

async function fillRunsAndDispersion(connection: DuckDBConnection, runs: readonly Run[]): Promise<void> {
  await connection.run(`create table dispersion (run varchar, step integer, tensor varchar, gini double,
    coefficient_of_variation double, index_of_dispersion double, quartile_coefficient double)`);
  const rows: Map<string, unknown>[] = [];
  for (const run of runs) {
    const series = await readSeries(run.database);
    const { id, ...summary } = summaryOf(run, series);
    rows.push(flatten({ run: id, ...summary, ...run.experiment, context: readContext(run) }));
    if (series !== undefined) await appendDispersion(connection, id, series);
  }
  await fillRuns(connection, rows);
}

async function appendDispersion(connection: DuckDBConnection, id: string, series: RunSeries): Promise<void> {
  const { variance, tensors } = series;
  const appender = await connection.createAppender('dispersion');
  variance.step.forEach((step, row) => {
    tensors.forEach(({ name }, tensor) => {
      const at = row * tensors.length + tensor;
      appender.appendVarchar(id);
      appender.appendInteger(step);
      appender.appendVarchar(name);
      appender.appendDouble(variance.gini[at]!);
      appender.appendDouble(variance.coefficientOfVariation[at]!);
      appender.appendDouble(variance.indexOfDispersion[at]!);
      appender.appendDouble(variance.quartileCoefficient[at]!);
      appender.endRow();
    });
  });
  appender.closeSync();
}

/** A column for every setting that some run has; lists as JSON. */
async function fillRuns(connection: DuckDBConnection, rows: readonly Map<string, unknown>[]): Promise<void> {
  const columns = [...new Set(rows.flatMap((row) => [...row.keys()]))].map((path) => ({
    path,
    type: typeOf(rows.map((row) => row.get(path)).filter((value) => value !== null && value !== undefined)),
  }));
  await connection.run(`create table runs (${columns.map(({ path, type }) => `${named(path)} ${type}`).join(', ')})`);
  const places = columns.map((_, index) => `$${index + 1}`).join(', ');
  for (const row of rows)
    await connection.run(
      `insert into runs values (${places})`,
      columns.map(({ path, type }) => {
        const value = row.get(path) ?? null;
        return type === 'varchar' && value !== null && typeof value !== 'string' ? JSON.stringify(value) : value;
      }) as (string | number | boolean | null)[],
    );
}

function typeOf(values: readonly unknown[]): 'bigint' | 'double' | 'boolean' | 'varchar' {
  if (values.length === 0) return 'varchar';
  if (values.every(Number.isSafeInteger)) return 'bigint';
  if (values.every((value) => typeof value === 'number')) return 'double';
  return values.every((value) => typeof value === 'boolean') ? 'boolean' : 'varchar';
}
