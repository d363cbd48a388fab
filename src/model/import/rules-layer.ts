import * as op from '../../tensor/operations.ts';
import type { Pair } from '../../tensor/program.ts';
import type { Tensor } from '../../tensor/trace.ts';
import { runningBatchNorm } from '../layers.ts';
import { concat, reshape, slice } from './rewrite.ts';
import { type ImportedUse, type ImportRule, need, traced } from './value.ts';

/** Convolutions, pooling, norms, dropout and LSTMs of a file. */

/** Kernel, stride and padding of a window over images; padding that differs between the sides is done before. */
function window(use: ImportedUse, x: Tensor, kernel: readonly number[]) {
  need(x.shape.length === 4 && kernel.length === 2, `windows over ${x.shape.length - 2} axes; images have two`);
  need(['NOTSET', undefined, ''].includes(use.text('auto_pad')), `automatic padding ${use.text('auto_pad')}`);
  need(
    (use.ints('dilations') ?? []).every((size) => size === 1),
    'a window with gaps (dilation)',
  );
  need(use.number('ceil_mode', 0) === 0, 'rounding up (ceil_mode)');
  const stride = use.ints('strides') ?? [1, 1];
  const pads = use.ints('pads') ?? [0, 0, 0, 0];
  need(stride.length === 2 && pads.length === 4, 'strides and padding must be of two axes');
  const isEven = pads[0] === pads[2] && pads[1] === pads[3];
  return {
    kernel: kernel as unknown as Pair,
    stride: stride as unknown as Pair,
    pads,
    isEven,
    padding: [pads[0]!, pads[1]!] as const,
  };
}

const padSides = (x: Tensor, [top, left, bottom, right]: readonly number[]) => {
  need(
    [top, left, bottom, right].every((size) => size! >= 0),
    'negative padding',
  );
  const rows = top! + bottom! > 0 ? op.pad(x, 2, top!, bottom!) : x;
  return left! + right! > 0 ? op.pad(rows, 3, left!, right!) : rows;
};

const conv: ImportRule = (use) => {
  const [x, weight] = [use.tensor(0), use.tensor(1)];
  const { stride, padding, pads, isEven } = window(use, x, weight.shape.slice(2));
  const groups = use.number('group', 1);
  need(groups >= 1, `${groups} groups`);
  const bias = use.has(2) ? use.tensor(2) : undefined;
  const [source, rest] = isEven ? [x, padding] : [padSides(x, pads), 0];
  return [traced(op.conv2d(source, weight, { stride, padding: rest, groups, bias }))];
};

const maxPool: ImportRule = (use) => {
  const x = use.tensor(0);
  const { kernel, stride, padding, isEven } = window(use, x, use.ints('kernel_shape') ?? []);
  need(isEven, 'padding that differs between the sides');
  need(use.node.outputs.length === 1, 'the places of the largest elements');
  return [traced(op.maxPool(x, kernel, { stride, padding }))];
};

const avgPool: ImportRule = (use) => {
  const x = use.tensor(0);
  const { kernel, stride, padding, pads, isEven } = window(use, x, use.ints('kernel_shape') ?? []);
  const counts = pads.every((size) => size === 0) || use.number('count_include_pad', 0) === 1;
  need(counts, 'means that leave the padding out', 'use count_include_pad=True, or padding=0');
  const [source, rest] = isEven ? [x, padding] : [padSides(x, pads), 0];
  return [traced(op.avgPool(source, kernel, { stride, padding: rest }))];
};

const batchNorm: ImportRule = (use) => {
  const [mean, variance] = [use.node.inputs[3] ?? '', use.node.inputs[4] ?? ''];
  const y = runningBatchNorm(use.context, use.node.name, use.tensor(0), {
    scale: use.tensor(1),
    shift: use.tensor(2),
    runningMean: { name: mean, tensor: use.tensor(3) },
    runningVariance: { name: variance, tensor: use.tensor(4) },
    // The file says what is kept of them.
    momentum: 1 - use.number('momentum', 0.9),
    epsilon: use.number('epsilon', 1e-5),
  });
  return [traced(y), traced(use.tensor(3)), traced(use.tensor(4))];
};

const lastAxisOnly = (use: ImportedUse) => {
  const rank = use.shape(0).length;
  need(use.axis(-1, rank) === rank - 1, 'a norm over more than the last axis');
};

const layerNorm: ImportRule = (use) => {
  lastAxisOnly(use);
  const x = use.tensor(0);
  const shift = use.has(2) ? use.tensor(2) : op.full(x, [x.shape.at(-1)!], 0);
  return [traced(op.layerNorm(x, use.tensor(1), shift, use.number('epsilon', 1e-5)))];
};

/** A group for each channel. */
const instanceNorm: ImportRule = (use) => {
  const x = use.tensor(0);
  need(x.shape.length >= 3, `a norm over [${x.shape}]`);
  return [traced(op.groupNorm(x, use.tensor(1), use.tensor(2), x.shape[1]!, use.number('epsilon', 1e-5)))];
};

const dropout: ImportRule = (use) => {
  const rate = use.has(1) ? use.constant(1).data[0]! : 0.5;
  need(rate >= 0 && rate < 1, `a dropout of ${rate}`);
  const x = use.tensor(0);
  const y = traced(use.context.dropout(x, rate));
  return use.node.outputs.map(() => y);
};

/** From [input, output, forget, cell], the file's order, to ours. */
function ordered(x: Tensor, axis: number, start: number, size: number): Tensor {
  const [i, o, f, c] = [0, 1, 2, 3].map((gate) => slice(x, axis, start + gate * size, size));
  return concat([i!, f!, c!, o!], axis);
}

const lstm: ImportRule = (use) => {
  const [x, wide, recurrent] = [use.tensor(0), use.tensor(1), use.tensor(2)];
  const hidden = use.number('hidden_size', 0);
  need((use.text('direction') ?? 'forward') === 'forward' && wide.shape[0] === 1, 'an LSTM that reads backwards too');
  need(
    use.number('layout', 0) === 0 && !use.has(4) && !use.has(7),
    'lengths of sequences, another layout or peepholes',
  );
  need(use.ints('activations') === undefined && x.shape.length === 3 && hidden >= 1, 'other activations');
  need(wide.shape[1] === 4 * hidden && recurrent.shape[1] === 4 * hidden, `weights that do not fit ${hidden} cells`);
  const batch = x.shape[1]!;
  const weight = (source: Tensor) => reshape(ordered(source, 1, 0, hidden), source.shape.slice(1));
  const bias = (at: number): Tensor =>
    use.has(3) ? reshape(ordered(use.tensor(3), 1, at, hidden), [4 * hidden]) : op.full(x, [4 * hidden], 0);
  const state = (i: number): Tensor => {
    const given = use.inputs[i];
    // Zeros may have been written down for another batch.
    if (given === undefined || (given.kind === 'known' && given.constant.data.every((value) => value === 0)))
      return op.full(x, [batch, hidden], 0);
    return reshape(use.tensor(i), [batch, hidden]);
  };
  const { y, h, c } = op.lstm(x, state(5), state(6), {
    weightInput: weight(wide),
    weightHidden: weight(recurrent),
    biasInput: bias(0),
    biasHidden: bias(4 * hidden),
  });
  return [
    traced(reshape(y, [x.shape[0]!, 1, batch, hidden])),
    traced(reshape(h, [1, batch, hidden])),
    traced(reshape(c, [1, batch, hidden])),
  ];
};

export const layerRules: Readonly<Record<string, ImportRule>> = {
  Conv: conv,
  MaxPool: maxPool,
  AveragePool: avgPool,
  BatchNormalization: batchNorm,
  LayerNormalization: layerNorm,
  InstanceNormalization: instanceNorm,
  Dropout: dropout,
  LSTM: lstm,
};
