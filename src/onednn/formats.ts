import { UserError } from '../base/error.ts';
import { sizeOf } from '../base/shape.ts';
import type { Shape } from '../tensor/program.ts';
import type { Query } from './constants.ts';
import { type Format, maxAxes, rowMajor } from './format.ts';
import type { Library } from './library.ts';

/** Elements in the order [samples, blocks, pixels, width]; a channel is one of the `width` elements of one of the blocks. */
export interface ChannelLayout {
  readonly samples: number;
  readonly blocks: number;
  readonly pixels: number;
  readonly width: number;
}

/** Makes formats, which live until it is closed, and tells them apart. Scalars are one element along one axis. */
export class Formats {
  readonly #library: Library;
  readonly #plain = new Map<string, Format>();
  readonly #made: Format[] = [];

  constructor(library: Library) {
    this.#library = library;
  }

  #keep(format: Format): Format {
    this.#made.push(format);
    return format;
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
    const { dialect } = this.#library;
    return this.#keep(shape.length === 0 ? dialect.strided([1], [1]) : dialect.strided(shape, strides));
  }

  /** Whatever order the primitive likes best. */
  any(shape: Shape): Format {
    return this.#keep(this.#library.dialect.any(shape));
  }

  /** The elements from `start` on within a larger tensor; undefined if they do not begin at a block. */
  part(whole: Format, shape: Shape, start: readonly number[]): Format | undefined {
    const format = this.#library.dialect.part(whole, shape, start);
    return format && this.#keep(format);
  }

  /** What the description of a primitive answers. */
  wanted(description: number, what: Query): Format {
    return this.#keep(this.#library.dialect.wanted(description, what));
  }

  same(a: Format, b: Format): boolean {
    return a === b || this.#library.raw.dnnl_memory_desc_equal(a.description, b.description) !== 0;
  }

  isPlain(format: Format): boolean {
    return this.same(format, this.plain(format.shape));
  }

  /** How channels, the second of a tensor's axes, are in memory; undefined for an order that is not known. */
  channelsOf(format: Format): ChannelLayout | undefined {
    const [samples, channels, ...axes] = format.shape as [number, number, ...number[]];
    const pixels = sizeOf(axes);
    if (this.isPlain(format))
      return pixels === 1
        ? { samples, blocks: 1, pixels, width: channels }
        : { samples, blocks: channels, pixels, width: 1 };
    if (axes.length !== 2) return undefined;
    const [height, width] = axes as [number, number];
    const last = this.strided(format.shape, [channels * pixels, 1, width * channels, channels]);
    if (this.same(format, last)) return { samples, blocks: 1, pixels: height * width, width: channels };
    for (const size of [8, 16] as const)
      if (this.same(format, this.#keep(this.#library.dialect.blocked(format.shape, size))))
        return { samples, blocks: Math.ceil(channels / size), pixels, width: size };
    return undefined;
  }

  bytes(format: Format): number {
    return Number(this.#library.raw.dnnl_memory_desc_get_size(format.description));
  }

  close(): void {
    for (const format of this.#made.splice(0)) this.#library.dialect.release(format);
  }
}
