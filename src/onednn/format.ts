import { sizeOf } from '../base/shape.ts';
import type { Shape } from '../tensor/program.ts';

/** A shape and the order of its elements in memory. */
export interface Format {
  readonly shape: Shape;
  /** As functions of the library take it: a structure, or the handle of one. */
  readonly description: Buffer | number;
}

export const maxAxes = 12;

/** Sizes, strides or offsets along each axis, as the library reads them. */
export function dimensions(values: readonly number[]): BigInt64Array {
  const all = new BigInt64Array(maxAxes);
  values.forEach((value, i) => {
    all[i] = BigInt(value);
  });
  return all;
}

/** What operations are described by. */
export type Given = number | Format | readonly number[] | ArrayBufferView | undefined;

/** As functions of the library take it. */
export function given(value: Given): unknown {
  if (value === undefined) return null;
  if (typeof value === 'number' || ArrayBuffer.isView(value)) return value;
  return 'description' in value ? value.description : dimensions(value);
}

export function rowMajor(shape: Shape): number[] {
  return shape.map((_, axis) => sizeOf(shape.slice(axis + 1)));
}
