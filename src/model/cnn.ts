import { z } from 'zod';
import { flatten, maxPool, relu } from '../tensor/operations.ts';
import { f32, i32 } from '../tensor/program.ts';
import { imageOf, type Model, type Task } from './context.ts';
import { conv, dense } from './layers.ts';

const width = z.int().min(1);

export const cnnSchema = z.strictObject({
  kind: z.literal('cnn').describe('a small LeNet-like convolutional network'),
  filters: z.array(width).min(1).default([16, 32]).describe('of each convolution'),
  kernel: width
    .refine((k) => k % 2 === 1, 'must be odd, so that images keep their size')
    .default(5)
    .describe('side of the convolutions'),
  hidden: z.array(width).default([128]).describe('widths of the dense layers'),
});

/** As LeNet: convolutions that keep the size, each with ReLU and a pooling that halves it, then dense layers. */
export function cnn({ kind, filters, kernel, hidden }: z.infer<typeof cnnSchema>, task: Task): Model {
  const image = imageOf(kind, task, 2 ** filters.length);
  return {
    kind,
    batch: (samples) => ({ x: f32(samples, ...image), labels: i32(samples) }),
    forward(context, x) {
      const features = filters.reduce((y, count, i) => {
        const padding = (kernel - 1) / 2;
        // ReLU after pooling is the same function with a quarter of the work.
        return relu(maxPool(conv(context, `conv${i + 1}`, y, count, kernel, { padding }), 2));
      }, x);
      const last = hidden.reduce((y, outputs, i) => relu(dense(context, `fc${i + 1}`, y, outputs)), flatten(features));
      return dense(context, `fc${hidden.length + 1}`, last, task.classes);
    },
  };
}
