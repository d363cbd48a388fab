import { closeSync, fsyncSync, openSync, readSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { UserError } from './error.ts';
import { reason } from './file.ts';

/** Tensors in one file, in the safetensors format: an 8-byte header length, a JSON header, then the raw little-endian numbers. */
export interface Tensors {
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: Readonly<Record<string, { readonly shape: readonly number[]; readonly data: Float32Array }>>;
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
  const entries = Object.entries(tensors).map(([name, { shape, data }]): [string, Entry] => {
    const start = end;
    end += data.byteLength;
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
      for (const { data } of Object.values(tensors)) writeAll(file, bytesOf(data));
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

/** Reads a file whole; one that is cut short or damaged is refused. */
export function readTensors(path: string): Tensors {
  const size = statSync(path).size;
  const file = openSync(path, 'r');
  const read = (length: number, position: number) => {
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      const count = readSync(file, bytes, done, Math.min(length - done, 2 ** 30), position + done);
      if (count === 0) throw new UserError(`${path} ends before its tensors do`);
      done += count;
    }
    return bytes;
  };
  try {
    const length = size < 8 ? size : Number(Buffer.from(read(8, 0)).readBigUInt64LE());
    if (size < 8 || length > size - 8) throw new UserError(`${path} is not a safetensors file`);
    const { __metadata__: metadata = {}, ...entries } = JSON.parse(Buffer.from(read(length, 8)).toString()) as {
      __metadata__?: Record<string, string>;
    } & Record<string, Entry>;
    const tensors = Object.entries(entries as Record<string, Entry>).map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [start, end],
        },
      ]) => {
        if (dtype !== 'F32' || end > size - 8 - length) throw new UserError(`${path}: tensor ${name} is damaged`);
        return [name, { shape, data: new Float32Array(read(end - start, 8 + length + start).buffer) }] as const;
      },
    );
    return { metadata, tensors: Object.fromEntries(tensors) };
  } catch (cause) {
    if (cause instanceof SyntaxError) throw new UserError(`${path} is not a safetensors file`, { cause });
    throw cause;
  } finally {
    closeSync(file);
  }
}
