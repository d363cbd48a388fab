import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readLock, takeLock, writeLock } from './lock.ts';

let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'dbench-lock-')), 'lock');
});
afterEach(() => rmSync(join(path, '..'), { recursive: true }));

const write = (holder: unknown) => writeFileSync(path, JSON.stringify(holder));

it('is held until it is given back, and taken by one only', () => {
  expect(readLock(path)).toBeUndefined();
  const release = takeLock(path) as () => void;
  expect(readLock(path)).toMatchObject({ held: true, own: true, holder: `process ${process.pid}` });
  expect(takeLock(path)).toMatchObject({ held: true });
  release();
  expect(existsSync(path)).toBe(false);
  writeLock(path)();
  expect(existsSync(path)).toBe(false);
});

it('is not held by a process that has ended, nor by another that has its number now', () => {
  const { pid } = spawnSync(process.execPath, ['--version']);
  write({ pid, host: hostname() });
  expect(readLock(path)).toMatchObject({ held: false });
  writeLock(path);
  const mine = JSON.parse(readFileSync(path, 'utf8'));
  expect(mine).toMatchObject({ pid: process.pid, started: expect.any(String), host: hostname() });
  write({ ...mine, started: `${mine.started}1` });
  expect(readLock(path)).toMatchObject({ held: false, own: false });
  expect(takeLock(path)).toBeTypeOf('function');
});

it('of version 0.1 is the number alone', () => {
  writeFileSync(path, String(process.ppid));
  expect(readLock(path)).toMatchObject({ held: true, own: false, holder: `process ${process.ppid}` });
});

it('of another host is held as long as it is touched', () => {
  write({ pid: 12, started: '1', host: 'elsewhere' });
  expect(readLock(path)).toEqual({ held: true, own: false, holder: 'process 12 on elsewhere', host: 'elsewhere' });
  const before = new Date(Date.now() - 60_000);
  utimesSync(path, before, before);
  expect(readLock(path)).toMatchObject({ held: false });
});

it.each(['', 'x', '-1', '0', '{"pid":0}', 'null', '{"pid":"1"}'])('is not held by nobody: %s', (content) => {
  writeFileSync(path, content);
  expect(readLock(path)).toMatchObject({ held: false, holder: 'an unknown process' });
});
