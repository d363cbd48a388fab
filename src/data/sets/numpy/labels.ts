import { UserError } from '../../../base/error.ts';
import { number } from '../../../base/format.ts';
import { type FeatureColumn, type Samples, sharedFloats, sharedInts } from '../../dataset.ts';
import { scaleOf, unscaled } from '../../own.ts';
import type { ArrayPair } from './pair.ts';
import type { NumpySettings } from './settings.ts';

/** The labels as numbers: one axis, or one more of length 1. */
function labelsOf({ x, y }: ArrayPair, path: string): ArrayLike<number> {
  const { shape, values } = y;
  const flat = shape.length === 1 || (shape.length === 2 && shape[1] === 1);
  if (!flat || shape[0] !== x.shape[0])
    throw new UserError(
      `${path}: there are ${number(x.shape[0] ?? 0)} samples, but labels of shape (${shape.join(', ')})`,
      {
        hint: 'one label per sample is needed; one-hot labels become numbers with y.argmax(axis=1); for several answers at once say data.task: multi-label',
      },
    );
  const other = values.findIndex((value) => !Number.isSafeInteger(value));
  if (other >= 0) throw new UserError(`${path}: label ${number(other)} is ${values[other]}; classes are whole numbers`);
  return values;
}

const maxClasses = 10_000;

/** What is to be predicted: how many outputs, and the labels of chosen samples of a pair. */
interface ArrayLabels {
  readonly classes: number;
  readonly classNames?: readonly string[];
  readonly targets?: readonly FeatureColumn[];
  readonly labelSize: number;
  pick(pair: ArrayPair, chosen: Uint32Array): Samples['labels'];
}

/** Whole numbers of any value are classes, in ascending order. */
export function classLabels(pairs: readonly ArrayPair[], path: string): ArrayLabels {
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
export function numberLabels(
  pairs: readonly ArrayPair[],
  train: Uint32Array,
  { path, ...settings }: NumpySettings,
): ArrayLabels {
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
