import { z } from 'zod';
import { sha256Setting } from '../../base/content.ts';
import { suggest, UserError } from '../../base/error.ts';
import { reason } from '../../base/file.ts';
import { number } from '../../base/format.ts';
import { requireMemory } from '../../base/memory.ts';
import { sizeOf } from '../../base/shape.ts';
import {
  type FeatureColumn,
  type Features,
  type Samples,
  scaleTable,
  sharedBytes,
  sharedFloats,
  sharedInts,
} from '../dataset.ts';
import { contentOf } from '../folder.ts';
import { type NumpyArray, parseNpy, parseNpz } from '../numpy.ts';
import { firstTrain, ownFile, scaleOf, setAside, type TestSplit, unscaled } from '../own.ts';
import { dataSet } from '../set.ts';
import { normalizeTargets, sampleSettings, task } from '../settings.ts';

const settings = {
  path: z.string().min(1).describe('samples: a .npy file, or a .npz file that may hold the labels as well'),
  sha256: sha256Setting,
  labelsPath: z.string().min(1).optional().describe('labels: a .npy file; with .npz only if they are not in it'),
  labelsSha256: sha256Setting,
  testPath: z.string().min(1).optional().describe('test samples, as path'),
  testSha256: sha256Setting,
  testLabelsPath: z.string().min(1).optional().describe('test labels, as labelsPath'),
  testLabelsSha256: sha256Setting,
  arrays: z
    .strictObject({
      samples: z.string().min(1).default('x').describe('name of the samples'),
      labels: z.string().min(1).default('y').describe('name of the labels'),
    })
    .prefault({})
    .describe('names in .npz files; x_train, y_train, x_test and y_test are found as well'),
  channels: z
    .enum(['first', 'last'])
    .default('first')
    .describe('images of several channels: [samples, channels, height, width], or the channels last'),
  testShare: z
    .number()
    .gt(0)
    .lt(1)
    .default(0.2)
    .describe('share of the samples set aside for testing, drawn by the seed; not used with test samples'),
  normalize: z
    .boolean()
    .default(true)
    .describe(
      'bring features (of images: channels) to mean 0 and standard deviation 1 over the training samples; otherwise bytes become 0 to 1 and other numbers stay',
    ),
  task,
  normalizeTargets,
  ...sampleSettings,
};
type Settings = z.output<z.ZodObject<typeof settings>>;

export function readArrays(file: string): ReadonlyMap<string, () => NumpyArray> {
  let content: Uint8Array;
  try {
    content = contentOf(file);
  } catch (cause) {
    throw new UserError(`cannot read the NumPy file ${file}: ${reason(cause)}`, { cause });
  }
  if (/\.npz(\.gz)?$/.test(file)) return parseNpz(content, file);
  return new Map([['', () => parseNpy(content, file)]]);
}

interface Pair {
  readonly x: NumpyArray;
  readonly y: NumpyArray;
}

/** Samples and labels of a split; undefined if there is none in the files. */
function pairOf(settings: Settings, which: 'train' | 'test', verify: boolean | undefined): Pair | undefined {
  const isTest = which === 'test';
  const path = isTest ? (settings.testPath ?? settings.path) : settings.path;
  const own = !isTest || settings.testPath !== undefined;
  const arrays = readArrays(ownFile(path, isTest && own ? settings.testSha256 : settings.sha256, 'NumPy file', verify));
  const labelsPath = isTest ? settings.testLabelsPath : settings.labelsPath;
  const labelsSum = isTest ? settings.testLabelsSha256 : settings.labelsSha256;
  if (!own && (arrays.has('') || ![`${settings.arrays.samples}_test`].some((name) => arrays.has(name))))
    return undefined;
  const find = (name: string): NumpyArray => {
    if (arrays.has('')) return arrays.get('')!();
    const names = [`${name}_${which}`, ...(own ? [name] : [])];
    const found = names.find((each) => arrays.has(each));
    if (found === undefined)
      throw new UserError(`${path} has no array "${names.at(-1)}"; it has ${[...arrays.keys()].join(', ')}`, {
        hint: `name the arrays with data.arrays.samples and data.arrays.labels; ${suggest(name, [...arrays.keys()])}`,
      });
    return arrays.get(found)!();
  };
  if (labelsPath === undefined && arrays.has(''))
    throw new UserError(`${path} holds one array, the samples; the labels are missing`, {
      hint: `give them as data.${isTest ? 'testLabelsPath' : 'labelsPath'}, or both in one .npz file`,
    });
  const x = find(settings.arrays.samples);
  if (labelsPath === undefined) return { x, y: find(settings.arrays.labels) };
  const labels = readArrays(ownFile(labelsPath, labelsSum, 'NumPy file', verify));
  const y = labels.get('') ?? labels.get(settings.arrays.labels);
  if (y === undefined) throw new UserError(`${labelsPath} has no array "${settings.arrays.labels}"`);
  return { x, y: y() };
}

/** What the model sees of one sample, and whether channels have to be brought forward. */
function shapeOf({ shape }: NumpyArray, { channels, path }: Settings): readonly number[] {
  const sample = shape.slice(1);
  if (shape.length < 2 || shape.includes(0))
    throw new UserError(`${path}: the samples have the shape (${shape.join(', ')})`, {
      hint: 'the first axis counts the samples, at least one more has their features',
    });
  if (sample.length === 2) return [1, ...sample];
  if (sample.length !== 3) return sample.length === 1 ? sample : [sizeOf(sample)];
  if (channels === 'last') return [sample[2]!, sample[0]!, sample[1]!];
  if (sample[0]! > 4 && sample[2]! <= 4)
    throw new UserError(`${path}: images of shape (${sample.join(', ')}) would have ${number(sample[0]!)} channels`, {
      hint: 'if the last axis has the channels, say data.channels: last; otherwise give them as an array of vectors',
    });
  return sample;
}

/** The labels as numbers: one axis, or one more of length 1. */
function labelsOf({ x, y }: Pair, path: string): ArrayLike<number> {
  const { shape, values } = y;
  const flat = shape.length === 1 || (shape.length === 2 && shape[1] === 1);
  if (!flat || shape[0] !== x.shape[0])
    throw new UserError(
      `${path}: there are ${number(x.shape[0] ?? 0)} samples, but labels of shape (${shape.join(', ')})`,
      { hint: 'one label per sample is needed; one-hot labels become numbers with: y.argmax(axis=1)' },
    );
  const other = values.findIndex((value) => !Number.isSafeInteger(value));
  if (other >= 0) throw new UserError(`${path}: label ${number(other)} is ${values[other]}; classes are whole numbers`);
  return values;
}

const maxClasses = 10_000;

/** What is to be predicted: how many outputs, and the labels of chosen samples of a pair. */
interface Labels {
  readonly classes: number;
  readonly classNames?: readonly string[];
  readonly targets?: readonly FeatureColumn[];
  readonly labelSize: number;
  pick(pair: Pair, chosen: Uint32Array): Samples['labels'];
}

/** Whole numbers of any value are classes, in ascending order. */
function classLabels(pairs: readonly Pair[], path: string): Labels {
  const values = [...new Set(pairs.flatMap((pair) => Array.from(labelsOf(pair, path))))].sort((a, b) => a - b);
  if (values.length < 2 || values.length > maxClasses)
    throw new UserError(
      `${path}: the labels hold ${number(values.length)} different values; from 2 to ${number(maxClasses)} classes can be told apart`,
    );
  const classOf = new Map(values.map((value, index) => [value, index]));
  return {
    classes: values.length,
    classNames: values.map(String),
    labelSize: 1,
    pick: ({ y }, chosen) => sharedInts(Int32Array.from(chosen, (i) => classOf.get(y.values[i]!)!)),
  };
}

/** Numbers to predict, or 1 and 0 for yes and no: [samples] or [samples, outputs]. */
function numberLabels(pairs: readonly Pair[], train: Uint32Array, { path, ...settings }: Settings): Labels {
  const outputs = pairs[0]!.y.shape[1] ?? 1;
  const isRegression = settings.task === 'regression';
  for (const { x, y } of pairs) {
    if (y.shape.length > 2 || y.shape[0] !== x.shape[0] || (y.shape[1] ?? 1) !== outputs || outputs === 0)
      throw new UserError(
        `${path}: there are ${number(x.shape[0] ?? 0)} samples, but labels of shape (${y.shape.join(', ')})`,
        { hint: `${settings.task} needs labels of shape [samples] or [samples, outputs]` },
      );
    const bad = y.values.findIndex((value) =>
      isRegression ? !Number.isFinite(Math.fround(value)) : value !== 0 && value !== 1,
    );
    if (bad >= 0)
      throw new UserError(
        `${path}: the labels of sample ${number(Math.floor(bad / outputs))} hold ${y.values[bad]}; ${isRegression ? 'regression needs finite numbers' : 'multi-label needs 1 (yes) or 0 (no)'}`,
      );
  }
  const { values } = pairs[0]!.y;
  const scales = Array.from({ length: outputs }, (_, output) =>
    isRegression && settings.normalizeTargets
      ? scaleOf(
          Float64Array.from({ length: values.length / outputs }, (_, i) => values[i * outputs + output]!),
          train,
        )
      : unscaled,
  );
  return {
    classes: outputs,
    labelSize: outputs,
    ...(isRegression ? { targets: scales.map((scale, output) => ({ name: `y${output}`, ...scale })) } : {}),
    pick({ y }, chosen) {
      const labels = (isRegression ? sharedFloats : sharedInts)(chosen.length * outputs);
      chosen.forEach((i, place) => {
        for (const [output, { mean, deviation }] of scales.entries())
          labels[place * outputs + output] = (y.values[i * outputs + output]! - mean) / deviation;
      });
      return labels;
    },
  };
}

/** Mean and deviation of each feature, or of each channel of images, over the training samples. */
function scalesOf(x: NumpyArray, train: Uint32Array, shape: readonly number[], places: (at: number) => number) {
  const [size, groups] = [sizeOf(shape), shape[0]!];
  const [sums, squares] = [new Float64Array(groups), new Float64Array(groups)];
  const count = (train.length * size) / groups;
  const each = (visit: (group: number, value: number) => void) => {
    for (const i of train) for (let at = 0; at < size; at++) visit(places(at), x.values[i * size + at]!);
  };
  each((group, value) => {
    sums[group]! += value;
  });
  const mean = sums.map((sum) => sum / count);
  each((group, value) => {
    squares[group]! += (value - mean[group]!) ** 2;
  });
  const deviation = squares.map((square, group) => {
    const found = Math.sqrt(square / count);
    return found > 1e-12 * Math.abs(mean[group]!) ? found : 1;
  });
  return { mean, deviation };
}

/** Where an element of a stored sample goes, and which feature or channel it belongs to. */
function orderOf(shape: readonly number[], channelsLast: boolean) {
  const plane = shape.length === 3 ? shape[1]! * shape[2]! : 1;
  const [channels] = shape as [number];
  if (channelsLast)
    return {
      to: (at: number) => (at % channels) * plane + Math.floor(at / channels),
      group: (at: number) => at % channels,
    };
  return { to: (at: number) => at, group: (at: number) => Math.floor(at / plane) };
}

function requireFinite({ values, shape }: NumpyArray, path: string): void {
  const bad = values instanceof Uint8Array ? -1 : values.findIndex((value) => !Number.isFinite(Math.fround(value)));
  if (bad < 0) return;
  throw new UserError(
    `${path}: sample ${number(Math.floor(bad / sizeOf(shape.slice(1))))} holds ${values[bad]}, which is no float32 number`,
    { hint: 'replace it, as with numpy.nan_to_num, or leave the sample out' },
  );
}

export const numpy = dataSet({
  name: 'numpy',
  summary: 'arrays of yours in .npy or .npz files',
  settings,
  origin: { from: 'a file of yours', licence: 'yours' },
  read(given, { seed, verify }) {
    const train = pairOf(given, 'train', verify)!;
    const test = pairOf(given, 'test', verify);
    const shape = shapeOf(train.x, given);
    if (test !== undefined && String(test.x.shape.slice(1)) !== String(train.x.shape.slice(1)))
      throw new UserError(
        `${given.path}: training samples have the shape (${train.x.shape.slice(1).join(', ')}), test samples (${test.x.shape.slice(1).join(', ')})`,
      );
    const pairs = test === undefined ? [train] : [train, test];
    for (const { x } of pairs) requireFinite(x, given.path);
    const count = train.x.shape[0]!;
    const division: TestSplit =
      test === undefined ? setAside(count, given.testShare, seed, given.path) : firstTrain(count, count);
    const labels =
      given.task === 'classification' ? classLabels(pairs, given.path) : numberLabels(pairs, division.train, given);
    const channelsLast = shape.length === 3 && train.x.shape.length === 4 && given.channels === 'last';
    const { to, group } = orderOf(shape, channelsLast);
    const found = scalesOf(train.x, division.train, shape, group);
    const size = sizeOf(shape);
    requireMemory(8 * count * size, `${number(count)} samples of ${number(size)} numbers`, 'use fewer samples');
    const bytes = pairs.every(({ x }) => x.values instanceof Uint8Array && x.dtype !== '|b1');
    const factor = bytes ? 255 : 1;
    const [mean, deviation] = given.normalize
      ? [found.mean, found.deviation]
      : [found.mean.fill(0), found.deviation.fill(factor)];
    const isImage = shape.length === 3;
    const scale =
      bytes && isImage
        ? scaleTable(
            [...mean].map((each) => each / 255),
            [...deviation].map((each) => each / 255),
          )
        : undefined;
    const split = (pair: Pair, chosen: Uint32Array): Samples => {
      const features: Features = scale ? sharedBytes(chosen.length * size) : sharedFloats(chosen.length * size);
      chosen.forEach((from, place) => {
        for (let at = 0; at < size; at++) {
          const value = pair.x.values[from * size + at]!;
          features[place * size + to(at)] = scale ? value : (value - mean[group(at)]!) / deviation[group(at)]!;
        }
      });
      return {
        count: chosen.length,
        features,
        labels: labels.pick(pair, chosen),
        ...(labels.labelSize > 1 ? { labelSize: labels.labelSize } : {}),
        shape,
        ...(scale ? { scale } : {}),
      };
    };
    const tested =
      test === undefined
        ? split(train, division.test)
        : split(test, firstTrain(test.x.shape[0]!, test.x.shape[0]!).train);
    return {
      task: given.task,
      name: 'numpy',
      shape,
      classes: labels.classes,
      ...(labels.classNames ? { classNames: labels.classNames } : {}),
      ...(labels.targets ? { targets: labels.targets } : {}),
      train: split(train, division.train),
      test: tested,
    };
  },
});
