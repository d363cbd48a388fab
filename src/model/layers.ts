import { UserError } from '../base/error.ts';
import { sizeOf } from '../base/shape.ts';
import {
  add,
  batchNormInference,
  conv2d,
  matmul,
  mul,
  batchNorm as normaliseBatch,
  groupNorm as normaliseGroups,
  layerNorm as normaliseLayer,
} from '../tensor/operations.ts';
import type { Tensor } from '../tensor/trace.ts';
import type { Context } from './context.ts';
import { fanInUniform, filled, type Init } from './layout.ts';

/** Layers: an operation with its parameters, named and initialised as PyTorch does. */

export interface DenseOptions {
  readonly bias?: boolean;
  readonly init?: Init;
  readonly biasInit?: Init;
}

/** [n, inputs] → [n, outputs] */
export function dense(context: Context, name: string, x: Tensor, outputs: number, options: DenseOptions = {}): Tensor {
  const inputs = x.shape[1]!;
  const { bias = true, init = fanInUniform(inputs), biasInit = fanInUniform(inputs) } = options;
  const weight = context.param(`${name}.weight`, [outputs, inputs], init, 'weight');
  return matmul(x, weight, {
    transposeB: true,
    bias: bias ? context.param(`${name}.bias`, [outputs], biasInit, 'bias') : undefined,
  });
}

export interface ConvOptions {
  readonly stride?: number;
  readonly padding?: number;
  readonly groups?: number;
  readonly bias?: boolean;
  readonly init?: Init;
}

/** A square convolution with `filters` outputs. */
export function conv(
  context: Context,
  name: string,
  x: Tensor,
  filters: number,
  kernel: number,
  options: ConvOptions = {},
): Tensor {
  const { stride = 1, padding = 0, groups = 1, bias = true } = options;
  const shape = [filters, x.shape[1]! / groups, kernel, kernel];
  const fanIn = sizeOf(shape.slice(1));
  const weight = context.param(`${name}.weight`, shape, options.init ?? fanInUniform(fanIn), 'weight');
  const biases = bias ? context.param(`${name}.bias`, [filters], fanInUniform(fanIn), 'bias') : undefined;
  return conv2d(x, weight, { stride, padding, groups, bias: biases });
}

/**
 * Batch norm over all but the channel axis. Running statistics are state: a step moves them a tenth of the way to the
 * batch's mean and unbiased variance; evaluation uses them.
 */
export function batchNorm(context: Context, name: string, x: Tensor, momentum = 0.1): Tensor {
  const channels = x.shape[1]!;
  const scale = context.param(`${name}.weight`, [channels], filled(1), 'norm');
  const shift = context.param(`${name}.bias`, [channels], filled(0), 'norm');
  const runningMean = context.state(`${name}.running_mean`, [channels], 0);
  const runningVariance = context.state(`${name}.running_var`, [channels], 1);
  if (!context.training) return batchNormInference(x, scale, shift, runningMean, runningVariance);
  const count = sizeOf(x.shape) / channels;
  if (count === 1)
    throw new UserError(`${name}: batch norm needs more than one value a channel in training, got [${x.shape}]`, {
      hint: 'use larger batches or images',
    });
  const { y, mean, variance } = normaliseBatch(x, scale, shift);
  const move = (running: Tensor, to: Tensor, factor: number) =>
    add(mul(running, 1 - momentum), mul(to, momentum * factor));
  context.setState(`${name}.running_mean`, move(runningMean, mean, 1));
  context.setState(`${name}.running_var`, move(runningVariance, variance, count / (count - 1)));
  return y;
}

export function layerNorm(context: Context, name: string, x: Tensor, epsilon = 1e-5): Tensor {
  const width = x.shape.at(-1)!;
  const scale = context.param(`${name}.weight`, [width], filled(1), 'norm');
  return normaliseLayer(x, scale, context.param(`${name}.bias`, [width], filled(0), 'norm'), epsilon);
}

export function groupNorm(context: Context, name: string, x: Tensor, groups: number): Tensor {
  const channels = x.shape[1]!;
  const scale = context.param(`${name}.weight`, [channels], filled(1), 'norm');
  return normaliseGroups(x, scale, context.param(`${name}.bias`, [channels], filled(0), 'norm'), groups);
}
