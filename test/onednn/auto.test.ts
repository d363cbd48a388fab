import { expect, it } from 'vitest';
import { fasterBackend, ratiosOf } from '../../src/backends.ts';
import { modelKinds } from '../../src/model/models.ts';

it('auto takes what was measured to be faster, and oneDNN where nothing was', () => {
  expect(fasterBackend({ onednn: 1.5, onnx: 1.2 })).toBe('onednn');
  expect(fasterBackend({ onednn: 1.2, onnx: 1.5 })).toBe('onnx');
  expect(fasterBackend(undefined)).toBe('onednn');
});

it.each(['avx512', 'avx2'] as const)(
  'every kind of model but files of users was measured with %s, or one like it',
  (vectors) => {
    expect(modelKinds.filter((kind) => ratiosOf(vectors, kind) === undefined)).toEqual(['onnx']);
  },
);
