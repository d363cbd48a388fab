import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';

const block = 512;
const text = (bytes: Buffer) => bytes.toString('latin1').replace(/\0.*$/s, '');

/** The regular files of a .tar.gz, one after the other: enough of the format for archives of plain files. */
export async function* tarEntries(path: string): AsyncGenerator<{ name: string; content: Buffer }> {
  const stream = createReadStream(path, { highWaterMark: 1 << 20 });
  const source = stream.pipe(createGunzip({ chunkSize: 1 << 20 }));
  stream.on('error', (error) => source.destroy(error));
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);

  /** Exactly `length` bytes, or fewer at the end. */
  const next = async (length: number): Promise<Buffer> => {
    const parts = [rest];
    let have = rest.length;
    while (have < length) {
      const { value, done } = await chunks.next();
      if (done === true) break;
      parts.push(value);
      have += value.length;
    }
    const all = parts.length === 1 ? rest : Buffer.concat(parts);
    rest = all.subarray(Math.min(length, all.length));
    return all.subarray(0, Math.min(length, all.length));
  };

  try {
    for (;;) {
      const header = await next(block);
      // Archives end with blocks of zeros.
      if (header.length < block || header[0] === 0) return;
      const size = Number.parseInt(text(header.subarray(124, 136)).trim() || '0', 8);
      const prefix = text(header.subarray(257, 262)) === 'ustar' ? text(header.subarray(345, 500)) : '';
      const name = text(header.subarray(0, 100));
      const content = await next(size);
      if (content.length < size) throw new Error(`the archive ends in the middle of ${name}`);
      await next((block - (size % block)) % block);
      const type = header[156];
      if (type === 0 || type === 0x30) yield { name: prefix === '' ? name : `${prefix}/${name}`, content };
    }
  } finally {
    stream.destroy();
    source.destroy();
  }
}
