import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UserError } from '../../base/error.ts';
import { parse } from '../../base/schema.ts';
import { fillBatch } from '../batch.ts';
import type { Classification, Samples, Text } from '../dataset.ts';
import { inspectData } from '../inspect.ts';
import { loadData } from '../load.ts';
import { dataSchema } from '../schema.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-own-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, content: string | Uint8Array) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const load = (settings: object) => loadData(parse(dataSchema, settings, 'data'), { seed: 1 });
const table = (path: string, more: object = {}) =>
  load({ kind: 'table', path, label: 'kind', ...more }) as Promise<Classification>;
const rowsOf = ({ features, count, shape }: Samples) =>
  Array.from({ length: count }, (_, i) => [...(features as Float32Array).subarray(i * shape[0]!, (i + 1) * shape[0]!)]);

const csv = `id,width,color,part,kind
7,1,red,train,no
8,3,"blue, dark",train,yes
9,5,red,test,no
`;

describe('tables', () => {
  const settings = { ignore: ['id'], split: 'part' };

  it('normalise numbers by the training rows, and give every category a feature', async () => {
    const { train, test, shape, classes, classNames, columns } = await table(write('a.csv', csv), settings);
    expect({ shape, classes, classNames }).toEqual({ shape: [3], classes: 2, classNames: ['no', 'yes'] });
    expect(columns).toEqual([
      { name: 'width', mean: 2, deviation: 1 },
      { name: 'color', categories: ['blue, dark', 'red'] },
    ]);
    expect(rowsOf(train)).toEqual([
      [-1, 0, 1],
      [1, 1, 0],
    ]);
    expect(rowsOf(test)).toEqual([[3, 0, 1]]);
    expect([...train.labels, ...test.labels]).toEqual([0, 1, 0]);
  });

  it('are the same whether they are plain, compressed, with other separators, or in Parquet', async () => {
    const known = await table(write('a.csv', csv), settings);
    const semicolons = csv.replace('"blue, dark"', 'blue; dark').replaceAll(/,(?! )/g, ';');
    const paths = [
      write('b.csv.gz', gzipSync(csv)),
      write('c.csv', semicolons.replace('blue; dark', '"blue, dark"').replaceAll('\n', '\r\n')),
      write('d.csv', `\uFEFF${csv}`),
      join(folder, 'e.parquet'),
    ];
    const database = await DuckDBInstance.create(':memory:');
    const connection = await database.connect();
    await connection.run(`copy (select * replace (width::float as width) from read_csv('${join(folder, 'a.csv')}', all_varchar = true))
       to '${paths[3]}' (format parquet)`);
    connection.closeSync();
    database.closeSync();
    for (const path of paths) expect(await table(path, settings), path).toEqual(known);
  });

  it('are divided by the seed, by a column, or by files, and groups are kept', async () => {
    const rows = Array.from({ length: 50 }, (_, i) => `${i},${i % 3},u${i % 4}`);
    const path = write('many.csv', `x,kind,owner\n${rows.join('\n')}\n`);
    const drawn = await table(path, { normalize: false, group: 'owner', testShare: 0.3 });
    expect([drawn.train.count, drawn.test.count, drawn.shape]).toEqual([35, 15, [1]]);
    const all = [...rowsOf(drawn.train), ...rowsOf(drawn.test)].flat();
    expect(all.toSorted((a, b) => a - b)).toEqual([...rows.keys()]);
    // u0, u1, … in the order of their appearance.
    expect([...drawn.train.groups!]).toEqual(rowsOf(drawn.train).map(([x]) => x! % 4));
    expect(await table(path, { normalize: false, group: 'owner', testShare: 0.3 })).toEqual(drawn);
    const test = write('test.csv', 'kind,x,owner\n1,100,u9\n');
    const files = await table(path, { testPath: test, normalize: false, ignore: ['owner'] });
    expect([files.train.count, rowsOf(files.test), [...files.test.labels]]).toEqual([50, [[100]], [1]]);
  });

  it('fill what is missing if asked to, and leave out an index without a name', async () => {
    const path = write('gaps.csv', ',a,b,part,kind\n0,1,x,train,1\n1,NA,,train,2\n2,3,x,test,1\n');
    const { train, test } = await table(path, { missing: 'fill', split: 'part', normalize: false });
    expect([...rowsOf(train), ...rowsOf(test)]).toEqual([
      [1, 1],
      [1, 0],
      [3, 1],
    ]);
  });

  it('may have blanks around their values, those that are missing included', async () => {
    const path = write('blanks.csv', 'age, work, kind\n39, State, a \n50, ?, b\n38, State,a\n53,NA ,b\n');
    const { train, test, columns, classNames } = await table(path, { missing: 'fill', testShare: 0.5 });
    expect(classNames).toEqual(['a', 'b']);
    expect(columns![1]).toEqual({ name: 'work', categories: ['State'] });
    expect([...rowsOf(train), ...rowsOf(test)].map(([, state]) => state).sort()).toEqual([0, 0, 1, 1]);
  });

  it('have one class for a number, however it is written', async () => {
    const path = write('whole.csv', 'x,kind\n1,10\n2,2\n3,10\n');
    const testPath = write('points.csv', 'x,kind\n1,2.0\n2,10.0\n');
    const { test, classNames } = await table(path, { testPath });
    expect([classNames, [...test.labels]]).toEqual([
      ['2', '10'],
      [0, 1],
    ]);
    const ids = write('ids.csv', 'x,kind\n1,9007199254740992\n2,9007199254740993\n3,1\n');
    expect((await table(ids, { testShare: 0.4 })).classes).toBe(3);
  });

  it('leave a column that is constant at 0', async () => {
    const rows = Array.from({ length: 5000 }, (_, i) => `0.1,${i % 2}`);
    const { columns, train } = await table(write('constant.csv', `x,kind\n${rows.join('\n')}\n`));
    expect(columns).toEqual([{ name: 'x', mean: 0.1, deviation: 1 }]);
    expect((train.features as Float32Array).every((value) => value === 0)).toBe(true);
  });

  it('refuses mistakes in one sentence that names the column and the remedy', async () => {
    const error = async (path: string, more: object = {}) => {
      const found = await table(path, more).catch((cause) => cause);
      expect(found).toBeInstanceOf(UserError);
      return `${found.message.replaceAll(`${folder}/`, '')}; ${found.hint}`;
    };
    const path = write('a.csv', csv);
    expect(await error(path, { label: 'knd' })).toBe('data.label: a.csv has no column "knd"; did you mean "kind"?');
    expect(await error(path, { split: 'color' })).toMatch(
      'column "color" is "red" in row 1 (without the header); it must be "train" or "test"',
    );
    expect(await error(path, { label: 'part', features: ['part'] })).toMatch('"part" is the label');
    const wrong = write('wrong.csv', 'x,kind\n1,a\nn. a.,b\n3,a\n4,a\n5,b\n');
    expect(await error(wrong)).toMatch('column "x" holds 4 numbers, but also "n. a."; mend');
    const comma = write('comma.csv', 'x;kind\n1,5;a\n2,25;b\n3;a\n4,5;b\n5;a\n');
    expect(await error(comma)).toMatch(
      'column "x" holds "1,5", a number with a decimal comma; write numbers with a point',
    );
    const gap = write('gap.csv', 'x,kind\n1,a\n2,\n3,a\n4,a\n5,b\n');
    expect(await error(gap)).toMatch('column "kind" has no value in row 2');
    expect(await error(gap, { label: 'x', categorical: ['kind'] })).toMatch('data.missing: fill');
    expect(await error(write('long.csv', 'x,kind\n1,a\n2,b,c\n'))).toMatch('CSV Error on Line: 3');
    expect(await error(write('twice.csv', 'x,X\n1,2\n'))).toMatch('two columns are called "X"');
    expect(await error(write('none.csv', 'x,kind\n'))).toMatch('none.csv has no rows');
    const [bare, testPath] = [write('bare.csv', 'x,kind\n1,a\n2,b\n'), write('none.csv', 'x,kind\n')];
    expect(await error(bare, { testPath })).toMatch('none.csv has no rows');
    expect(await error(write('empty.csv', ''))).toMatch('empty.csv is empty');
    expect(await error(write('values.csv', '5.1,3.5,setosa\n4.9,3,setosa\n'))).toMatch('data.header: false');
    expect(await error(write('bad.parquet', 'PAR1 and more PAR1'))).toMatch('cannot read the table bad.parquet');
    expect(await error(join(folder, 'nowhere.csv'))).toMatch('cannot read the table nowhere.csv: no such file');
    expect(await error(path, { sha256: '0'.repeat(64) })).toMatch('a.csv has changed');
  });

  it('may ask for numbers, normalised by the training rows, or for several yes and no', async () => {
    const path = write('price.csv', 'x,price,rooms,hot,part\n1,10,1,0,train\n2,30,2,1,train\n3,50,2,1,test\n');
    const numbers = await table(path, {
      task: 'regression',
      label: ['price', 'rooms'],
      ignore: ['hot'],
      split: 'part',
    });
    expect([numbers.task, numbers.classes, numbers.train.labelSize]).toEqual(['regression', 2, 2]);
    expect(numbers.targets).toEqual([
      { name: 'price', mean: 20, deviation: 10 },
      { name: 'rooms', mean: 1.5, deviation: 0.5 },
    ]);
    expect([...numbers.train.labels, ...numbers.test.labels]).toEqual([-1, -1, 1, 1, 3, 1]);
    const y = new Float32Array(4);
    fillBatch(numbers.train, [1, 0], new Float32Array(2), y);
    expect([...y]).toEqual([1, 1, -1, -1]);
    const answers = await table(path, { task: 'multi-label', label: ['hot'], split: 'part' });
    expect([...answers.train.labels, ...answers.test.labels]).toEqual([0, 1, 1]);
    await expect(table(path, { task: 'multi-label', label: 'price', split: 'part' })).rejects.toThrow(
      'column "price" of',
    );
    await expect(table(path, { label: ['price', 'rooms'], split: 'part' })).rejects.toThrow('predicts one column');
  });

  it('are described', async () => {
    const found = await inspectData(write('a.csv', csv), { label: 'color' });
    expect(found).toMatchObject({
      kind: 'table',
      rows: 3,
      classes: [
        ['red', 2],
        ['blue, dark', 1],
      ],
    });
    expect(found.kind === 'table' && found.columns[1]).toEqual({
      ...{ name: 'width', type: 'VARCHAR', present: 3, numbers: 3, distinct: 3, min: 1, mean: 3, max: 5, stray: null },
    });
  });
});

/** An array in the .npy format, version 1. */
function npy(dtype: string, shape: readonly number[], data: ArrayBufferView): Uint8Array {
  const axes = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const text = `{'descr': '${dtype}', 'fortran_order': False, 'shape': (${axes}), }`;
  const header = Buffer.from(`\x93NUMPY\x01\x00\x00\x00${text.padEnd(117)}\n`, 'latin1');
  header.writeUInt16LE(118, 8);
  return Buffer.concat([header, Buffer.from(data.buffer, data.byteOffset, data.byteLength)]);
}

describe('arrays', () => {
  const load2 = (settings: object) => load({ kind: 'numpy', ...settings }) as Promise<Classification>;
  const labels = (values: readonly number[]) => npy('<i4', [values.length], Int32Array.from(values));

  it('of bytes with the channels last become images, normalised by channel', async () => {
    // Two samples of 1×2 pixels with two channels.
    const path = write('x.npy', npy('|u1', [2, 1, 2, 2], Uint8Array.of(0, 10, 2, 30, 4, 10, 6, 30)));
    const files = { path, labelsPath: write('y.npy', labels([5, -1])), testPath: path, channels: 'last' };
    const { train, test, shape, classes } = await load2({ ...files, testLabelsPath: files.labelsPath });
    expect([shape, classes, [...train.labels]]).toEqual([[2, 1, 2], 2, [1, 0]]);
    expect(train.features).toBeInstanceOf(Uint8Array);
    const x = new Float32Array(8);
    fillBatch(train, [0, 1], x, new Int32Array(2));
    const [a, b] = [3 / Math.sqrt(5), 1 / Math.sqrt(5)];
    [-a, -b, -1, 1, b, a, -1, 1].forEach((value, i) => {
      expect(x[i]).toBeCloseTo(value, 5);
    });
    expect(test).toEqual(train);
  });

  it('of numbers are normalised feature by feature, or stay', async () => {
    const path = write('f.npy', npy('<f8', [4, 2], Float64Array.of(1, 10, 3, 10, 1, 10, 3, 10)));
    const files = { path, labelsPath: write('l.npy', labels([0, 1, 0, 1])), testPath: path };
    const settings = { ...files, testLabelsPath: files.labelsPath };
    expect(rowsOf((await load2(settings)).train)[1]).toEqual([1, 0]);
    expect(rowsOf((await load2({ ...settings, normalize: false })).train)[1]).toEqual([3, 10]);
  });

  it('say how they were normalised, for whoever uses the model', async () => {
    const y = write('l.npy', labels([0, 1, 0, 1]));
    const said = async (path: string, more: object = {}) =>
      (await load2({ path, labelsPath: y, testPath: path, testLabelsPath: y, ...more })).normalisation;
    const vectors = write('f.npy', npy('<f8', [4, 2], Float64Array.of(1, 10, 3, 10, 1, 10, 3, 10)));
    expect(await said(vectors)).toEqual({ mean: [2, 10], deviation: [1, 1] });
    const bytes = write('b.npy', npy('|u1', [4, 1], Uint8Array.of(0, 2, 0, 2)));
    expect(await said(bytes)).toEqual({ mean: [1], deviation: [1] });
    expect(await said(bytes, { normalize: false })).toEqual({ mean: [0], deviation: [255] });
    const images = write('i.npy', npy('<f4', [4, 1, 1, 2], Float32Array.of(1, 7, 3, 7, 1, 7, 3, 7)));
    expect(await said(images, { channels: 'last' })).toEqual({ mean: [2, 7], deviation: [1, 1] });
  });

  it('leave a feature that is constant at 0', async () => {
    const count = 5000;
    const path = write('c.npy', npy('<f8', [count, 1], new Float64Array(count).fill(0.1)));
    const labelsPath = write('l.npy', labels(Array.from({ length: count }, (_, i) => i % 2)));
    const { normalisation, train } = await load2({ path, labelsPath });
    expect(normalisation).toEqual({ mean: [0.1], deviation: [1] });
    expect((train.features as Float32Array).every((value) => value === 0)).toBe(true);
  });

  it.each([
    [{ labels: [0, 1, 2] }, /there are 4 samples, but labels of shape \(3\)/],
    [{ labels: [1, 1, 1, 1] }, /the labels hold 1 different values/],
    [{ labels: undefined }, /holds one array, the samples; the labels are missing/],
    [{ shape: [4, 8, 8, 3], labels: [0, 1, 0, 1] }, /images of shape \(8, 8, 3\) would have 8 channels/],
    [{ shape: [4], labels: [0, 1, 0, 1] }, /the samples have the shape \(4\)/],
    [{ nan: true, labels: [0, 1, 0, 1] }, /sample 0 holds NaN/],
  ])('refuse %j', async (given: { shape?: number[]; labels?: number[] | undefined; nan?: boolean }, message) => {
    const shape = given.shape ?? [4, 2];
    const values = new Float32Array(shape.reduce((a, b) => a * b)).fill(given.nan ? Number.NaN : 1);
    const path = write('x.npy', npy('<f4', shape, values));
    const labelsPath = given.labels && write('y.npy', labels(given.labels));
    await expect(load2({ path, labelsPath, testShare: 0.5 })).rejects.toThrow(message);
  });
});

it('a folder whose train/ is a file holds no images', async () => {
  mkdirSync(join(folder, 'flat'));
  write('flat/train', 'x');
  await expect(inspectData(join(folder, 'flat'))).rejects.toThrow('has no train/ and val/');
});

describe('texts', () => {
  it('of any file, by characters or words', async () => {
    const path = write('a.txt', 'ab añ ab\nb ab añ ab b\n');
    const read = (more: object) => load({ kind: 'text', path, ...more }) as Promise<Text>;
    const characters = await read({ testShare: 0.5 });
    expect(characters.vocabulary).toEqual(['a', 'b', ' ', 'ñ', '\n']);
    expect([...characters.train.tokens]).toEqual([0, 1, 2, 0, 3, 2, 0, 1, 4, 1, 2]);
    expect(characters.train.tokens.length + characters.test.tokens.length).toBe(22);
    const words = await read({ by: 'words', testPath: write('b.txt', 'ab new') });
    expect(words.vocabulary).toEqual(['ab', 'añ', '<eos>', 'b', 'new']);
    expect([...words.test.tokens]).toEqual([0, 4, 2]);
  });

  it('that are none are refused', async () => {
    await expect(load({ kind: 'text', path: write('l.txt', Uint8Array.of(0xe9, 0x20)) })).rejects.toThrow(
      'is not UTF-8',
    );
    await expect(load({ kind: 'text', path: write('e.txt', ' \n') })).rejects.toThrow('holds no text');
  });
});
