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

/** Batch norm over all but the channel axis. */
export function batchNorm(context: Context, name: string, x: Tensor): Tensor {
  const channels = x.shape[1]!;
  const state = (label: string, initial: number) => ({
    name: `${name}.${label}`,
    tensor: context.state(`${name}.${label}`, [channels], initial),
  });
  return runningBatchNorm(context, name, x, {
    scale: context.param(`${name}.weight`, [channels], filled(1), 'norm'),
    shift: context.param(`${name}.bias`, [channels], filled(0), 'norm'),
    runningMean: state('running_mean', 0),
    runningVariance: state('running_var', 1),
  });
}

interface Running {
  readonly name: string;
  readonly tensor: Tensor;
}

interface BatchNorm {
  readonly scale: Tensor;
  readonly shift: Tensor;
  readonly runningMean: Running;
  readonly runningVariance: Running;
  readonly momentum?: number;
  readonly epsilon?: number;
}

/**
 * Running statistics are state: a step moves them a tenth of the way (the momentum) to the batch's mean and unbiased variance; evaluation
 * uses them.
 */
export function runningBatchNorm(context: Context, label: string, x: Tensor, norm: BatchNorm): Tensor {
  const { scale, shift, runningMean, runningVariance, momentum = 0.1, epsilon = 1e-5 } = norm;
  if (!context.training)
    return batchNormInference(x, scale, shift, runningMean.tensor, runningVariance.tensor, epsilon);
  const count = sizeOf(x.shape) / x.shape[1]!;
  if (count === 1)
    throw new UserError(`${label}: batch norm needs more than one value per channel in training, got [${x.shape}]`, {
      hint: 'use larger batches or images',
    });
  const { y, mean, variance } = normaliseBatch(x, scale, shift, epsilon);
  const move = ({ name, tensor }: Running, to: Tensor, factor: number) =>
    context.setState(name, add(mul(tensor, 1 - momentum), mul(to, momentum * factor)));
  move(runningMean, mean, 1);
  move(runningVariance, variance, count / (count - 1));
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
