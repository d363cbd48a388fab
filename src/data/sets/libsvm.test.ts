import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { loadData } from '../load.ts';
import { dataSchema } from '../schema.ts';
import { libsvmOf, parseLibsvm } from './libsvm.ts';

const train = parseLibsvm('+1 1:0.5 3:-2 # a comment\n\n-1 \n-1 2:1e-3\n', 'a');

it('becomes dense, with labels from 0 in ascending order', () => {
  const set = libsvmOf(train, parseLibsvm('3 4:7\n', 'b'), 1, 'a');
  expect(set).toMatchObject({ classes: 3, shape: [4], train: { count: 3 }, test: { count: 1 } });
  expect([...set.train.labels]).toEqual([1, 0, 0]);
  expect([...set.test.labels]).toEqual([2]);
  expect(set.train.features).toEqual(Float32Array.of(0.5, 0, -2, 0, 0, 0, 0, 0, 0, 1e-3, 0, 0));
  expect(set.test.features).toEqual(Float32Array.of(0, 0, 0, 7));
});

it('sets a fifth aside where there is no test file, every sample in one of the two', () => {
  const lines = Array.from({ length: 50 }, (_, i) => `${i % 2} 1:${i}`).join('\n');
  const set = libsvmOf(parseLibsvm(lines, 'a'), undefined, 1, 'a');
  expect([set.train.count, set.test.count]).toEqual([40, 10]);
  const values = [...(set.train.features as Float32Array), ...(set.test.features as Float32Array)];
  expect(values.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
});

it.each([
  ['x 1:1', 'a:1: the label must be a whole number, got "x"'],
  ['1 1:1\n1 0:1', 'a:2: expected index:value with an index from 1, got "0:1"'],
  ['1 qid:3', 'a:1: expected index:value with an index from 1, got "qid:3"'],
  ['1 2', 'a:1: expected index:value with an index from 1, got "2"'],
  ['1 1:1:1', 'a:1: expected index:value with an index from 1, got "1:1:1"'],
  ['1 547', 'a:1: expected index:value with an index from 1, got "547"'],
  ['1 1:', 'a:1: expected index:value with an index from 1, got "1:"'],
  ['1 :1', 'a:1: expected index:value with an index from 1, got ":1"'],
  ['1 1:0x1', 'a:1: expected index:value with an index from 1, got "1:0x1"'],
  ['1 1.0:1', 'a:1: expected index:value with an index from 1, got "1.0:1"'],
  ['1 1:Infinity', 'a:1: expected index:value with an index from 1, got "1:Infinity"'],
  ['1 1:1e39', 'a:1: the value in "1:1e39" is too large for float32'],
  ['1 2:1 2:1', 'a:1: indices must ascend, but 2 comes after 2'],
  ['1 214748364:1', 'a:1: the index 214748364 is above 1,000,000, the most features that a sample can have here'],
  ['0x1 1:1', 'a:1: the label must be a whole number, got "0x1"'],
  ['\n', 'a holds no samples'],
])('refuses %j', (text, message) => {
  expect(() => parseLibsvm(text, 'a')).toThrow(message);
});

it.each([
  ['1 1:1\n2 1:1\n', 'a holds 2 samples; a share of 0.2 set aside for testing leaves no test sample'],
  ['1 1:1\n'.repeat(9), 'a holds one class only (1), at least 2 are needed'],
  [`${'1 1:1\n'.repeat(2000)}2 1000000:1\n`, 'a: 2,001 samples of 1,000,000 features are too many to be kept dense'],
])('refuses data that cannot be used: %#', (text, message) => {
  expect(() => libsvmOf(parseLibsvm(text, 'a'), undefined, 1, 'a')).toThrow(message);
});

it('reads a file of the user’s, plain or compressed, and names the sets that exist', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dbench-libsvm-'));
  const load = (trainPath: string) => loadData(dataSchema.parse({ kind: 'libsvm', trainPath }), { seed: 1, folder });
  try {
    const text = Array.from({ length: 10 }, (_, i) => `${i % 2} 1:${i}`).join('\n');
    writeFileSync(join(folder, 'mine'), text);
    writeFileSync(join(folder, 'small.gz'), gzipSync(text));
    expect(await load(join(folder, 'small'))).toEqual(await load(join(folder, 'mine')));
    await expect(load(join(folder, 'none'))).rejects.toMatchObject({
      message: `cannot read the LIBSVM file ${join(folder, 'none')}: no such file or folder`,
      hint: 'give a path, or one of a9a, a9a.t, w8a',
    });
    await expect(load('a9a')).rejects.toMatchObject({ hint: 'get it with: dbench data get libsvm' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
