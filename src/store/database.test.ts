import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EventStore } from './database.ts';
import { readEvents } from './views.ts';

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
    const seen = await readEvents(path, async ({ rows, numbers }) => {
      expect(await rows('select count(*) as count from steps')).toEqual([{ count: 0 }]);
      expect(openFiles()).toContain(path);
      return (await numbers('select range as i from range(10_000)')).get('i')!.length;
    });
    expect(seen).toBe(10_000);
    expect(openFiles()).not.toContain(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
