import { z } from 'zod';
import type { Random } from '../base/random.ts';
import type { Compressor } from './compressor.ts';
import { none } from './compressors/none.ts';
import { qsgd } from './compressors/qsgd.ts';
import { randomK } from './compressors/random-k.ts';
import { sign } from './compressors/sign.ts';
import { topK } from './compressors/top-k.ts';

/** Every compressor, a row each. */
export const compressors: readonly Compressor[] = [topK, randomK, qsgd, sign, none] as unknown as readonly Compressor[];

const describe = ({ name, aliases = [], summary, settings }: Compressor) =>
  z.strictObject({ kind: z.enum([name, ...aliases]).describe(summary), ...settings });
type Member = ReturnType<typeof describe>;

export const compressorSchema = z
  .discriminatedUnion('kind', compressors.map(describe) as [Member, ...Member[]])
  .describe('how messages are made shorter');
export type CompressorSettings = Readonly<z.output<typeof compressorSchema>>;

/** A compressor for rows that consist of tensors; a row's message is that of its tensors, one after the other. */
export interface RowCompressor {
  readonly bytes: number;
  encode(values: Float32Array, message: Uint8Array, random: Random): void;
  /** Adds what the message says to the row. */
  decode(message: Uint8Array, memory: Float32Array, random: Random): void;
}

/** @param offsets where each tensor begins, and where the last one ends */
export function rowCompressor(given: CompressorSettings, offsets: readonly number[]): RowCompressor {
  const { kind, ...rest } = given;
  const { bytes, encode, decode } = compressors.find(({ name, aliases = [] }) => [name, ...aliases].includes(kind))!;
  const settings = rest as never;
  let end = 0;
  const parts = offsets.slice(1).map((to, tensor) => {
    const [from, start] = [offsets[tensor]!, end];
    end += bytes(settings, to - from);
    return { from, to, start, end };
  });
  const view = ({ buffer, byteOffset }: Uint8Array, start: number, end: number) =>
    new DataView(buffer, byteOffset + start, end - start);
  return {
    bytes: end,
    encode(values, message, random) {
      for (const { from, to, start, end } of parts)
        encode(settings, values.subarray(from, to), view(message, start, end), random);
    },
    decode(message, memory, random) {
      for (const { from, to, start, end } of parts)
        decode(settings, view(message, start, end), memory.subarray(from, to), random);
    },
  };
}
