import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readTensors, writeTensors } from './safetensors.ts';

let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'dbench-tensors-')), 'a.safetensors');
});
afterEach(() => rmSync(join(path, '..'), { recursive: true }));

const shared = new Float32Array(new SharedArrayBuffer(12));
shared.set([1, -2.5, 3e-30]);
const content = {
  metadata: { step: '12', note: 'größe' },
  tensors: { params: { shape: [1, 3], data: shared }, state: { shape: [0], data: new Float32Array(0) } },
};

it('reads what it wrote, shared memory included, and leaves nothing else behind', () => {
  writeTensors(path, content);
  const { metadata, tensors } = readTensors(path);
  expect(metadata).toEqual(content.metadata);
  expect([...tensors.params!.data]).toEqual([...shared]);
  expect(tensors.state!.data).toHaveLength(0);
  expect(readdirSync(join(path, '..'))).toEqual(['a.safetensors']);
});

it('has the published layout, numbers aligned to 8 bytes', () => {
  writeTensors(path, content);
  const bytes = readFileSync(path);
  const length = Number(bytes.readBigUInt64LE(0));
  expect(length % 8).toBe(0);
  expect(JSON.parse(bytes.subarray(8, 8 + length).toString()).params).toEqual({
    dtype: 'F32',
    shape: [1, 3],
    data_offsets: [0, 12],
  });
  expect(bytes.readFloatLE(8 + length + 4)).toBe(-2.5);
  expect(bytes.length).toBe(8 + length + 12);
});

it('refuses files that are cut short or are something else', () => {
  writeTensors(path, content);
  truncateSync(path, readFileSync(path).length - 1);
  expect(() => readTensors(path)).toThrow(/tensor params is damaged/);
  for (const bytes of [
    Buffer.alloc(3),
    Buffer.alloc(100, 255),
    Buffer.concat([Buffer.from([2, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{x')]),
  ]) {
    writeFileSync(path, bytes);
    expect(() => readTensors(path)).toThrow(/is not a safetensors file/);
  }
});
