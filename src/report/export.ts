import { join } from 'node:path';
import { makeFolder } from '../base/file.ts';
import type { Run } from '../store/runs.ts';
import { type TableFormat, withTables } from '../store/tables.ts';
import { type TableName, tidyTables } from '../store/tidy.ts';

interface TableFiles {
  readonly files: readonly string[];
  /** Which runs are not in them, and why: a sentence each. */
  readonly problems: readonly string[];
}

/** The tidy tables over these runs, one file per table, as `dbench query` has them. */
export async function exportTables(runs: readonly Run[], folder: string, format: TableFormat): Promise<TableFiles> {
  makeFolder(folder);
  return withTables(runs, async (tables) => {
    const files: string[] = [];
    for (const table of Object.keys(tidyTables) as TableName[]) {
      const file = join(folder, `${table}.${format}`);
      await tables.copy(table, file, format);
      files.push(file);
    }
    return { files, problems: tables.problems };
  });
}
