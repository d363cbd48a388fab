import { suggest, UserError } from '../base/error.ts';
import { sizeOf } from '../base/shape.ts';
import {
  type Attributes,
  f32,
  type Inputs,
  type OpKind,
  type Outputs,
  type Pair,
  type Shape,
  type TensorType,
} from './program.ts';
import { wholeInputs } from './whole.ts';

type ShapeRule<K extends OpKind> = (inputs: Inputs<K, Shape>, attributes: Attributes<K>) => Outputs<K, Shape>;

/** What is wrong, without the op and the shapes: `typesOf` knows them. */
class Mismatch extends Error {}

function expect(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Mismatch(message);
}

const same = (a: Shape, b: Shape) => a.length === b.length && a.every((size, axis) => size === b[axis]);

function rank(shape: Shape, wanted: number, name: string): void {
  expect(shape.length === wanted, `${name} must have ${wanted} axes`);
}

/** The common shape of two operands, as NumPy broadcasts. */
export function broadcastShape(a: Shape, b: Shape): Shape {
  const length = Math.max(a.length, b.length);
  return Array.from({ length }, (_, axis) => {
    const [left, right] = [a[axis - length + a.length] ?? 1, b[axis - length + b.length] ?? 1];
    expect(left === right || left === 1 || right === 1, 'shapes do not broadcast');
    return left === 1 ? right : left;
  });
}

const binary = ([a, b]: readonly [Shape, Shape]): [Shape] => [broadcastShape(a, b)];
const unary = ([x]: readonly [Shape]): [Shape] => [x];
const elementwiseGrad = ([dy, y]: readonly [Shape, Shape]): [Shape] => {
  expect(same(dy, y), 'gradient and value differ in shape');
  return [y];
};

/** Sizes of a window's output along height and width. */
function windows(size: Pair, kernel: Pair, stride: Pair, padding: Pair): Pair {
  const along = (axis: 0 | 1) => {
    expect(stride[axis] >= 1 && kernel[axis] >= 1 && padding[axis] >= 0, 'kernel and stride must be at least 1');
    const count = Math.floor((size[axis] + 2 * padding[axis] - kernel[axis]) / stride[axis]) + 1;
    expect(count >= 1, `the window ${kernel.join('×')} is larger than the padded image`);
    return count;
  };
  return [along(0), along(1)];
}

const spatial = (shape: Shape): Pair => [shape[2]!, shape[3]!];

const pool: ShapeRule<'maxPool' | 'avgPool'> = ([x], { kernel, stride, padding }) => {
  rank(x, 4, 'x');
  // As PyTorch: a window must not lie wholly in the padding.
  expect(padding[0] * 2 <= kernel[0] && padding[1] * 2 <= kernel[1], 'padding must be at most half the kernel');
  return [[x[0]!, x[1]!, ...windows(spatial(x), kernel, stride, padding)]];
};

function channelwise(x: Shape, ...vectors: Shape[]): void {
  expect(x.length >= 2, 'x needs a channel axis');
  expect(
    vectors.every((vector) => same(vector, [x[1]!])),
    `scale, shift and statistics must have one element for each of the ${x[1]} channels`,
  );
}

function lastAxis(x: Shape, ...vectors: Shape[]): void {
  expect(x.length >= 1, 'x needs an axis');
  expect(
    vectors.every((vector) => same(vector, [x.at(-1)!])),
    `scale and shift must have ${x.at(-1)} elements`,
  );
}

/** Rows and columns of a product of the last two axes. */
function product(a: Shape, b: Shape, transposeA: boolean, transposeB: boolean): Pair {
  const [rows, inner] = transposeA ? [a.at(-1)!, a.at(-2)!] : [a.at(-2)!, a.at(-1)!];
  const [depth, columns] = transposeB ? [b.at(-1)!, b.at(-2)!] : [b.at(-2)!, b.at(-1)!];
  expect(inner === depth, 'inner sizes differ');
  return [rows, columns];
}

function square(x: Shape): void {
  expect(x.length >= 2 && x.at(-1) === x.at(-2), 'the last two axes of a causal softmax must have one size');
}

function labelled(logits: Shape, labels: Shape): void {
  rank(logits, 2, 'logits');
  expect(same(labels, [logits[0]!]), 'one label for each row of logits');
}

export const shapeRules: { readonly [K in OpKind]: ShapeRule<K> } = {
  constant: (_, { shape }) => [shape],
  literal: (_, { values, shape }) => {
    expect(values.length === sizeOf(shape), `${values.length} values do not fill [${shape}]`);
    return [shape];
  },

  add: binary,
  sub: binary,
  mul: binary,
  div: binary,
  minimum: binary,
  maximum: binary,
  sqrt: unary,
  relu: unary,
  reluGrad: elementwiseGrad,
  tanh: unary,
  tanhGrad: elementwiseGrad,
  sigmoid: unary,
  sigmoidGrad: elementwiseGrad,
  gelu: unary,
  geluGrad: elementwiseGrad,
  oneMinusPower: unary,

  reshape: ([x], { shape }) => {
    expect(sizeOf(x) === sizeOf(shape), `${sizeOf(x)} elements do not fill [${shape}]`);
    return [shape];
  },
  transpose: ([x], { permutation }) => {
    expect(same([...permutation].sort(), [...x.keys()]), `[${permutation}] is no order of the axes`);
    return [permutation.map((axis) => x[axis]!)];
  },
  broadcast: ([x], { shape }) => {
    expect(same(broadcastShape(x, shape), shape), `cannot broadcast to [${shape}]`);
    return [shape];
  },
  concat: (inputs, { axis }) => {
    const first = inputs[0];
    expect(first !== undefined && axis >= 0 && axis < first.length, `no axis ${axis} to join`);
    const other = (shape: Shape) => shape.toSpliced(axis, 1);
    expect(
      inputs.every((shape) => same(other(shape), other(first))),
      `shapes differ outside axis ${axis}`,
    );
    return [
      first.with(
        axis,
        inputs.reduce((sum, shape) => sum + shape[axis]!, 0),
      ),
    ];
  },
  slice: ([x], { axis, start, size }) => {
    expect(
      axis < x.length && start >= 0 && size >= 1 && start + size <= x[axis]!,
      `no [${start}, ${start + size}) there`,
    );
    return [x.with(axis, size)];
  },
  split: ([x], { axis, sizes }) => {
    const total = sizes.reduce((sum, size) => sum + size, 0);
    expect(axis < x.length && sizes.every((size) => size >= 1) && total === x[axis], `no parts [${sizes}] there`);
    return sizes.map((size) => x.with(axis, size));
  },
  pad: ([x], { axis, before, after }) => {
    expect(axis < x.length && before >= 0 && after >= 0, `cannot pad axis ${axis} by ${before} and ${after}`);
    return [x.with(axis, before + x[axis]! + after)];
  },

  sum: ([x], { axes, keep }) => {
    expect(
      axes.every((axis) => axis >= 0 && axis < x.length),
      `no axes [${axes}]`,
    );
    return [
      keep ? x.map((size, axis) => (axes.includes(axis) ? 1 : size)) : x.filter((_, axis) => !axes.includes(axis)),
    ];
  },
  squaredNorm: () => [[]],

  matmul: ([a, b, bias], { transposeA, transposeB }) => {
    rank(a, 2, 'a');
    rank(b, 2, 'b');
    const [rows, columns] = product(a, b, transposeA, transposeB);
    expect(bias === undefined || same(bias, [columns]), `bias must have ${columns} elements`);
    return [[rows, columns]];
  },
  batchMatmul: ([a, b], { transposeA, transposeB }) => {
    const batch = a.slice(0, -2);
    expect(batch.length >= 1 && same(batch, b.slice(0, -2)), 'the axes before the last two must be there and equal');
    return [[...batch, ...product(a, b, transposeA, transposeB)]];
  },
  conv2d: ([x, weight, bias], { stride, padding, groups }) => {
    rank(x, 4, 'x');
    rank(weight, 4, 'weight');
    const [channels, filters] = [x[1]!, weight[0]!];
    expect(filters % groups === 0 && channels === weight[1]! * groups, `channels do not match in ${groups} groups`);
    expect(bias === undefined || same(bias, [filters]), `bias must have ${filters} elements`);
    return [[x[0]!, filters, ...windows(spatial(x), spatial(weight), stride, padding)]];
  },
  convGradInput: ([dy, weight], { shape, ...convolution }) => {
    expect(same(shapeRules.conv2d([shape, weight], convolution)[0], dy), 'dy is no output of this convolution');
    return [shape];
  },
  convGradWeight: ([dy, x], { shape, ...convolution }) => {
    expect(same(shapeRules.conv2d([x, shape], convolution)[0], dy), 'dy is no output of this convolution');
    return [shape];
  },

  maxPool: pool,
  maxPoolGrad: ([dy, x, y], window) => {
    expect(same(pool([x], window)[0], dy) && same(dy, y), 'dy is no output of this pooling');
    return [x];
  },
  avgPool: pool,
  avgPoolGrad: ([dy], { shape, ...window }) => {
    expect(same(pool([shape], window)[0], dy), 'dy is no output of this pooling');
    return [shape];
  },

  batchNorm: ([x, scale, shift]) => {
    channelwise(x, scale, shift);
    return [x, scale, scale];
  },
  batchNormGrad: ([dy, x, scale, mean, variance]) => {
    channelwise(x, scale, mean, variance);
    expect(same(dy, x), 'dy and x differ in shape');
    return [x, scale, scale];
  },
  batchNormInference: ([x, scale, shift, mean, variance]) => {
    channelwise(x, scale, shift, mean, variance);
    return [x];
  },
  layerNorm: ([x, scale, shift]) => {
    lastAxis(x, scale, shift);
    return [x, x.with(-1, 1), x.with(-1, 1)];
  },
  layerNormGrad: ([dy, x, scale]) => {
    lastAxis(x, scale);
    expect(same(dy, x), 'dy and x differ in shape');
    return [x, scale, scale];
  },
  groupNorm: ([x, scale, shift], { groups }) => {
    channelwise(x, scale, shift);
    expect(x[1]! % groups === 0, `${x[1]} channels do not divide into ${groups} groups`);
    return [x, [x[0]!, groups], [x[0]!, groups]];
  },
  groupNormGrad: ([dy, x, scale]) => {
    channelwise(x, scale);
    expect(same(dy, x), 'dy and x differ in shape');
    return [x, scale, scale];
  },

  dropoutMask: ([key], { rate, shape }) => {
    expect(same(key, [2]), 'the key must have two words');
    expect(rate >= 0 && rate < 1, `the rate must be in [0, 1), not ${rate}`);
    return [shape];
  },

  softmax: ([x], { causal }) => {
    expect(x.length >= 1, 'x needs an axis');
    if (causal) square(x);
    return [x];
  },
  softmaxGrad: ([dy, y], { causal }) => {
    if (causal) square(y);
    return elementwiseGrad([dy, y]);
  },

  embedding: ([table, indices]) => {
    rank(table, 2, 'table');
    return [[...indices, table[1]!]];
  },
  embeddingGrad: ([dy, indices], { rows }) => {
    expect(same(dy.slice(0, -1), indices), 'dy and indices differ in shape');
    return [[rows, dy.at(-1)!]];
  },

  softmaxCrossEntropy: ([logits, labels]) => {
    labelled(logits, labels);
    return [labels, logits];
  },
  softmaxCrossEntropyGrad: ([dloss, logProbabilities, labels]) => {
    labelled(logProbabilities, labels);
    expect(same(dloss, labels), 'one gradient for each label');
    return [logProbabilities];
  },
  topKCorrect: ([logits, labels], { k }) => {
    labelled(logits, labels);
    expect(k >= 1 && k <= logits[1]!, `k must be from 1 to ${logits[1]}, not ${k}`);
    return [labels];
  },

  lstm: ([x, h0, c0, weightInput, weightHidden, biasInput, biasHidden]) => {
    rank(x, 3, 'x');
    rank(h0, 2, 'h0');
    const [time, batch, width] = x as [number, number, number];
    const hidden = h0[1]!;
    expect(same(h0, [batch, hidden]) && same(c0, h0), `h0 and c0 must be [${batch}, hidden]`);
    expect(same(weightInput, [4 * hidden, width]), `the input weight must be [${4 * hidden},${width}]`);
    expect(same(weightHidden, [4 * hidden, hidden]), `the hidden weight must be [${4 * hidden},${hidden}]`);
    expect(same(biasInput, [4 * hidden]) && same(biasHidden, biasInput), `the biases must be [${4 * hidden}]`);
    return [[time, batch, hidden], h0, h0, [time, batch, 4 * hidden], [time, batch, hidden]];
  },
  lstmGrad: ([dy, dh, dc, x, h0, c0, weightInput, weightHidden, y, gates, cells]) => {
    const bias = [weightInput[0]!];
    const expected = shapeRules.lstm([x, h0, c0, weightInput, weightHidden, bias, bias], {});
    const given = [y, dh, dc, gates, cells];
    expect(same(dy, y) && expected.every((shape, i) => same(shape, given[i]!)), 'not the outputs of this layer');
    return [x, h0, c0, weightInput, weightHidden, bias];
  },
};

/** The types an op yields; throws a UserError that names the op and the shapes. */
export function typesOf<K extends OpKind>(
  op: K,
  inputs: readonly TensorType[],
  attributes: Attributes<K>,
): readonly TensorType[] {
  if (!Object.hasOwn(shapeRules, op))
    throw new UserError(`unknown op "${op}"`, { hint: suggest(op, Object.keys(shapeRules)) });
  const shapes = inputs.map(({ shape }) => shape);
  try {
    inputs.forEach(({ dtype }, i) => {
      // Labels and tokens may be reshaped; nothing else is computed with them.
      const wanted = op === 'reshape' ? dtype : wholeInputs[op].some(({ input }) => input === i) ? 'int32' : 'float32';
      expect(dtype === wanted, `input ${i} must be ${wanted}, not ${dtype}`);
    });
    const rule = shapeRules[op] as (inputs: readonly Shape[], attributes: Attributes<K>) => readonly Shape[];
    const results = rule(shapes, attributes);
    return op === 'reshape' ? [{ dtype: inputs[0]!.dtype, shape: results[0]! }] : results.map((shape) => f32(...shape));
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    throw new UserError(`${op}: ${error.message}: ${shapes.map((shape) => `[${shape}]`).join(' × ')}`);
  }
}
