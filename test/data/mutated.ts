import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { UserError } from '../../src/base/error.ts';
import type { Random } from '../../src/base/random.ts';
import { parse } from '../../src/base/schema.ts';
import { loadData } from '../../src/data/load.ts';
import { dataSchema } from '../../src/data/schema.ts';
import { mutateBytes } from '../store/mutate.ts';

/** Files of each format as they should be, and how an experiment names them. */
export interface Sample {
  readonly name: string;
  readonly content: Buffer;
  readonly settings: object;
}

const csv = `a,b,kind\n${Array.from({ length: 12 }, (_, i) => `${i / 4},"c ${i % 3}",${i % 2}`).join('\n')}\n`;
const several = `a\tb\tp\tq\n${Array.from({ length: 12 }, (_, i) => `${i}\t${i % 3 ? i : 'NA'}\t${i % 2}\t${Number(i > 5)}`).join('\n')}\n`;

/** Made once in a folder. */
export async function samplesIn(folder: string): Promise<readonly Sample[]> {
  const golden = JSON.parse(readFileSync(new URL('../golden/numpy.json', import.meta.url), 'utf8'));
  const array = (name: string) => Buffer.from(golden[name], 'base64');
  const file = (name: string, content: string | Buffer) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const database = await DuckDBInstance.create(':memory:');
  const connection = await database.connect();
  const parquet = async (rows: string, options: string) => {
    const path = join(folder, 'whole.parquet');
    await connection.run(`copy (${rows}) to '${path}' (format parquet, ${options})`);
    return readFileSync(path);
  };
  const plain = await parquet(`from read_csv('${file('whole.csv', csv)}')`, 'compression snappy');
  const nulls = `select i::int as a, 'c' || i % 3 as b, nullif(i % 5, 0)::double as c, i % 2 = 0 as p, i > 200 as q from range(300) t(i)`;
  const wide = await parquet(nulls, 'compression zstd, row_group_size 100');
  connection.closeSync();
  database.closeSync();
  const table = { kind: 'table', label: 'kind' };
  const answers = { kind: 'table', label: ['p', 'q'], missing: 'fill' };
  const arrays = { kind: 'numpy', testShare: 0.5 };
  const labelsPath = file('labels.npy', array('bool'));
  return [
    { name: 'x.csv', content: Buffer.from(csv), settings: table },
    { name: 'x.csv.gz', content: gzipSync(csv), settings: table },
    { name: 'x.tsv', content: Buffer.from(several), settings: { ...answers, task: 'regression' } },
    { name: 'x.parquet', content: plain, settings: table },
    { name: 'y.parquet', content: wide, settings: { ...answers, task: 'multi-label' } },
    { name: 'x.npy', content: array('f4'), settings: { ...arrays, labelsPath } },
    { name: 'y.npy', content: array('big-endian'), settings: { ...arrays, labelsPath, task: 'regression' } },
    { name: 'x.npz', content: array('npz, compressed'), settings: arrays },
    { name: 'y.npz', content: array('npz'), settings: arrays },
  ];
}

/** Besides single bytes: parts left out, repeated or moved, and the numbers at which sizes overflow. */
function mutateFile(content: Buffer, random: Random): Uint8Array {
  if (random.below(3) > 0) return mutateBytes(content, random);
  const [from, to] = [random.below(content.length), random.below(content.length)];
  const part = content.subarray(Math.min(from, to), Math.max(from, to));
  const at = random.below(content.length);
  const sizes = ['00000000', 'ffffffff', 'ffffff7f', '00000080', 'ffffffffffffff7f', '2d39393939', '31653939'];
  const put = random.below(2) === 0 ? part : Buffer.from(sizes[random.below(sizes.length)]!, 'hex');
  const over = random.below(2) === 0 ? 0 : put.length;
  return Buffer.concat([content.subarray(0, at), put, content.subarray(at + over)]);
}

/** Reads a file as a run would, mutated unless nothing random is given: true if that worked, false if it was refused; anything else is thrown. */
export async function survives(folder: string, { name, content, settings }: Sample, random?: Random): Promise<boolean> {
  const path = join(folder, name);
  writeFileSync(path, random === undefined ? content : mutateFile(content, random));
  try {
    await loadData(parse(dataSchema, { ...settings, path }, 'data'), { seed: 1, verify: false });
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}
