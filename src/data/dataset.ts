import { requireMemory } from '../base/memory.ts';
import { adviseLargePages } from '../base/pages.ts';
import { sizeOf } from '../base/shape.ts';

/**
 * The common form of every data set. All of it is plain data over shared memory: posted to a worker thread it is not copied.
 */

/** Features of one split, sample after sample: bytes (pixels), numbers, or a file of bytes too large for memory. */
export type Features = Uint8Array | Float32Array | FeatureFile;

export interface FeatureFile {
  /** A file of `count` records of ∏ stored bytes each. */
  readonly path: string;
}

/** One split of a set of samples, with all that filling a batch needs. */
export interface Samples {
  readonly count: number;
  readonly features: Features;
  /** Classes, 1 or 0 for each of several answers, or numbers to predict; sample after sample. */
  readonly labels: Int32Array | Float32Array;
  /** Labels of one sample; 1 unless said. */
  readonly labelSize?: number;
  /** Who wrote or spoke each sample, if that is known. */
  readonly groups?: Int32Array;
  /** What the model sees: [features], or [channels, height, width]. */
  readonly shape: readonly number[];
  /** What is stored, if that is larger than what the model sees: batches take a crop of it. */
  readonly stored?: readonly [number, number, number];
  /** scale[256·channel + byte]: the normalised value of a pixel. Only for features in bytes. */
  readonly scale?: Float32Array;
  /** Black pixels around an image before a random crop; absent if the set is not augmented. */
  readonly cropPadding?: number;
}

/** How a column of a table became features: one number, or one for each category. */
export type FeatureColumn =
  | { readonly name: string; readonly mean: number; readonly deviation: number }
  | { readonly name: string; readonly categories: readonly string[] };

/** One class of several, a number for each of several targets, or yes or no for each of several questions. */
export interface Classification {
  readonly task: 'classification' | 'regression' | 'multi-label';
  readonly name: string;
  readonly shape: readonly number[];
  /** Classes, targets or questions. */
  readonly classes: number;
  /** What the user calls them, if the data say so. */
  readonly classNames?: readonly string[];
  /** Of regression: how the targets were normalised. */
  readonly targets?: readonly FeatureColumn[];
  /** Of a table: whoever uses the model elsewhere has to make features the same way. */
  readonly columns?: readonly FeatureColumn[];
  /** Of arrays of numbers, for the same reason: of every feature, or every channel of images. */
  readonly normalisation?: { readonly mean: readonly number[]; readonly deviation: readonly number[] };
  readonly train: Samples;
  readonly test: Samples;
}

/** One split of a text, as token numbers. */
export interface Tokens {
  readonly tokens: Int32Array;
  /** Utterances: utterance u is tokens[starts[u]] up to starts[u + 1], spoken by speakers[u]. */
  readonly utterances?: { readonly starts: Int32Array; readonly speakers: Int32Array };
}

export interface Text {
  readonly task: 'language';
  readonly name: string;
  /** The text of every token number. */
  readonly vocabulary: readonly string[];
  readonly speakers?: readonly string[];
  readonly train: Tokens;
  readonly test: Tokens;
}

export type Dataset = Classification | Text;

function sharedMemory(bytes: number): SharedArrayBuffer {
  requireMemory(bytes, 'the data', 'use fewer or smaller samples');
  const memory = new SharedArrayBuffer(bytes);
  adviseLargePages(memory);
  return memory;
}

export const sharedBytes = (length: number) => new Uint8Array(sharedMemory(length));
export const sharedFloats = (length: number) => new Float32Array(sharedMemory(4 * length));
export const sharedInts = (values: number | ArrayLike<number>) => {
  if (typeof values === 'number') return new Int32Array(sharedMemory(4 * values));
  const ints = new Int32Array(sharedMemory(4 * values.length));
  ints.set(values);
  return ints;
};

/** The same lists, one after the other in one shared memory. */
export function sharedParts<T extends Int32Array | Uint32Array>(parts: readonly T[]): T[] {
  const memory = new SharedArrayBuffer(4 * parts.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  return parts.map((part) => {
    const shared = new (part.constructor as new (memory: SharedArrayBuffer, offset: number, length: number) => T)(
      memory,
      offset,
      part.length,
    );
    shared.set(part);
    offset += shared.byteLength;
    return shared;
  });
}

/** (byte/255 − mean) / std of every byte, channel by channel. */
export function scaleTable(mean: readonly number[], std: readonly number[]): Float32Array {
  const scale = sharedFloats(256 * mean.length);
  mean.forEach((m, channel) => {
    for (let byte = 0; byte < 256; byte++) scale[256 * channel + byte] = (byte / 255 - m) / std[channel]!;
  });
  return scale;
}

/** The chosen samples only, in the order given. */
export function take(samples: Samples, chosen: Uint32Array): Samples {
  const { features, labels, groups } = samples;
  if (!ArrayBuffer.isView(features)) throw new TypeError('samples in a file are chosen before they are stored');
  const size = sizeOf(samples.stored ?? samples.shape);
  const kept = features instanceof Uint8Array ? sharedBytes(chosen.length * size) : sharedFloats(chosen.length * size);
  chosen.forEach((from, to) => {
    kept.set(features.subarray(from * size, (from + 1) * size), to * size);
  });
  const { labelSize = 1 } = samples;
  const pick = (values: Int32Array) => sharedInts(Int32Array.from(chosen, (i) => values[i]!));
  const pickLabels = () => {
    const picked = (labels instanceof Int32Array ? sharedInts : sharedFloats)(chosen.length * labelSize);
    chosen.forEach((from, to) => {
      picked.set(labels.subarray(from * labelSize, (from + 1) * labelSize), to * labelSize);
    });
    return picked;
  };
  return {
    ...samples,
    count: chosen.length,
    features: kept,
    labels: pickLabels(),
    ...(groups === undefined ? {} : { groups: pick(groups) }),
  };
}
