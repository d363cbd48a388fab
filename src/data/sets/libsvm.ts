import { z } from 'zod';
import { requireSha256, sha256Of, sha256Setting } from '../../base/content.ts';
import { UserError } from '../../base/error.ts';
import { reason } from '../../base/file.ts';
import { number } from '../../base/format.ts';
import { requireMemory } from '../../base/memory.ts';
import { type Classification, type Samples, sharedFloats, sharedInts, take } from '../dataset.ts';
import { contentOf, findFile, readChecked } from '../folder.ts';
import { setAside } from '../own.ts';
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

/** The files of the collection, which an experiment may name instead of a path. */
export const libsvmNames = collection.files.map(({ name }) => name);

interface Sparse {
  readonly labels: number[];
  /** Row r is entries starts[r] up to starts[r + 1]. */
  readonly starts: number[];
  readonly indices: number[];
  readonly values: number[];
}

/** Samples are kept dense, so one mistyped index would ask for gigabytes. */
const maxIndex = 1_000_000;
const decimal = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** One sample per line: `label index:value index:value …`, indices ascending from 1; `#` begins a comment. */
export function parseLibsvm(text: string, where: string): Sparse {
  const sparse: Sparse = { labels: [], starts: [0], indices: [], values: [] };
  for (const [at, line] of text.split('\n').entries()) {
    const words = line.replace(/#.*/, '').trim();
    if (words === '') continue;
    const [label, ...entries] = words.split(/\s+/);
    const bad = (why: string, hint?: string) => new UserError(`${where}:${at + 1}: ${why}`, { hint });
    if (!decimal.test(label!) || !Number.isSafeInteger(Number(label)))
      throw bad(`the label must be a whole number, got "${label}"`);
    sparse.labels.push(Number(label));
    let previous = 0;
    for (const entry of entries) {
      const [, index, value] = /^(\d+):(.+)$/.exec(entry) ?? [];
      if (index === undefined || Number(index) < 1 || !decimal.test(value!))
        throw bad(`expected index:value with an index from 1, got "${entry}"`);
      if (Number(index) > maxIndex)
        throw bad(
          `the index ${index} is above ${number(maxIndex)}, the most features that a sample can have here`,
          'samples are kept dense: number the features that occur from 1, or keep the most frequent ones',
        );
      if (Number(index) <= previous) throw bad(`indices must ascend, but ${index} comes after ${previous}`);
      if (!Number.isFinite(Math.fround(Number(value)))) throw bad(`the value in "${entry}" is too large for float32`);
      previous = Number(index);
      sparse.indices.push(previous - 1);
      sparse.values.push(Number(value));
    }
    sparse.starts.push(sparse.indices.length);
  }
  if (sparse.labels.length === 0) throw new UserError(`${where} holds no samples`);
  return sparse;
}

/** The largest dense form that is made: beyond it a sparse problem should be reduced first. */
const maxBytes = 2 ** 32;

function dense(sparse: Sparse, width: number, classes: ReadonlyMap<number, number>, where: string): Samples {
  const count = sparse.labels.length;
  const what = `${where}: ${number(count)} samples of ${number(width)} features`;
  if (4 * count * width > maxBytes)
    throw new UserError(`${what} are too many to be kept dense`, {
      hint: `at most ${number(Math.floor(maxBytes / 4 / width))} samples of this width fit; cut the file`,
    });
  requireMemory(4 * count * width, what, 'cut the file');
  const features = sharedFloats(count * width);
  for (let row = 0; row < count; row++)
    for (let e = sparse.starts[row]!; e < sparse.starts[row + 1]!; e++)
      features[row * width + sparse.indices[e]!] = sparse.values[e]!;
  const labels = sharedInts(sparse.labels.map((label) => classes.get(label)!));
  return { count, features, labels, shape: [width] };
}

/** Labels of any numbers become 0, 1, …, in ascending order. */
export function libsvmOf(train: Sparse, test: Sparse | undefined, seed: number, where: string): Classification {
  const labels = [...new Set([...train.labels, ...(test?.labels ?? [])])].sort((a, b) => a - b);
  if (labels.length < 2) throw new UserError(`${where} holds one class only (${labels[0]}), at least 2 are needed`);
  const classes = new Map(labels.map((label, index) => [label, index]));
  const width = [train, test].reduce(
    (most, split) => split?.indices.reduce((a, b) => Math.max(a, b + 1), most) ?? most,
    1,
  );
  const all = dense(train, width, classes, where);
  const divided = () => {
    // Without a test file a fifth is set aside.
    const { train, test } = setAside(all.count, 0.2, seed, where);
    return { train: take(all, train), test: take(all, test) };
  };
  const splits = test === undefined ? divided() : { train: all, test: dense(test, width, classes, where) };
  return { task: 'classification', name: 'libsvm', shape: [width], classes: labels.length, ...splits };
}

/** A path of the user's, plain or .gz, or the name of a file of the collection. */
function textOf(path: string, sha256: string | undefined, dataFolder: string): string {
  const found = findFile('', path);
  if (found === undefined && libsvmNames.includes(path))
    return readChecked(dataFolder, collection, path).toString('latin1');
  try {
    const content = contentOf(found ?? path);
    requireSha256(path, sha256Of(content), sha256);
    return content.toString('latin1');
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new UserError(`cannot read the LIBSVM file ${path}: ${reason(cause)}`, {
      cause,
      hint: `give a path, or one of ${libsvmNames.join(', ')}`,
    });
  }
}

export const libsvm = dataSet({
  name: 'libsvm',
  summary: 'files in LIBSVM format; a9a and w8a can be downloaded',
  settings: {
    trainPath: z.string().min(1).describe('a file, plain or .gz, or one of the sets a9a, w8a'),
    trainSha256: sha256Setting,
    testPath: z.string().min(1).optional().describe('as trainPath; without it a fifth of the samples is set aside'),
    testSha256: sha256Setting,
    ...sampleSettings,
  },
  collection,
  read({ trainPath, trainSha256, testPath, testSha256 }, { folder, seed }) {
    const read = (path: string, sha256: string | undefined) => parseLibsvm(textOf(path, sha256, folder), path);
    const test = testPath === undefined ? undefined : read(testPath, testSha256);
    return libsvmOf(read(trainPath, trainSha256), test, seed, trainPath);
  },
});
