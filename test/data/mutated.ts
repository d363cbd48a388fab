import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** Made once in a folder. */
export async function samplesIn(folder: string): Promise<readonly Sample[]> {
  const golden = JSON.parse(readFileSync(new URL('../golden/numpy.json', import.meta.url), 'utf8'));
  writeFileSync(join(folder, 'whole.csv'), csv);
  const database = await DuckDBInstance.create(':memory:');
  const connection = await database.connect();
  await connection.run(
    `copy (from read_csv('${join(folder, 'whole.csv')}')) to '${join(folder, 'whole.parquet')}' (format parquet)`,
  );
  connection.closeSync();
  database.closeSync();
  const bytes = (name: string) => Buffer.from(golden[name], 'base64');
  const arrays = { kind: 'numpy', testShare: 0.5 };
  writeFileSync(join(folder, 'labels.npy'), bytes('bool'));
  return [
    { name: 'x.csv', content: Buffer.from(csv), settings: { kind: 'table', label: 'kind' } },
    {
      name: 'x.parquet',
      content: readFileSync(join(folder, 'whole.parquet')),
      settings: { kind: 'table', label: 'kind' },
    },
    { name: 'x.npy', content: bytes('f4'), settings: { ...arrays, labelsPath: join(folder, 'labels.npy') } },
    { name: 'x.npz', content: bytes('npz, compressed'), settings: arrays },
  ];
}

/** Reads a mutated file as a run would: true if that worked, false if it was refused; anything else is thrown. */
export async function survives(folder: string, { name, content, settings }: Sample, random: Random): Promise<boolean> {
  const path = join(folder, name);
  writeFileSync(path, mutateBytes(content, random));
  try {
    await loadData(parse(dataSchema, { ...settings, path }, 'data'), { seed: 1, verify: false });
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}
