import { sizeOf } from '../../base/shape.ts';
import type { Shape, Value } from '../../tensor/program.ts';
import type { Stored } from '../recorder.ts';
import type { Scope } from '../scope.ts';
import { affine, withShift } from './affine.ts';
import type { Rules } from './rule.ts';

type Norm = 'layerNorm' | 'layerNormGrad' | 'groupNorm' | 'groupNormGrad';

/** 1 / √(variance + ε) */
function inverseDeviation(scope: Scope, variance: Stored, size: number, epsilon: number, dst: Stored): void {
  const { recorder } = scope;
  const flat = recorder.formats.plain([size]);
  const deviation = recorder.plain([size]);
  recorder.binary('add', recorder.as(variance, flat), recorder.constant([1], epsilon), deviation, [
    { kind: 'eltwise', algorithm: 'sqrt' },
  ]);
  recorder.binary('div', recorder.constant([size], 1), deviation, recorder.as(dst, flat));
}

/** The variance that has this inverse deviation with ε = 0. */
function varianceOf(scope: Scope, inverse: Value): Stored {
  const { recorder } = scope;
  const flat = recorder.formats.plain([scope.size(inverse)]);
  const given = recorder.as(scope.read(inverse), flat);
  const [square, variance] = [recorder.arena(flat), recorder.arena(flat)];
  recorder.binary('mul', given, given, square);
  recorder.binary('div', recorder.constant([scope.size(inverse)], 1), square, variance);
  return variance;
}

/** Rows of the last axis, as the library wants them: at least two axes. */
const rowsOf = (shape: Shape): [rows: number, width: number] => [sizeOf(shape.slice(0, -1)), shape.at(-1)!];

/** [1, n·groups, elements of a group]: a group norm is a batch norm of one sample with these channels. */
const groupsOf = (shape: Shape, groups: number) => [1, shape[0]! * groups, sizeOf(shape.slice(1)) / groups];
/** [n, channels, pixels], and a vector of the channels beside it; an axis of size 1 would make the order of axes ambiguous. */
const imagesOf = ([n, channels, ...pixels]: Shape) =>
  sizeOf(pixels) === 1 ? [n!, channels!] : [n!, channels!, sizeOf(pixels)];
const channelsOf = (shape: Shape) => imagesOf(shape).map((size, axis) => (axis === 1 ? size : 1));

export const norms: Rules<Norm> = {
  layerNorm: (scope, { inputs, outputs, attributes }) => {
    const { recorder } = scope;
    const { formats } = recorder;
    const [x, scale, shift] = inputs as [Value, Value, Value];
    const [rows, width] = rowsOf(scope.shape(x));
    const data = formats.plain([rows, width]);
    const described = recorder.describe('layerNorm', {
      propagation: 'training',
      data,
      statistics: formats.plain([rows]),
      epsilon: attributes.epsilon,
      flags: affine,
    });
    const variance = recorder.plain([rows]);
    recorder.execute('layerNorm', described, {
      src: recorder.as(scope.read(x), data),
      scale: scope.read(scale),
      shift: scope.read(shift),
      mean: recorder.as(scope.target(outputs[1]!), formats.plain([rows])),
      variance,
      dst: recorder.as(scope.target(outputs[0]!), data),
    });
    inverseDeviation(scope, variance, rows, attributes.epsilon, scope.target(outputs[2]!));
  },
  layerNormGrad: (scope, { inputs, outputs }) => {
    const { recorder } = scope;
    const { formats } = recorder;
    const [dy, x, scale, mean, inverse] = inputs as [Value, Value, Value, Value, Value];
    const [rows, width] = rowsOf(scope.shape(x));
    const [data, statistics] = [formats.plain([rows, width]), formats.plain([rows])];
    const operation = { data, statistics, epsilon: 0, flags: affine };
    const hint = recorder.describe('layerNorm', { propagation: 'training', ...operation });
    const described = recorder.describe('layerNormBackward', { propagation: 'backward', ...operation }, { hint });
    const given = withShift(recorder, described, {
      src: recorder.as(scope.read(x), data),
      mean: recorder.as(scope.read(mean), statistics),
      variance: varianceOf(scope, inverse),
      scale: scope.read(scale),
      diffDst: recorder.as(scope.read(dy), data),
    });
    recorder.execute('layerNormGrad', described, {
      ...given,
      diffSrc: recorder.as(scope.target(outputs[0]!), data),
      diffScale: scope.target(outputs[1]!),
      diffShift: scope.target(outputs[2]!),
    });
  },

  groupNorm: (scope, { inputs, outputs, attributes }) => {
    const { recorder } = scope;
    const { formats } = recorder;
    const [x, scale, shift] = inputs as [Value, Value, Value];
    const shape = scope.shape(x);
    const grouped = formats.plain(groupsOf(shape, attributes.groups));
    const statistics = formats.plain([scope.size(outputs[1]!)]);
    const described = recorder.describe('batchNorm', {
      propagation: 'training',
      data: grouped,
      epsilon: attributes.epsilon,
      flags: [],
    });
    const [normal, variance] = [recorder.arena(grouped), recorder.arena(statistics)];
    recorder.execute('groupNorm', described, {
      src: recorder.as(scope.read(x), grouped),
      mean: recorder.as(scope.target(outputs[1]!), statistics),
      variance,
      dst: normal,
    });
    inverseDeviation(scope, variance, scope.size(outputs[2]!), attributes.epsilon, scope.target(outputs[2]!));
    const images = formats.plain(imagesOf(shape));
    const perChannel = formats.plain(channelsOf(shape));
    recorder.binary(
      'mul',
      recorder.as(normal, images),
      recorder.as(scope.read(scale), perChannel),
      recorder.as(scope.target(outputs[0]!), images),
      [{ kind: 'binary', algorithm: 'add', operand: recorder.as(scope.read(shift), perChannel) }],
    );
  },
  groupNormGrad: (scope, { inputs, outputs }) => {
    const { recorder } = scope;
    const { formats } = recorder;
    const [dy, x, scale, mean, inverse] = inputs as [Value, Value, Value, Value, Value];
    const [shape, channels] = [scope.shape(x), scope.shape(x)[1]!];
    const grouped = formats.plain(groupsOf(shape, scope.shape(mean)[1]!));
    const images = formats.plain(imagesOf(shape));
    const means = recorder.as(scope.read(mean), formats.plain([scope.size(mean)]));
    const variance = varianceOf(scope, inverse);
    const src = recorder.as(scope.read(x), grouped);
    const gradient = recorder.as(scope.read(dy), images);

    const scaled = recorder.arena(images);
    const perChannel = recorder.as(scope.read(scale), formats.plain(channelsOf(shape)));
    recorder.binary('mul', gradient, perChannel, scaled);
    const unscaled = { data: grouped, epsilon: 0, flags: [] };
    const hint = recorder.describe('batchNorm', { propagation: 'training', ...unscaled });
    const backward = recorder.describe('batchNormBackward', { propagation: 'backwardData', ...unscaled }, { hint });
    recorder.execute('groupNormGrad', backward, {
      src,
      mean: means,
      variance,
      diffDst: recorder.as(scaled, grouped),
      diffSrc: recorder.as(scope.target(outputs[0]!), grouped),
    });

    const normal = recorder.arena(grouped);
    const given = recorder.describe('batchNorm', {
      ...unscaled,
      propagation: 'inference',
      flags: ['givenStatistics'],
    });
    recorder.execute('groupNormGrad', given, { src, mean: means, variance, dst: normal });
    // Sums over samples and pixels of dy·n and of dy: what a batch norm of n with mean 0 and variance 1 has for gradients.
    const standard = { data: images, epsilon: 0, flags: ['givenStatistics', ...affine] } as const;
    const forward = recorder.describe('batchNorm', { propagation: 'training', ...standard });
    const sums = recorder.describe('batchNormBackward', { propagation: 'backward', ...standard }, { hint: forward });
    const ones = recorder.constant([channels], 1);
    const read = withShift(recorder, sums, {
      src: recorder.as(normal, images),
      mean: recorder.constant([channels], 0),
      variance: ones,
      scale: ones,
      diffDst: gradient,
    });
    recorder.execute('groupNormGrad', sums, {
      ...read,
      diffSrc: recorder.arena(images),
      diffScale: scope.target(outputs[1]!),
      diffShift: scope.target(outputs[2]!),
    });
  },
};
