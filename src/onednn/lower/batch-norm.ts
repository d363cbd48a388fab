import type { Node, Value } from '../../tensor/program.ts';
import type { NormFlag } from '../dialect.ts';
import type { Stored } from '../recorder.ts';
import type { Scope } from '../scope.ts';
import { affine, withShift } from './affine.ts';
import type { Rules } from './rule.ts';
import { asImages } from './window.ts';

const fused = (relu: boolean): readonly NormFlag[] => (relu ? [...affine, 'relu'] : affine);

/**
 * Mean and variance of each channel, by our own kernel: the library adds up all elements of a channel in one float, which
 * at hundreds of thousands of them costs four digits.
 */
function statistics(scope: Scope, x: Value): { src: Stored; mean: Stored; variance: Stored } {
  const { recorder, kernel } = scope;
  const { formats } = recorder;
  const images = asImages(scope, x);
  const src = images.place.kind === 'arena' && formats.channelsOf(images.format) ? images : scope.readArena(x);
  const { samples, blocks, pixels, width } = formats.channelsOf(src.format)!;
  const room = (perChannel: number) => recorder.plain([perChannel * blocks * width]);
  // A double is as large as two floats.
  const [sums, mean, variance] = [room(2), room(1), room(1)];
  recorder.script('batchNorm', [src, sums, mean, variance], ({ offset }) => {
    const [from, ...to] = [src, sums, mean, variance].map(offset) as [number, number, number, number];
    return () => kernel().channelStatistics(from, samples, blocks, pixels, width, ...to);
  });
  const perChannel = formats.plain([scope.shape(x)[1]!]);
  return { src, mean: recorder.as(mean, perChannel), variance: recorder.as(variance, perChannel) };
}

/** Batch norm in training, with the ReLU after it if `result` is that one's output. */
export function batchNorm(
  scope: Scope,
  { inputs, outputs, attributes }: Node<'batchNorm'>,
  result: Value = outputs[0]!,
): void {
  const { recorder } = scope;
  const [x, scale, shift] = inputs as [Value, Value, Value];
  const { src, mean, variance } = statistics(scope, x);
  const relu = result !== outputs[0];
  const described = recorder.describe('batchNorm', {
    propagation: 'training',
    data: src.format,
    epsilon: attributes.epsilon,
    flags: ['givenStatistics', ...fused(relu)],
  });
  const workspace = relu ? recorder.arena(recorder.wanted(described, 'workspace')) : undefined;
  recorder.execute('batchNorm', described, {
    src,
    scale: scope.read(scale),
    shift: scope.read(shift),
    mean,
    variance,
    dst: scope.target(result, src.format),
    ...(workspace && { workspace }),
  });
  scope.define(outputs[1]!, mean);
  scope.define(outputs[2]!, variance);
  scope.kept.set(result, { described, src, workspace });
}

/** With the gradient of the ReLU after it where `relu` is that one's node. */
export function batchNormGrad(
  scope: Scope,
  { inputs, outputs, attributes }: Node<'batchNormGrad'>,
  relu?: Node<'reluGrad'>,
): void {
  const { recorder } = scope;
  const [ownDy, x, scale, mean, variance] = inputs as [Value, Value, Value, Value, Value];
  const dy = relu?.inputs[0] ?? ownDy;
  const src = asImages(scope, x);
  const { format } = src;
  const operation = { data: format, epsilon: attributes.epsilon, flags: fused(relu !== undefined) };
  const hint = recorder.describe('batchNorm', { propagation: 'training', ...operation });
  const described = recorder.describe('batchNormBackward', { propagation: 'backward', ...operation }, { hint });
  const given = withShift(recorder, described, {
    src,
    mean: scope.read(mean),
    variance: scope.read(variance),
    scale: scope.read(scale),
    diffDst: scope.read(dy, format),
    ...(relu && { workspace: scope.kept.get(relu.inputs[1]!)!.workspace! }),
  });
  recorder.execute('batchNormGrad', described, {
    ...given,
    diffSrc: scope.target(outputs[0]!, format),
    diffScale: scope.target(outputs[1]!),
    diffShift: scope.target(outputs[2]!),
  });
}

export function batchNormInference(
  scope: Scope,
  { inputs, outputs, attributes }: Node<'batchNormInference'>,
  result: Value = outputs[0]!,
): void {
  const { recorder } = scope;
  const [x, scale, shift, mean, variance] = inputs as [Value, Value, Value, Value, Value];
  const src = asImages(scope, x);
  const described = recorder.describe('batchNorm', {
    propagation: 'inference',
    data: src.format,
    epsilon: attributes.epsilon,
    flags: ['givenStatistics', ...fused(result !== outputs[0])],
  });
  recorder.execute('batchNormInference', described, {
    src,
    scale: scope.read(scale),
    shift: scope.read(shift),
    mean: scope.read(mean),
    variance: scope.read(variance),
    dst: scope.target(result, src.format),
  });
}

export const batchNorms: Rules<'batchNorm' | 'batchNormGrad' | 'batchNormInference'> = {
  batchNorm: (scope, node) => batchNorm(scope, node),
  batchNormGrad: (scope, node) => batchNormGrad(scope, node),
  batchNormInference: (scope, node) => batchNormInference(scope, node),
};
