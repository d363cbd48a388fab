import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { avgPool, concat, globalAvgPool, relu } from '../tensor/operations.ts';
import { f32, i32 } from '../tensor/program.ts';
import type { Tensor } from '../tensor/trace.ts';
import { type Context, imageOf, type Model, type Task } from './context.ts';
import { batchNorm, conv, dense } from './layers.ts';
import { filled, heNormal } from './layout.ts';

export const densenet100Schema = z.strictObject({
  kind: z.literal('densenet100').describe('densely connected network of depth 100 for CIFAR'),
  growth: z.int().min(1).default(12).describe('channels that every layer adds'),
  bottleneck: z.boolean().default(false).describe('the BC variant: a 1×1 convolution before each 3×3'),
  compression: z.number().gt(0).max(1).default(0.5).describe('share of the channels that a transition keeps'),
  dropout: z.number().min(0).lt(1).default(0).describe('after every convolution, in training'),
});
type Settings = z.infer<typeof densenet100Schema>;

export const densenet100 = (settings: Settings, task: Task): Model => densenet({ ...settings, depth: 100 }, task);

/**
 * Three blocks in which every layer sees all those before it: Huang et al., "Densely connected convolutional networks",
 * 2017. As in the paper's CIFAR networks, the first convolution has 2·growth filters; convolutions are initialised with
 * He's rule over the fan-out, the dense layer's biases with zero.
 */
export function densenet(settings: Omit<Settings, 'kind'> & { kind: string; depth: number }, task: Task): Model {
  const { kind, depth, growth, bottleneck, compression, dropout } = settings;
  const layers = (depth - 4) / (bottleneck ? 6 : 3);
  if (!Number.isInteger(layers) || layers < 1)
    throw new UserError(`${kind}: depth must be 4 plus a multiple of ${bottleneck ? 6 : 3}, got ${depth}`);
  const image = imageOf(kind, task, 4);

  const forward = (context: Context, x: Tensor): Tensor => {
    const convolve = (name: string, y: Tensor, filters: number, kernel: number) =>
      conv(context, name, y, filters, kernel, {
        padding: (kernel - 1) / 2,
        bias: false,
        init: heNormal(filters * kernel * kernel),
      });
    /** BN, ReLU, convolution: the order that DenseNet is built of. */
    const unit = (name: string, i: number, y: Tensor, filters: number, kernel: number) =>
      context.dropout(
        convolve(`${name}.conv${i}`, relu(batchNorm(context, `${name}.bn${i}`, y)), filters, kernel),
        dropout,
      );
    const layer = (name: string, y: Tensor) =>
      bottleneck ? unit(name, 2, unit(name, 1, y, 4 * growth, 1), growth, 3) : unit(name, 1, y, growth, 3);

    let y = convolve('conv1', x, 2 * growth, 3);
    for (let block = 1; block <= 3; block++) {
      for (let i = 0; i < layers; i++) y = concat([y, layer(`block${block}.layer.${i}`, y)], 1);
      if (block < 3) y = avgPool(unit(`trans${block}`, 1, y, Math.floor(y.shape[1]! * compression), 1), 2);
    }
    const features = globalAvgPool(relu(batchNorm(context, 'bn1', y)));
    return dense(context, 'fc', features, task.classes, { biasInit: filled(0) });
  };
  return { kind, batch: (samples) => ({ x: f32(samples, ...image), labels: i32(samples) }), forward };
}
