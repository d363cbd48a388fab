import { z } from 'zod';
import { compressor, normOf } from '../compressor.ts';

/** A sign and a level from 0 to `levels`. */
const bitsPerNumber = (levels: number) => 1 + Math.ceil(Math.log2(levels + 1));

/** What makes the quantizer a contraction: one more than the bound of its relative error. */
const shrink = (levels: number, size: number) => 1 + Math.min(size / levels ** 2, Math.sqrt(size) / levels);

/**
 * sign(x) · ‖x‖ · ⌊s|x|/‖x‖ + u⌋ / s with u uniform in [0, 1).
 *
 * Alistarh, Grubic, Li, Tomioka, Vojnović, "QSGD", NeurIPS 2017.
 */
export const qsgd = compressor({
  name: 'qsgd',
  aliases: ['quantize'],
  summary: 'every number rounded at random to one of few levels',
  settings: {
    levels: z.int().min(1).max(65_535).default(16).describe('levels besides 0'),
    unbiased: z.boolean().default(false).describe('leave out the division that makes it a contraction'),
  },
  bytes: ({ levels }, size) => 4 + Math.ceil((size * bitsPerNumber(levels)) / 8),
  encode({ levels, unbiased }, values, message, random) {
    const norm = normOf(values);
    const width = bitsPerNumber(levels);
    message.setFloat32(0, unbiased ? norm : norm / shrink(levels, values.length), true);
    let [held, bits, at] = [0, 0, 4];
    for (const value of values) {
      const level =
        norm === 0 ? 0 : Math.min(levels, Math.floor((levels * Math.abs(value)) / norm + random.uint32() / 2 ** 32));
      held |= ((level << 1) | (value < 0 ? 1 : 0)) << bits;
      for (bits += width; bits >= 8; bits -= 8) {
        message.setUint8(at++, held & 255);
        held >>>= 8;
      }
    }
    if (bits > 0) message.setUint8(at, held & 255);
  },
  decode({ levels }, message, memory) {
    const unit = message.getFloat32(0, true) / levels;
    const width = bitsPerNumber(levels);
    let [held, bits, at] = [0, 0, 4];
    for (let c = 0; c < memory.length; c++) {
      for (; bits < width; bits += 8) held |= message.getUint8(at++) << bits;
      const level = (held & ((1 << width) - 1)) >>> 1;
      memory[c]! += (held & 1 ? -unit : unit) * level;
      held >>>= width;
      bits -= width;
    }
  },
});
