import { tensorMemory } from './tensor.ts';

const lineBytes = 64;
const roundUp = (bytes: number) => Math.ceil(bytes / lineBytes) * lineBytes;
/** The most that samples take here: five times MNIST's. */
const mostKeptBytes = 2 ** 28;

/** Samples whose features are bytes, all of them one after the other. */
export interface PixelSamples {
  readonly features: Uint8Array;
  readonly count: number;
  /** Bytes of a sample. */
  readonly size: number;
  readonly channels: number;
  /** The value of each byte, channel by channel. */
  readonly scale: Float32Array;
}

/**
 * Batches of samples whose features are bytes, made by a kernel. It sees its own memory alone, so that a sample is copied there when it is first asked for
 * and stays, as long as there is room: copies out of memory that is shared take longer than all the rest.
 */
export class PixelBatch {
  /** What the model reads. */
  readonly x: Float32Array;
  readonly #samples: PixelSamples;
  /** All of the memory, and in it: the bytes of a batch, samples that are kept, and where there is room for the next. */
  readonly #memory: Uint8Array;
  #free: number;
  /** Where each sample is kept; 0: nowhere. */
  readonly #kept: Uint32Array;
  /** Where those of a batch are, and where those of them are put that cannot be kept. */
  readonly #places: Uint32Array;
  readonly #staged: number;
  readonly #gather: (count: number) => void;
  readonly #lookUp: (at: number, channel: number, length: number) => void;

  /** @param batch samples of a whole batch */
  constructor(samples: PixelSamples, batch: number, keptBytes = mostKeptBytes) {
    const { count, size, scale } = samples;
    const kept = Math.min(count, Math.floor(keptBytes / size));
    const table = roundUp(4 * batch * size + 4 * 4);
    const places = table + roundUp(scale.byteLength);
    const bytes = places + roundUp(4 * batch);
    const free = bytes + roundUp(batch * size + 4);
    const { memory, kernel } = tensorMemory(free + (kept + batch) * size);
    const buffer = memory.buffer as ArrayBuffer;
    this.x = new Float32Array(buffer, 0, batch * size);
    this.#samples = samples;
    this.#memory = new Uint8Array(buffer);
    this.#free = free;
    this.#staged = free + kept * size;
    this.#kept = new Uint32Array(count);
    this.#places = new Uint32Array(buffer, places, batch);
    new Float32Array(buffer, table, scale.length).set(scale);
    this.#gather = (many) => kernel.gather(bytes, places, many, size);
    this.#lookUp = (at, channel, many) => kernel.lookUp(4 * at, bytes + at, table + 1024 * channel, many);
  }

  /** x ← the values of these samples. */
  fill(indices: ArrayLike<number>): void {
    const { size, channels } = this.#samples;
    for (let b = 0; b < indices.length; b++)
      this.#places[b] = this.#kept[indices[b]!]! || this.#take(indices[b]!, this.#staged + b * size);
    this.#gather(indices.length);
    // One channel is one plane, however many samples. In ascending order: what is looked up behind a plane is overwritten by the next.
    const plane = channels === 1 ? indices.length * size : size / channels;
    for (let at = 0; at < indices.length * size; at += plane) this.#lookUp(at, (at / plane) % channels, plane);
  }

  /** Puts a sample where there is room for it, or, for this batch, in a place that it is given. */
  #take(index: number, staged: number): number {
    const { features, size } = this.#samples;
    const isKept = this.#free < this.#staged;
    const place = isKept ? this.#free : staged;
    this.#memory.set(features.subarray(index * size, (index + 1) * size), place);
    if (!isKept) return place;
    this.#kept[index] = place;
    this.#free += size;
    return place;
  }
}
