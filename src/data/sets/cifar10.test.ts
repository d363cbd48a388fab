import { expect, it } from 'vitest';
import { loadData } from '../load.ts';
import { dataSchema } from '../schema.ts';
import { toRecords } from './cifar10.ts';

it('turns interleaved pixels into records of a label and three planes', () => {
  const rgb = Uint8Array.from({ length: 2 * 3072 }, (_, i) => (i % 3) * 50 + Math.floor(i / 3072));
  const records = toRecords(rgb, [7, 9]);
  expect(records).toHaveLength(2 * 3073);
  expect([records[0], records[1], records[1025], records[2049]]).toEqual([7, 0, 50, 100]);
  expect([records[3073], records[3074], records[3073 + 1024], records[3073 + 1025], records[6145]]).toEqual([
    9, 1, 1, 51, 101,
  ]);
});

it('says how to get it', async () => {
  await expect(loadData(dataSchema.parse({ kind: 'cifar10' }), { seed: 1, folder: '/none' })).rejects.toMatchObject({
    message: 'the data set cifar10 is not here: there is no /none/cifar-10-batches-bin/data_batch_1.bin',
    hint: 'get it with: dbench data get cifar10',
  });
});
