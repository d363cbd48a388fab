import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EventStore, query } from './database.ts';

const openFiles = () =>
  readdirSync('/proc/self/fd').flatMap((file) => {
    try {
      return [readlinkSync(`/proc/self/fd/${file}`)];
    } catch {
      return [];
    }
  });

it.skipIf(!existsSync('/proc/self/fd'))('a database is closed after it was asked: others may write to it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dbench-database-'));
  try {
    const path = join(folder, 'events.duckdb');
    (await EventStore.open(path)).close();
    const seen = await query(path, async ({ rows, chunks }) => {
      expect(await rows('select count(*) as count from steps')).toEqual([{ count: '0' }]);
      expect(openFiles()).toContain(path);
      let count = 0;
      for await (const chunk of chunks('from range(10_000)')) count += chunk.rowCount;
      return count;
    });
    expect(seen).toBe(10_000);
    expect(openFiles()).not.toContain(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
