import type { z } from 'zod';
import type { Random } from '../base/random.ts';

/**
 * How a tensor becomes a shorter message: one file and one row in compressors.ts. The length of a message depends on the tensor's size alone,
 * so bytes can be counted and buffers made before a run. Sender and receiver decode the same message to the same bits.
 */
export interface Compressor<Shape extends z.ZodRawShape = z.ZodRawShape> {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly summary: string;
  readonly settings: Shape;
  /** Of the message for a tensor of this many numbers. */
  bytes(settings: z.output<z.ZodObject<Shape>>, size: number): number;
  /** Writes the message for `values`. Sender and receiver hold the same random numbers. */
  encode(settings: z.output<z.ZodObject<Shape>>, values: Float32Array, message: DataView, random: Random): void;
  /** Adds what the message says to `memory`. */
  decode(settings: z.output<z.ZodObject<Shape>>, message: DataView, memory: Float32Array, random: Random): void;
}

/** Infers the settings' types from their schema. */
export function compressor<Shape extends z.ZodRawShape>(definition: Compressor<Shape>): Compressor<Shape> {
  return definition;
}

/** L2 norm in float64. */
export function normOf(values: Float32Array): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return Math.sqrt(sum);
}

/** Every number as it is. */
export const plain = {
  encode(values: Float32Array, message: DataView): void {
    for (const [c, value] of values.entries()) message.setFloat32(4 * c, value, true);
  },
  decode(message: DataView, memory: Float32Array): void {
    for (let c = 0; c < memory.length; c++) memory[c]! += message.getFloat32(4 * c, true);
  },
};
