import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { TensorFile, writeTensors } from './safetensors.ts';

let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'dbench-tensors-')), 'a.safetensors');
});
afterEach(() => rmSync(join(path, '..'), { recursive: true }));

const shared = new Float32Array(new SharedArrayBuffer(12));
shared.set([1, -2.5, 3e-30]);
const content = {
  metadata: { step: '12', note: 'größe' },
  tensors: {
    params: { shape: [2, 3], pieces: [shared, Float32Array.of(4, 5, 6)] },
    state: { shape: [0], pieces: [] },
  },
};

it('reads what it wrote, shared memory included, and leaves nothing else behind', () => {
  writeTensors(path, content);
  const file = new TensorFile(path);
  expect(file.metadata).toEqual(content.metadata);
  expect([file.shape('params'), file.shape('state'), file.shape('other')]).toEqual([[2, 3], [0], undefined]);
  const row = new Float32Array(3);
  file.read('params', 0, row);
  expect([...row]).toEqual([...shared]);
  file.read('params', 3, row);
  expect([...row]).toEqual([4, 5, 6]);
  expect(() => file.read('params', 4, row)).toThrow(RangeError);
  file.close();
  expect(readdirSync(join(path, '..'))).toEqual(['a.safetensors']);
});

it('has the published layout, numbers aligned to 8 bytes', () => {
  writeTensors(path, content);
  const bytes = readFileSync(path);
  const length = Number(bytes.readBigUInt64LE(0));
  expect(length % 8).toBe(0);
  expect(JSON.parse(bytes.subarray(8, 8 + length).toString()).params).toEqual({
    dtype: 'F32',
    shape: [2, 3],
    data_offsets: [0, 24],
  });
  expect(bytes.readFloatLE(8 + length + 4)).toBe(-2.5);
  expect(bytes.length).toBe(8 + length + 24);
});

it('refuses files that are cut short or are something else', () => {
  writeTensors(path, content);
  truncateSync(path, readFileSync(path).length - 1);
  expect(() => new TensorFile(path, 'remove it')).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(/it holds 23 bytes of numbers, its header says 24/),
      hint: 'remove it',
    }),
  );
  for (const bytes of [
    Buffer.alloc(3),
    Buffer.alloc(100, 255),
    Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{x')]),
  ]) {
    writeFileSync(path, bytes);
    expect(() => new TensorFile(path)).toThrow(/is damaged or not a safetensors file/);
  }
});

it.each([
  ['null', 'must be a group of settings, got null'],
  ['{"a":{"dtype":"F32","shape":[2,[3]],"data_offsets":[0,24]}}', 'a.shape[1]: must be a whole number from 0, got [3]'],
  ['{"a":{"dtype":"F32","shape":[6]}}', 'a.data_offsets: is missing'],
  ['{"a":{"dtype":"F32","shape":6,"data_offsets":[0,24]}}', 'a.shape: must be a list'],
  ['{"a":{"dtype":"F64","shape":[3],"data_offsets":[0,24]}}', 'a.dtype: must be "F32"'],
  [
    '{"__metadata__":{"step":1},"a":{"dtype":"F32","shape":[6],"data_offsets":[0,24]}}',
    '__metadata__.step: must be text',
  ],
  ['{"a":{"dtype":"F32","shape":[5],"data_offsets":[4,24]}}', 'tensor a is damaged'],
  ['{"a":{"dtype":"F32","shape":[7],"data_offsets":[0,24]}}', 'tensor a is damaged'],
])('refuses the header %s', (header, problem) => {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeFileSync(path, Buffer.concat([length, Buffer.from(header), Buffer.alloc(24)]));
  expect(() => new TensorFile(path)).toThrow(problem);
});
