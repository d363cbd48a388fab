import { z } from 'zod';
import { compressor, plain } from '../compressor.ts';

export const ratio = z.number().gt(0).max(1).default(0.01).describe('share of the numbers that is sent');

export const kept = (ratio: number, size: number) => Math.max(1, Math.floor(ratio * size));

/** Number and place take eight bytes: beyond half of them the plain tensor is shorter. */
const isPlain = (ratio: number, size: number) => 8 * kept(ratio, size) >= 4 * size;

/** The k-th largest magnitude, by quickselect on a copy. */
function threshold(values: Float32Array, k: number): number {
  const magnitude = values.map(Math.abs);
  let [low, high] = [0, magnitude.length - 1];
  const place = k - 1;
  while (low < high) {
    const pivot = magnitude[(low + high) >> 1]!;
    let [i, j] = [low, high];
    while (i <= j) {
      while (magnitude[i]! > pivot) i++;
      while (magnitude[j]! < pivot) j--;
      if (i <= j) {
        [magnitude[i], magnitude[j]] = [magnitude[j]!, magnitude[i]!];
        i++;
        j--;
      }
    }
    if (place <= j) high = j;
    else if (place >= i) low = i;
    else break;
  }
  return magnitude[place]!;
}

/** The k largest in magnitude, of equal ones those that come first. */
export const topK = compressor({
  name: 'top-k',
  aliases: ['topk'],
  summary: 'the largest numbers of each tensor, with their places',
  settings: { ratio },
  bytes: ({ ratio }, size) => Math.min(8 * kept(ratio, size), 4 * size),
  encode({ ratio }, values, message) {
    if (isPlain(ratio, values.length)) return plain.encode(values, message);
    const k = kept(ratio, values.length);
    const least = threshold(values, k);
    let larger = 0;
    for (const value of values) if (Math.abs(value) > least) larger++;
    let equal = k - larger;
    let at = 0;
    for (let c = 0; c < values.length && at < 8 * k; c++) {
      const magnitude = Math.abs(values[c]!);
      if (!(magnitude > least) && (magnitude !== least || equal-- <= 0)) continue;
      message.setFloat32(at, values[c]!, true);
      message.setUint32(at + 4, c, true);
      at += 8;
    }
  },
  decode({ ratio }, message, memory) {
    if (isPlain(ratio, memory.length)) return plain.decode(message, memory);
    for (let at = 0; at < message.byteLength; at += 8)
      memory[message.getUint32(at + 4, true)]! += message.getFloat32(at, true);
  },
});
