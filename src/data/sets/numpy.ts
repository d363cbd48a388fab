import { UserError } from '../../base/error.ts';
import { number } from '../../base/format.ts';
import { requireMemory } from '../../base/memory.ts';
import { sizeOf } from '../../base/shape.ts';
import { type Features, type Samples, scaleTable, sharedBytes, sharedFloats } from '../dataset.ts';
import { firstTrain, setAside, type TestSplit } from '../own.ts';
import { dataSet } from '../set.ts';
import { classLabels, numberLabels } from './numpy/labels.ts';
import { type ArrayPair, pairOf } from './numpy/pair.ts';
import type { NumpyArray } from './numpy/parse.ts';
import { type NumpySettings, numpySettings } from './numpy/settings.ts';

/** What the model sees of one sample, and whether channels have to be brought forward. */
function shapeOf({ shape }: NumpyArray, { channels, path }: NumpySettings): readonly number[] {
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

/** Mean and deviation of each feature, or of each channel of images, over the training samples; as `scaleOf`. */
function scalesOf(x: NumpyArray, train: Uint32Array, shape: readonly number[], places: (at: number) => number) {
  const [size, groups] = [sizeOf(shape), shape[0]!];
  const zeros = () => new Float64Array(groups);
  const [first, sums, squares] = [zeros(), zeros(), zeros()];
  for (let at = 0; at < size; at++) first[places(at)] = x.values[train[0]! * size + at]!;
  const count = (train.length * size) / groups;
  const each = (visit: (group: number, value: number) => void) => {
    for (const i of train) for (let at = 0; at < size; at++) visit(places(at), x.values[i * size + at]!);
  };
  each((group, value) => {
    sums[group]! += value - first[group]!;
  });
  const mean = sums.map((sum, group) => first[group]! + sum / count);
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
  settings: numpySettings,
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
    const split = (pair: ArrayPair, chosen: Uint32Array): Samples => {
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
      ...(scale ? {} : { normalisation: { mean: [...mean], deviation: [...deviation] } }),
      train: split(train, division.train),
      test: tested,
    };
  },
});
