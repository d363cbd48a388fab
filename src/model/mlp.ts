import { z } from 'zod';
import { sizeOf } from '../base/shape.ts';
import { gelu, relu, sigmoid, tanh } from '../tensor/operations.ts';
import { f32, i32 } from '../tensor/program.ts';
import type { Model, Task } from './context.ts';
import { dense } from './layers.ts';

const activations = { relu, tanh, sigmoid, gelu };

export const mlpSchema = z.strictObject({
  kind: z.literal('mlp').describe('dense layers'),
  hidden: z.array(z.int().min(1)).default([128]).describe('widths of the hidden layers'),
  activation: z
    .enum(Object.keys(activations) as (keyof typeof activations)[])
    .default('relu')
    .describe('between the layers'),
  dropout: z.number().min(0).lt(1).default(0).describe('share of hidden values left out in training'),
});

/** Dense layers with an activation between them. */
export function mlp({ kind, hidden, activation, dropout }: z.infer<typeof mlpSchema>, task: Task): Model {
  return {
    kind,
    batch: (size) => ({ x: f32(size, sizeOf(task.shape)), labels: i32(size) }),
    forward(context, x) {
      const last = hidden.reduce(
        (y, outputs, i) => context.dropout(activations[activation](dense(context, `fc${i + 1}`, y, outputs)), dropout),
        x,
      );
      return dense(context, `fc${hidden.length + 1}`, last, task.classes);
    },
  };
}
