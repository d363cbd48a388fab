import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checksumOf, dataFolder, inspect, presence, readChecked } from './folder.ts';
import type { Collection } from './set.ts';

const content = Buffer.from('some data '.repeat(1000));
const collection: Collection = {
  name: 'toy',
  summary: '',
  folder: 'toy',
  files: [{ name: 'a.txt', bytes: content.length, checksum: checksumOf(content, 'sha256:') }],
  sources: [{ kind: 'web', what: 'nobody', urls: {} }],
  licence: '',
  from: '',
};
let folder: string;
const put = (name: string, bytes: Uint8Array) => {
  rmSync(join(folder, 'toy'), { recursive: true, force: true });
  mkdirSync(join(folder, 'toy'));
  writeFileSync(join(folder, 'toy', name), bytes);
};
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-folder-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

it('is DBENCH_DATA, or in the user’s cache', () => {
  expect(dataFolder({ DBENCH_DATA: '/data', XDG_CACHE_HOME: '/cache' })).toBe('/data');
  expect(dataFolder({ DBENCH_DATA: '', XDG_CACHE_HOME: '/cache' })).toBe('/cache/dbench');
  expect(dataFolder({})).toMatch(/\.cache.dbench$/);
});

it('holds files plain or compressed', () => {
  for (const [name, bytes] of [
    ['a.txt', content],
    ['a.txt.gz', gzipSync(content)],
  ] as const) {
    put(name, bytes);
    expect(readChecked(folder, collection, 'a.txt').equals(content)).toBe(true);
    expect(presence(folder, collection)).toEqual({ here: true, storedBytes: bytes.length });
  }
});

it.each([
  ['truncated', 'a.txt', content.subarray(0, 5000), 'truncated: 5,000 of 10,000 bytes'],
  ['too long', 'a.txt', Buffer.concat([content, content]), '20,000 bytes, expected 10,000'],
  ['changed', 'a.txt', Buffer.from(content).fill(0, 10, 11), /^wrong checksum: sha256:.*, expected sha256:/],
  ['truncated and compressed', 'a.txt.gz', gzipSync(content).subarray(0, 30), 'truncated'],
  ['not compressed', 'a.txt.gz', content, 'not a gzip file'],
])('says what is wrong with a file that is %s', (_, name, bytes, problem) => {
  put(name, bytes);
  const found = inspect(join(folder, 'toy'), collection.files[0]!);
  expect(found).toMatchObject({
    state: 'damaged',
    problem: typeof problem === 'string' ? problem : expect.stringMatching(problem),
  });
  expect(() => readChecked(folder, collection, 'a.txt')).toThrowError(
    expect.objectContaining({
      message: expect.stringContaining(`the data set toy is damaged: ${join(folder, 'toy', name)}: `),
      hint: 'get it with: dbench data get toy',
    }),
  );
});
