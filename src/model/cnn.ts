import { z } from 'zod';
import { flatten, maxPool, relu } from '../tensor/operations.ts';
import { f32, i32 } from '../tensor/program.ts';
import type { Model } from './context.ts';
import { conv, dense } from './layers.ts';

const width = z.int().positive();

export const cnnSchema = z.strictObject({
  kind: z.literal('cnn'),
  channels: width.default(1),
  /** Height and width of the square images. */
  size: width.default(28),
  filters: z.array(width).min(1).default([16, 32]),
  kernel: z
    .int()
    .positive()
    .refine((k) => k % 2 === 1, 'the kernel must be odd')
    .default(5),
  hidden: z.array(width).default([128]),
  classes: width.default(10),
});

/** As LeNet: convolutions that keep the size, each with ReLU and a pooling that halves it, then dense layers. */
export function cnn(settings: z.infer<typeof cnnSchema>): Model {
  const { kind, channels, size, filters, kernel, hidden, classes } = settings;
  return {
    kind,
    batch: (samples) => ({ x: f32(samples, channels, size, size), labels: i32(samples) }),
    forward(context, x) {
      const features = filters.reduce((y, count, i) => {
        const padding = (kernel - 1) / 2;
        // ReLU after pooling is the same function with a quarter of the work.
        return relu(maxPool(conv(context, `conv${i + 1}`, y, count, kernel, { padding }), 2));
      }, x);
      const last = hidden.reduce((y, outputs, i) => relu(dense(context, `fc${i + 1}`, y, outputs)), flatten(features));
      return dense(context, `fc${hidden.length + 1}`, last, classes);
    },
  };
}
