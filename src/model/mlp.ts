import { z } from 'zod';
import { relu } from '../tensor/operations.ts';
import { f32, i32 } from '../tensor/program.ts';
import type { Model } from './context.ts';
import { dense } from './layers.ts';

const width = z.int().positive();

export const mlpSchema = z.strictObject({
  kind: z.literal('mlp'),
  inputs: width.default(784),
  hidden: z.array(width).default([128]),
  classes: width.default(10),
  dropout: z.number().min(0).lt(1).default(0),
});

/** Dense layers with ReLU between them. */
export function mlp({ kind, inputs, hidden, classes, dropout }: z.infer<typeof mlpSchema>): Model {
  return {
    kind,
    batch: (size) => ({ x: f32(size, inputs), labels: i32(size) }),
    forward(context, x) {
      const last = hidden.reduce(
        (y, outputs, i) => context.dropout(relu(dense(context, `fc${i + 1}`, y, outputs)), dropout),
        x,
      );
      return dense(context, `fc${hidden.length + 1}`, last, classes);
    },
  };
}
