import { randomUUID } from 'node:crypto';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../base/error.ts';
import { makeFolder, reason } from '../base/file.ts';
import { refusal } from '../store/database.ts';
import type { Run } from '../store/runs.ts';
import { sqlText, Tables, tidyTables } from '../store/tables.ts';

export const tableFormats = ['csv', 'parquet'] as const;
export type TableFormat = (typeof tableFormats)[number];

/** The tidy tables over these runs, one file a table, as `dbench query` has them. Returns the paths of the files. */
export async function exportTables(runs: readonly Run[], folder: string, format: TableFormat): Promise<string[]> {
  makeFolder(folder);
  const tables = await Tables.open(runs);
  try {
    const files: string[] = [];
    for (const table of Object.keys(tidyTables)) {
      const file = join(folder, `${table}.${format}`);
      await copyWhole(tables, table, file, format);
      files.push(file);
    }
    return files;
  } finally {
    tables.close();
  }
}

/** To a temporary name, then renamed: the file is there whole or not at all. */
async function copyWhole(tables: Tables, table: string, file: string, format: TableFormat): Promise<void> {
  const temporary = `${file}.${randomUUID()}.tmp`;
  const options = format === 'csv' ? 'format csv, header' : 'format parquet, compression zstd';
  try {
    await tables.ask(`copy (from ${table}) to ${sqlText(temporary)} (${options})`);
    renameSync(temporary, file);
  } catch (cause) {
    rmSync(temporary, { force: true });
    const why = (cause as NodeJS.ErrnoException).code === undefined ? refusal(cause) : reason(cause);
    throw why === undefined ? cause : new UserError(`cannot write ${file}: ${why}`, { cause });
  }
}
