import { closeSync, fstatSync, fsyncSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { UserError } from './error.ts';
import { reason } from './file.ts';
import { sizeOf } from './shape.ts';

/**
 * Tensors in one file, in the safetensors format: an 8-byte header length, a JSON header, then the raw little-endian numbers.
 * Both ways piece by piece: the rows of all replicas are most of the memory there is, and need not be there twice.
 */
export interface Tensors {
  readonly metadata: Readonly<Record<string, string>>;
  /** The numbers of a tensor, one piece after the other; a piece may be overwritten once the next one is asked for. */
  readonly tensors: Readonly<
    Record<string, { readonly shape: readonly number[]; readonly pieces: Iterable<Float32Array> }>
  >;
}

interface Entry {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data_offsets: readonly [number, number];
}

/** All bytes, however few the system takes at a time. */
function writeAll(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(file, bytes, done, Math.min(bytes.length - done, 2 ** 30));
}

const bytesOf = (data: Float32Array) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/** Writes to a temporary name, waits until the disk has it, and renames. */
export function writeTensors(path: string, { metadata, tensors }: Tensors): void {
  let end = 0;
  const entries = Object.entries(tensors).map(([name, { shape }]): [string, Entry] => {
    const start = end;
    end += 4 * sizeOf(shape);
    return [name, { dtype: 'F32', shape, data_offsets: [start, end] }];
  });
  const json = Buffer.from(JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(entries) }));
  // Numbers begin at a multiple of 8: the header is padded with spaces, as the format allows.
  const header = Buffer.alloc(8 * Math.ceil(json.length / 8), ' ');
  json.copy(header);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const temporary = `${path}.tmp`;
  try {
    const file = openSync(temporary, 'w');
    try {
      writeAll(file, length);
      writeAll(file, header);
      for (const { pieces } of Object.values(tensors)) for (const piece of pieces) writeAll(file, bytesOf(piece));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw new UserError(`cannot write ${path}: ${reason(cause)}`, { cause });
  }
}

/** A file of tensors, open for reading; one that is cut short or damaged is refused. */
export class TensorFile {
  readonly metadata: Readonly<Record<string, string>>;
  readonly #path: string;
  readonly #hint: string | undefined;
  readonly #file: number;
  readonly #entries: Readonly<Record<string, Entry>>;
  /** Where the numbers begin. */
  readonly #begin: number;

  /** @param hint what to do about one that is refused */
  constructor(path: string, hint?: string) {
    this.#path = path;
    this.#hint = hint;
    this.#file = openSync(path, 'r');
    try {
      const size = fstatSync(this.#file).size;
      const length = size < 8 ? size : Number(Buffer.from(this.#bytes(new Uint8Array(8), 0)).readBigUInt64LE());
      if (size < 8 || length > size - 8) throw new SyntaxError('no header');
      const { __metadata__, ...entries } = JSON.parse(Buffer.from(this.#bytes(new Uint8Array(length), 8)).toString());
      this.metadata = __metadata__ ?? {};
      this.#entries = entries;
      this.#begin = 8 + length;
      for (const [name, { dtype, shape, data_offsets: at }] of Object.entries(this.#entries))
        if (dtype !== 'F32' || at[1] > size - this.#begin || at[1] - at[0] !== 4 * sizeOf(shape))
          throw new UserError(`${path}: tensor ${name} is damaged`, { hint });
    } catch (cause) {
      this.close();
      if (cause instanceof SyntaxError) throw new UserError(`${path} is not a safetensors file`, { cause, hint });
      throw cause;
    }
  }

  shape(name: string): readonly number[] | undefined {
    return this.#entries[name]?.shape;
  }

  /** Fills `out` with the numbers of a tensor from element `first` on. */
  read(name: string, first: number, out: Float32Array): void {
    const { shape, data_offsets: at } = this.#entries[name]!;
    if (first + out.length > sizeOf(shape))
      throw new RangeError(`${name} has ${sizeOf(shape)} elements, asked for ${out.length} from ${first} on`);
    this.#bytes(bytesOf(out), this.#begin + at[0] + 4 * first);
  }

  #bytes(into: Uint8Array, position: number): Uint8Array {
    for (let done = 0; done < into.length; ) {
      const count = readSync(this.#file, into, done, Math.min(into.length - done, 2 ** 30), position + done);
      if (count === 0) throw new UserError(`${this.#path} ends before its tensors do`, { hint: this.#hint });
      done += count;
    }
    return into;
  }

  close(): void {
    closeSync(this.#file);
  }
}
