import { UserError } from '../base/error.ts';
import { sizeOf } from '../base/shape.ts';
import type { Shape } from '../tensor/program.ts';
import { dataType, formatTag } from './constants.ts';
import { descriptionBytes, type Library } from './library.ts';

/** A shape and the order of its elements in memory: a dnnl_memory_desc_t. */
export type Format = Buffer;

const maxAxes = 12;

/** Sizes, strides or offsets along each axis, as the library reads them. */
export function dimensions(values: readonly number[]): BigInt64Array {
  const all = new BigInt64Array(maxAxes);
  values.forEach((value, i) => {
    all[i] = BigInt(value);
  });
  return all;
}

export function rowMajor(shape: Shape): number[] {
  return shape.map((_, axis) => sizeOf(shape.slice(axis + 1)));
}

/** Makes formats and tells them apart. Scalars are one element along one axis. */
export class Formats {
  readonly #library: Library;
  readonly #plain = new Map<string, Format>();

  constructor(library: Library) {
    this.#library = library;
  }

  /** Row-major, as programs and their inputs and outputs have it. */
  plain(shape: Shape): Format {
    const key = String(shape);
    const known = this.#plain.get(key);
    if (known !== undefined) return known;
    const made = this.strided(shape, rowMajor(shape));
    this.#plain.set(key, made);
    return made;
  }

  /** A stride of 0 repeats along its axis. */
  strided(shape: Shape, strides: readonly number[]): Format {
    if (shape.length > maxAxes)
      throw new UserError(`oneDNN knows tensors of at most ${maxAxes} axes, not [${shape}]`, {
        hint: 'use --backend onnx',
      });
    const format = Buffer.alloc(descriptionBytes);
    const [sizes, steps] = shape.length === 0 ? [[1], [1]] : [shape, strides];
    this.#library.call(
      'dnnl_memory_desc_init_by_strides',
      format,
      sizes.length,
      dimensions(sizes),
      dataType.float32,
      dimensions(steps),
    );
    return format;
  }

  /** Whatever order the primitive likes best. */
  any(shape: Shape): Format {
    const format = Buffer.alloc(descriptionBytes);
    this.#library.call(
      'dnnl_memory_desc_init_by_tag',
      format,
      shape.length,
      dimensions(shape),
      dataType.float32,
      formatTag.any,
    );
    return format;
  }

  /** The elements from `start` on within a larger tensor; undefined where they do not begin at a block. */
  part(whole: Format, shape: Shape, start: readonly number[]): Format | undefined {
    const format = Buffer.alloc(descriptionBytes);
    const sub = this.#library.raw.dnnl_memory_desc_init_submemory;
    return sub(format, whole, dimensions(shape), dimensions(start)) === 0 ? format : undefined;
  }

  same(a: Format, b: Format): boolean {
    return a === b || this.#library.raw.dnnl_memory_desc_equal(a, b) !== 0;
  }

  isPlain(format: Format): boolean {
    return this.same(format, this.plain(shapeOf(format)));
  }

  bytes(format: Format): number {
    return Number(this.#library.raw.dnnl_memory_desc_get_size(format));
  }
}

/** The number of axes and their sizes come first in the structure. */
export function shapeOf(format: Format): number[] {
  return Array.from({ length: format.readInt32LE(0) }, (_, axis) => Number(format.readBigInt64LE(8 + 8 * axis)));
}
