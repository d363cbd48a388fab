import { tensorMemory } from './tensor.ts';

const lineBytes = 64;
const roundUp = (bytes: number) => Math.ceil(bytes / lineBytes) * lineBytes;

/** A batch of samples whose features are bytes: where they are put, one after the other, and what they become. */
export class PixelBatch {
  readonly bytes: Uint8Array;
  /** What the model reads. */
  readonly x: Float32Array;
  readonly #lookUp: (plane: number, channel: number, length: number) => void;

  /**
   * @param scale the value of each byte, channel by channel
   * @param length bytes of a whole batch
   */
  constructor(scale: Float32Array, length: number) {
    const table = roundUp(4 * length + 4 * 4);
    const bytes = table + roundUp(scale.byteLength);
    const { memory, kernel } = tensorMemory(bytes + length + 4);
    const buffer = memory.buffer as ArrayBuffer;
    this.x = new Float32Array(buffer, 0, length);
    this.bytes = new Uint8Array(buffer, bytes, length);
    new Float32Array(buffer, table, scale.length).set(scale);
    this.#lookUp = (at, channel, count) => kernel.lookUp(4 * at, bytes + at, table + 1024 * channel, count);
  }

  /** x ← the values of the bytes of the first samples. */
  normalise(samples: number, size: number, channels: number): void {
    // One channel is one plane, however many samples. In ascending order: what is looked up behind a plane is overwritten by the next.
    const plane = channels === 1 ? samples * size : size / channels;
    for (let at = 0; at < samples * size; at += plane) this.#lookUp(at, (at / plane) % channels, plane);
  }
}
