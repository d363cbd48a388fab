import { z } from 'zod';
import type { Random } from '../../base/random.ts';
import { compressor } from '../compressor.ts';
import { kept, ratio } from './top-k.ts';

/** k different places, the same for sender and receiver (Floyd's algorithm: k draws). */
function places(k: number, size: number, random: Random): number[] {
  const chosen = new Set<number>();
  for (let j = size - k; j < size; j++) {
    const place = random.below(j + 1);
    chosen.add(chosen.has(place) ? j : place);
  }
  return [...chosen];
}

export const randomK = compressor({
  name: 'random-k',
  aliases: ['randomk', 'rand-k'],
  summary: 'numbers of each tensor at random places, which the receiver draws as well',
  settings: { ratio, unbiased: z.boolean().default(false).describe('scale them up so that the mean is right') },
  bytes: ({ ratio }, size) => 4 * kept(ratio, size),
  encode({ ratio, unbiased }, values, message, random) {
    const k = kept(ratio, values.length);
    const scale = unbiased ? values.length / k : 1;
    places(k, values.length, random).forEach((place, i) => {
      message.setFloat32(4 * i, scale * values[place]!, true);
    });
  },
  decode({ ratio }, message, memory, random) {
    places(kept(ratio, memory.length), memory.length, random).forEach((place, i) => {
      memory[place]! += message.getFloat32(4 * i, true);
    });
  },
});
