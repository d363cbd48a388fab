import { sizeOf } from '../../base/shape.ts';
import type { Shape } from '../../tensor/program.ts';
import { need } from './value.ts';

/** The shape that ONNX's Reshape gives: 0 keeps an axis, −1 takes what is left. */
export function targetShape(from: Shape, wanted: readonly number[], allowZero = false): Shape {
  need(
    wanted.length <= 12 && wanted.every((size) => Number.isSafeInteger(size) && size >= -1),
    `[${wanted}] is no shape`,
  );
  const sizes = wanted.map((size, axis) => (size === 0 && !allowZero ? (from[axis] ?? 0) : size));
  const open = sizes.indexOf(-1);
  if (open < 0) return sizes;
  const others = sizeOf(sizes.toSpliced(open, 1));
  need(others > 0 && sizeOf(from) % others === 0, `${sizeOf(from)} elements do not fill [${wanted}]`);
  return sizes.with(open, sizeOf(from) / others);
}

/** Where the samples of a batch are in a tensor that was traced with the batch of the file: in an axis, with so many elements per sample in it. */
export interface Rebatch {
  readonly before: Shape;
  readonly now: Shape;
  /** Elements of the axis that belong to one sample and come after it, as the heads in [time, batch · heads, size]. */
  readonly inner: number;
  readonly exported: number;
  readonly batch: number;
}

/**
 * A file that was exported for one batch size has it in the targets of its reshapes. The target for another batch is what the file says,
 * with the axis that holds the samples grown or shrunk: which one it is follows from how far apart samples are in memory.
 */
export function rebatch(target: Shape, { before, now, inner, exported, batch }: Rebatch) {
  const axis = before.findIndex((size, i) => size !== now[i]);
  if (axis < 0) return { shape: target, inner };
  const stride = inner * sizeOf(before.slice(axis + 1));
  const fits = [...target.keys()].filter((i) => {
    const step = sizeOf(target.slice(i + 1));
    if (exported === 1) return step === stride && target[i] === 1;
    return stride % step === 0 && target[i]! % ((stride / step) * exported) === 0;
  });
  const chosen = fits.length > 1 && axis === 0 ? fits[0]! : fits.length === 1 ? fits[0]! : -1;
  need(
    chosen >= 0,
    `it reshapes to [${target}] for a batch of ${exported}, which the file was exported with, and it does not tell where the samples are`,
    "export with dynamic_axes={'x': {0: 'batch'}}",
  );
  return {
    shape: target.with(chosen, (target[chosen]! / exported) * batch),
    inner: stride / sizeOf(target.slice(chosen + 1)),
  };
}
