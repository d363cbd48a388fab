import { join } from 'node:path';
import { makeFolder } from '../base/file.ts';
import type { Run } from '../store/runs.ts';
import { type TableFormat, withTables } from '../store/tables.ts';
import { type TableName, tidyTables } from '../store/tidy.ts';

/** The tidy tables over these runs, one file per table, as `dbench query` has them. Returns the paths of the files. */
export async function exportTables(runs: readonly Run[], folder: string, format: TableFormat): Promise<string[]> {
  makeFolder(folder);
  return withTables(runs, async (tables) => {
    const files: string[] = [];
    for (const table of Object.keys(tidyTables) as TableName[]) {
      const file = join(folder, `${table}.${format}`);
      await tables.copy(table, file, format);
      files.push(file);
    }
    return files;
  });
}
