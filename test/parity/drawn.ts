import { crc32 } from 'node:zlib';
import { sizeOf } from '../../src/base/shape.ts';
import type { Layout, PlacedParameter } from '../../src/model/layout.ts';
import { rowSize } from '../../src/model/layout.ts';
import { lowbias32 } from '../../src/tensor/mask.ts';
import type { Shape } from '../../src/tensor/program.ts';

/** The formula of scripts/golden.py for weights and batches: a function of the salt, the name and the position only. */
function words(name: string, size: number, salt: number): Uint32Array {
  const start = crc32(name, salt);
  return Uint32Array.from({ length: size }, (_, i) => lowbias32((start + i) | 0));
}

const symmetric = (name: string, size: number, salt: number) =>
  Float64Array.from(words(name, size, salt), (word) => word / 2 ** 31 - 1);

function values(name: string, shape: Shape, salt: number): Float64Array {
  const drawn = symmetric(name, sizeOf(shape), salt);
  if (shape.length > 1) {
    const bound = Math.sqrt(3 / sizeOf(shape.slice(1)));
    return drawn.map((value) => value * bound);
  }
  if (!name.endsWith('.weight')) return drawn.map((value) => 0.1 * value);
  const scale = name.endsWith('bn3.weight') ? 0.1 : 1;
  return drawn.map((value) => scale * (1 + 0.2 * value));
}

export function drawnParameters(layout: Layout<PlacedParameter>, salt: number): Float32Array {
  const row = new Float32Array(rowSize(layout));
  for (const { name, shape, offset } of layout) row.set(values(name, shape, salt), offset);
  return row;
}

/** Running statistics: means as biases, variances around 1. */
export function drawnState(layout: Layout, salt: number): Float32Array {
  const row = new Float32Array(rowSize(layout));
  for (const { name, shape, size, offset } of layout)
    row.set(
      name.endsWith('running_var')
        ? symmetric(name, size, salt).map((value) => 1 + 0.2 * value)
        : values(name, shape, salt),
      offset,
    );
  return row;
}

export const drawnImages = (shape: Shape, salt: number): Float32Array =>
  Float32Array.from(symmetric('x', sizeOf(shape), salt), (value) => value * Math.sqrt(3));

export const drawnClasses = (name: string, size: number, classes: number, salt: number): Int32Array =>
  Int32Array.from(words(name, size, salt), (word) => word % classes);
