import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../../base/error.ts';
import { reason } from '../../base/file.ts';
import { Random } from '../../base/random.ts';
import { type Classification, type Samples, sharedFloats, sharedInts, take } from '../dataset.ts';
import { contentOf, findFile, readChecked } from '../folder.ts';
import { type Collection, dataSet } from '../set.ts';
import { sampleSettings } from '../settings.ts';

const site = 'https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary';
const file = (name: string, bytes: number, sum: string) => ({ name, bytes, checksum: `sha256:${sum}` });

const collection: Collection = {
  name: 'libsvm',
  summary: 'convex problems a9a, w8a',
  folder: 'libsvm',
  files: [
    file('a9a', 2_329_875, 'f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906'),
    file('a9a.t', 1_164_628, '1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9'),
    file('w8a', 3_478_238, '6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2'),
  ],
  sources: [
    {
      kind: 'web',
      what: 'the LIBSVM site',
      urls: Object.fromEntries(['a9a', 'a9a.t', 'w8a'].map((name) => [name, [`${site}/${name}`]])),
    },
  ],
  licence: 'CC BY 4.0 (a9a)',
  from: 'Chang, Lin: LIBSVM',
};

interface Sparse {
  readonly labels: number[];
  /** Row r is entries starts[r] up to starts[r + 1]. */
  readonly starts: number[];
  readonly indices: number[];
  readonly values: number[];
}

/** One sample a line: `label index:value index:value …`, indices from 1, `#` begins a comment. */
export function parseLibsvm(text: string, where: string): Sparse {
  const sparse: Sparse = { labels: [], starts: [0], indices: [], values: [] };
  for (const [at, line] of text.split('\n').entries()) {
    const words = line.replace(/#.*/, '').trim();
    if (words === '') continue;
    const [label, ...entries] = words.split(/\s+/);
    const bad = (why: string) => new UserError(`${where}:${at + 1}: ${why}`);
    if (!Number.isInteger(Number(label))) throw bad(`the label must be a whole number, got "${label}"`);
    sparse.labels.push(Number(label));
    for (const entry of entries) {
      const [index, value] = entry.split(':').map(Number);
      if (!Number.isInteger(index) || index! < 1 || !Number.isFinite(value))
        throw bad(`expected index:value with an index from 1, got "${entry}"`);
      sparse.indices.push(index! - 1);
      sparse.values.push(value!);
    }
    sparse.starts.push(sparse.indices.length);
  }
  if (sparse.labels.length === 0) throw new UserError(`${where} holds no samples`);
  return sparse;
}

/** The largest dense form that is made: beyond it a sparse problem should be reduced first. */
const maxBytes = 2 ** 32;

function dense(sparse: Sparse, width: number, classes: readonly number[], where: string): Samples {
  const count = sparse.labels.length;
  if (4 * count * width > maxBytes)
    throw new UserError(`${where}: ${count} samples of ${width} features are too many to be kept dense`, {
      hint: `at most ${Math.floor(maxBytes / 4 / width)} samples of this width fit; cut the file`,
    });
  const features = sharedFloats(count * width);
  for (let row = 0; row < count; row++)
    for (let e = sparse.starts[row]!; e < sparse.starts[row + 1]!; e++)
      features[row * width + sparse.indices[e]!] = sparse.values[e]!;
  const labels = sharedInts(sparse.labels.map((label) => classes.indexOf(label)));
  return { count, features, labels, shape: [width] };
}

const maxOf = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b), 0);

/** Without a test file a fifth of the samples, drawn by the seed, is set aside. */
function setAside(samples: Samples, seed: number): { train: Samples; test: Samples } {
  const order = new Random(seed, 'partition', 3).permutation(samples.count);
  const cut = Math.floor(samples.count / 5);
  return { test: take(samples, order.slice(0, cut).sort()), train: take(samples, order.slice(cut).sort()) };
}

/** Labels of any numbers become 0, 1, …, in ascending order. */
export function libsvmOf(train: Sparse, test: Sparse | undefined, seed: number, where: string): Classification {
  const classes = [...new Set([...train.labels, ...(test?.labels ?? [])])].sort((a, b) => a - b);
  const width = maxOf([maxOf(train.indices), maxOf(test?.indices ?? [])]) + 1;
  const all = dense(train, width, classes, where);
  const splits = test === undefined ? setAside(all, seed) : { train: all, test: dense(test, width, classes, where) };
  return { task: 'classification', name: 'libsvm', shape: [width], classes: classes.length, ...splits };
}

/** A path of the user's, plain or .gz, or the name of a file of the collection. */
function textOf(path: string, dataFolder: string): string {
  if (!existsSync(path) && collection.files.some(({ name }) => name === path))
    return readChecked(dataFolder, collection, path).toString('latin1');
  const found = findFile('', path) ?? findFile(join(dataFolder, collection.folder), path) ?? path;
  try {
    return contentOf(found).toString('latin1');
  } catch (cause) {
    throw new UserError(`cannot read the LIBSVM file ${path}: ${reason(cause)}`, {
      cause,
      hint: `give a path, or one of ${collection.files.map(({ name }) => name).join(', ')}`,
    });
  }
}

export const libsvm = dataSet({
  name: 'libsvm',
  summary: 'files in LIBSVM format; a9a and w8a can be downloaded',
  settings: {
    trainPath: z.string().min(1).describe('a file, plain or .gz, or one of the sets a9a, w8a'),
    testPath: z.string().min(1).optional().describe('as trainPath; without it a fifth of the samples is set aside'),
    ...sampleSettings,
  },
  collection,
  read({ trainPath, testPath }, { folder, seed }) {
    const read = (path: string) => parseLibsvm(textOf(path, folder), path);
    return libsvmOf(read(trainPath), testPath === undefined ? undefined : read(testPath), seed, trainPath);
  },
});
