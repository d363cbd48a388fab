import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeFolder } from './file.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'dbench-file-'));
});

afterEach(() => rmSync(home, { recursive: true }));

it('makes a folder with all above it, and leaves one that is there', () => {
  const deep = join(home, 'a', 'b', 'c');
  makeFolder(deep);
  makeFolder(`${deep}/`);
  expect(statSync(deep).isDirectory()).toBe(true);
});

it('says why a folder cannot be made', () => {
  const file = join(home, 'file');
  writeFileSync(file, '');
  expect(() => makeFolder(file)).toThrow(`cannot make the folder ${file}: a file has that name`);
  expect(() => makeFolder(join(file, 'x'))).toThrow('a part of the path is not a folder');
});

it.runIf(process.platform === 'linux')('returns where no folder can be made', () => {
  expect(() => makeFolder('/proc/dbench/x')).toThrow('cannot make the folder /proc/dbench/x: no such file or folder');
});
