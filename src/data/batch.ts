import { closeSync, openSync, readSync } from 'node:fs';
import { UserError } from '../base/error.ts';
import { reason } from '../base/file.ts';
import { Random } from '../base/random.ts';
import { sizeOf } from '../base/shape.ts';
import { PixelBatch } from '../kernel/pixels.ts';
import type { Samples } from './dataset.ts';

export interface BatchOptions {
  readonly batch: number;
  readonly epoch: number;
  readonly replica: number;
  readonly seed: number;
  /** Leave out the last batch when it is not full. */
  readonly dropLast: boolean;
}

/** One epoch of one replica: its samples in an order that depends on (seed, replica, epoch) only, cut into batches. */
export function batches(
  indices: Uint32Array,
  { batch, epoch, replica, seed, dropLast }: BatchOptions,
): readonly Uint32Array[] {
  const order = new Random(seed, 'shuffle', replica, epoch).permutation(indices.length).map((i) => indices[i]!);
  return Array.from({ length: batchCount(indices.length, batch, dropLast) }, (_, b) =>
    order.subarray(b * batch, (b + 1) * batch),
  );
}

export function batchCount(samples: number, batch: number, dropLast: boolean): number {
  return dropLast ? Math.floor(samples / batch) : Math.ceil(samples / batch);
}

/** Whose random numbers a batch is augmented with. */
export interface AugmentKey {
  readonly seed: number;
  readonly replica: number;
  readonly step: number;
}

/** Files of features that this thread has open; they stay so until it ends. */
const open = new Map<string, number>();

function readRecord(path: string, index: number, into: Uint8Array): void {
  try {
    let file = open.get(path);
    if (file === undefined) open.set(path, (file = openSync(path, 'r')));
    let done = 0;
    while (done < into.length) {
      const read = readSync(file, into, done, into.length - done, index * into.length + done);
      if (read === 0)
        throw new UserError(`${path} ends before sample ${index}`, { hint: 'remove it: it is made anew' });
      done += read;
    }
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new UserError(`cannot read ${path}: ${reason(cause)}`, { cause });
  }
}

/** For tests and long-lived servers: closes the files that fillBatch keeps open. */
export function closeFeatureFiles(): void {
  for (const file of open.values()) closeSync(file);
  open.clear();
}

let record = new Uint8Array(0);

/** Where batches of this many samples are made fastest, for `fillBatch`; undefined where any memory will do. */
export function pixelBatchOf(samples: Samples, batch: number, keptBytes?: number): PixelBatch | undefined {
  const { features, count, shape, scale, stored, cropPadding } = samples;
  if (!(features instanceof Uint8Array) || stored !== undefined || cropPadding !== undefined) return undefined;
  return new PixelBatch({ features, count, size: sizeOf(shape), channels: shape[0]!, scale: scale! }, batch, keptBytes);
}

/**
 * Fills `x` with the normalised features of these samples, one after the other, and `y` with their labels. With a key, sets that are
 * augmented are: a random crop of the padded (or larger) image, mirrored half of the time.
 *
 * @param pixels of these samples, if `x` is theirs
 */
export function fillBatch(
  samples: Samples,
  indices: ArrayLike<number>,
  x: Float32Array,
  y: Int32Array | Float32Array,
  augment?: AugmentKey,
  pixels?: PixelBatch,
): void {
  const { features, labels, labelSize = 1, shape, stored, scale, cropPadding } = samples;
  const size = sizeOf(shape);
  if (x.length < indices.length * size || y.length < indices.length * labelSize)
    throw new RangeError(`a batch of ${indices.length} samples does not fit into x[${x.length}], y[${y.length}]`);
  for (let b = 0; b < indices.length; b++)
    for (let l = 0; l < labelSize; l++) y[b * labelSize + l] = labels[indices[b]! * labelSize + l]!;
  if (features instanceof Float32Array) {
    for (let b = 0; b < indices.length; b++) {
      const from = indices[b]! * size;
      x.set(features.subarray(from, from + size), b * size);
    }
    return;
  }
  if (pixels !== undefined) {
    pixels.fill(indices);
    return;
  }
  const storedSize = stored === undefined ? size : sizeOf(stored);
  const image = (index: number): Uint8Array => {
    if (features instanceof Uint8Array) return features;
    if (record.length !== storedSize) record = new Uint8Array(storedSize);
    readRecord(features.path, index, record);
    return record;
  };
  const offset = (index: number) => (features instanceof Uint8Array ? index * storedSize : 0);
  const random =
    augment !== undefined && cropPadding !== undefined
      ? new Random(augment.seed, 'augment', augment.replica, augment.step)
      : undefined;
  if (random === undefined && stored === undefined) {
    for (let b = 0; b < indices.length; b++)
      normalise(image(indices[b]!), offset(indices[b]!), scale!, shape[0]!, size, x, b * size);
    return;
  }
  const [channels, height, width] = shape as readonly [number, number, number];
  const [, storedHeight, storedWidth] = stored ?? (shape as readonly [number, number, number]);
  const padding = random === undefined ? 0 : cropPadding!;
  for (let b = 0; b < indices.length; b++) {
    const down = storedHeight + 2 * padding - height;
    const right = storedWidth + 2 * padding - width;
    // Always three numbers a sample, so that no sample's crop depends on another's.
    const top = (random === undefined ? down >> 1 : random.below(down + 1)) - padding;
    const left = (random === undefined ? right >> 1 : random.below(right + 1)) - padding;
    const mirrored = random !== undefined && random.uint32() % 2 === 1;
    const crop = { top, left, mirrored, channels, height, width, storedHeight, storedWidth };
    normaliseCrop(image(indices[b]!), offset(indices[b]!), scale!, crop, x, b * size);
  }
}

function normalise(
  bytes: Uint8Array,
  from: number,
  scale: Float32Array,
  channels: number,
  size: number,
  x: Float32Array,
  to: number,
): void {
  const plane = size / channels;
  for (let c = 0, at = 0; c < channels; c++) {
    const table = 256 * c;
    const end = at + plane;
    // Four at a time: one by one, the loop itself would take as long as what is done in it.
    for (; at + 4 <= end; at += 4) {
      x[to + at] = scale[table + bytes[from + at]!]!;
      x[to + at + 1] = scale[table + bytes[from + at + 1]!]!;
      x[to + at + 2] = scale[table + bytes[from + at + 2]!]!;
      x[to + at + 3] = scale[table + bytes[from + at + 3]!]!;
    }
    for (; at < end; at++) x[to + at] = scale[table + bytes[from + at]!]!;
  }
}

interface Crop {
  readonly top: number;
  readonly left: number;
  readonly mirrored: boolean;
  readonly channels: number;
  readonly height: number;
  readonly width: number;
  readonly storedHeight: number;
  readonly storedWidth: number;
}

/** Outside of the stored image pixels are black: the value of byte 0, as when padding comes before normalising. */
function normaliseCrop(
  bytes: Uint8Array,
  from: number,
  scale: Float32Array,
  { top, left, mirrored, channels, height, width, storedHeight, storedWidth }: Crop,
  x: Float32Array,
  to: number,
): void {
  let at = to;
  const [first, turn] = mirrored ? [left + width - 1, -1] : [left, 1];
  for (let c = 0; c < channels; c++) {
    const table = 256 * c;
    const black = scale[table]!;
    for (let row = 0; row < height; row++) {
      const sourceRow = top + row;
      if (sourceRow < 0 || sourceRow >= storedHeight) {
        x.fill(black, at, at + width);
        at += width;
        continue;
      }
      const start = from + (c * storedHeight + sourceRow) * storedWidth;
      for (let column = 0, source = first; column < width; column++, source += turn, at++)
        x[at] = source < 0 || source >= storedWidth ? black : scale[table + bytes[start + source]!]!;
    }
  }
}
