import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { z } from 'zod';
import { UserError } from './error.ts';
import { parseJson, writeWholeBy } from './file.ts';
import { type DeepReadonly, problemsOf } from './schema.ts';
import { sizeOf } from './shape.ts';

/**
 * Tensors in one file, in the safetensors format: an 8-byte header length, a JSON header, then the raw little-endian numbers.
 * Both ways piece by piece: the rows of all replicas are most of the memory there is, and need not be there twice.
 */
export interface Tensors {
  readonly metadata: Readonly<Record<string, string>>;
  /** The numbers of a tensor, one piece after the other; a piece may be overwritten once the next one is asked for. */
  readonly tensors: Readonly<
    Record<string, { readonly shape: readonly number[]; readonly dtype?: Dtype; readonly pieces: Iterable<Numbers> }>
  >;
}

type Numbers = Float32Array | BigInt64Array | Uint8Array;
/** What a tensor holds: float32 unless said. Others are only written. */
const sizes = { F32: 4, I64: 8, BOOL: 1 } as const;
type Dtype = keyof typeof sizes;

const utf8 = new TextDecoder();
const whole = z.int().min(0);
const entrySchema = z.object({ dtype: z.literal('F32'), shape: z.array(whole), data_offsets: z.tuple([whole, whole]) });
const headerSchema = z.object({ __metadata__: z.record(z.string(), z.string()).optional() }).catchall(entrySchema);
type Entry = DeepReadonly<z.output<typeof entrySchema>>;

/** All bytes, however few the system takes at a time. */
function writeAll(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(file, bytes, done, Math.min(bytes.length - done, 2 ** 30));
}

const bytesOf = (data: Numbers) => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/** Writes to a temporary name, waits until the disk has it, and renames. */
export function writeTensors(path: string, { metadata, tensors }: Tensors): void {
  let end = 0;
  // The widest first, so that each begins at a multiple of its width.
  const ordered = Object.entries(tensors).sort(([, a], [, b]) => sizes[b.dtype ?? 'F32'] - sizes[a.dtype ?? 'F32']);
  const entries = ordered.map(([name, { shape, dtype = 'F32' }]) => {
    const start = end;
    end += sizes[dtype] * sizeOf(shape);
    return [name, { dtype, shape, data_offsets: [start, end] }];
  });
  const json = Buffer.from(JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(entries) }));
  // Numbers begin at a multiple of 8: the header is padded with spaces, as the format allows.
  const header = Buffer.alloc(8 * Math.ceil(json.length / 8), ' ');
  json.copy(header);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  writeWholeBy(path, (temporary) => {
    const file = openSync(temporary, 'w');
    try {
      writeAll(file, length);
      writeAll(file, header);
      for (const [, { pieces }] of ordered) for (const piece of pieces) writeAll(file, bytesOf(piece));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  });
}

/** What the header says, once it is known to fit: its tensors follow each other and fill the file. */
function readHeader(text: string, dataBytes: number) {
  const header = parseJson(text);
  if (header === undefined) throw new SyntaxError('its header is not JSON');
  const parsed = problemsOf(headerSchema, header);
  if ('problems' in parsed) throw new SyntaxError(parsed.problems[0]);
  const { __metadata__: metadata = {}, ...rest } = parsed.value;
  const entries = new Map(Object.entries(rest));
  let end = 0;
  for (const [name, { shape, data_offsets: at }] of [...entries].sort(([, a], [, b]) => order(a) - order(b))) {
    if (at[0] !== end || at[1] - at[0] !== 4 * sizeOf(shape)) throw new SyntaxError(`tensor ${name} is damaged`);
    end = at[1];
  }
  if (end !== dataBytes) throw new SyntaxError(`it holds ${dataBytes} bytes of numbers, its header says ${end}`);
  return { metadata, entries };
}

/** In the order in which they stand in the file; of two that begin at one place, the empty one is first. */
const order = ({ data_offsets: [start, end] }: Entry) => start + end;

/** A file of tensors, open for reading; one that is cut short or damaged is refused. */
export class TensorFile {
  readonly metadata: Readonly<Record<string, string>>;
  readonly #path: string;
  readonly #hint: string | undefined;
  readonly #file: number;
  readonly #entries: ReadonlyMap<string, Entry>;
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
      if (size < 8 || length > size - 8) throw new SyntaxError('it has no header');
      this.#begin = 8 + length;
      const header = this.#bytes(new Uint8Array(length), 8);
      ({ metadata: this.metadata, entries: this.#entries } = readHeader(utf8.decode(header), size - this.#begin));
    } catch (cause) {
      this.close();
      if (!(cause instanceof SyntaxError)) throw cause;
      throw new UserError(`${path} is damaged or not a safetensors file: ${cause.message}`, { cause, hint });
    }
  }

  shape(name: string): readonly number[] | undefined {
    return this.#entries.get(name)?.shape;
  }

  /** Fills `out` with the numbers of a tensor from element `first` on. */
  read(name: string, first: number, out: Float32Array): void {
    const { shape, data_offsets: at } = this.#entries.get(name)!;
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
