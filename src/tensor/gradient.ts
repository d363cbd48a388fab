import { UserError } from '../base/error.ts';
import { sizeOf } from '../base/shape.ts';
import {
  add,
  batchMatmul,
  broadcast,
  concat,
  div,
  full,
  matmul,
  mul,
  pad,
  reshape,
  slice,
  sum,
  transpose,
} from './operations.ts';
import type { Attributes, Inputs, Node, OpKind, Outputs, Shape, Value } from './program.ts';
import type { Tensor } from './trace.ts';

/** One use of an op on the way from the loss back to the parameters. */
interface Use<K extends OpKind> {
  readonly inputs: Inputs<K, Tensor>;
  readonly outputs: Outputs<K, Tensor>;
  readonly attributes: Attributes<K>;
  /** Of the loss by each output; undefined where the loss does not depend on it. */
  readonly gradients: Outputs<K, Tensor | undefined>;
}

/** Gradients by each input (undefined: none flows there), or the reason why there is no rule. */
type GradientRule<K extends OpKind> = ((use: Use<K>) => Inputs<K, Tensor | undefined>) | string;

const backward = 'it is itself part of a gradient, and gradients of gradients are not supported';

/** The gradient by an operand that was broadcast: summed over the axes along which it was repeated. */
function sumTo(gradient: Tensor, shape: Shape): Tensor {
  const extra = gradient.shape.length - shape.length;
  const axes = [...gradient.shape.keys()].filter(
    (axis) => axis < extra || (shape[axis - extra] === 1 && gradient.shape[axis] !== 1),
  );
  return reshape(sum(gradient, axes), shape);
}

/** For ops with one output, which is reached whenever the rule is asked. */
const only = <K extends OpKind>(use: Use<K>): Tensor => (use.gradients as readonly (Tensor | undefined)[])[0]!;

const zerosLike = (x: Tensor): Tensor => full(x, x.shape, 0);

/** Elementwise ops whose gradient op takes what was computed. */
const fromOutput =
  (op: 'reluGrad' | 'tanhGrad' | 'sigmoidGrad') =>
  (use: Use<'relu' | 'tanh' | 'sigmoid'>): [Tensor] => [only(use).trace.emit(op, [only(use), use.outputs[0]], {})[0]];

function differentiableOutput<K extends OpKind>(op: K, { gradients }: Use<K>): Tensor {
  const [dy, ...others] = gradients as readonly (Tensor | undefined)[];
  if (dy === undefined || others.some((gradient) => gradient !== undefined))
    throw new UserError(`${op}: only its first output is differentiable`);
  return dy;
}

/** Of a product by both of its factors, each as it lies in memory. */
function productGradients(
  product: typeof matmul | typeof batchMatmul,
  use: Use<'matmul' | 'batchMatmul'>,
): [Tensor, Tensor] {
  const [a, b] = use.inputs;
  const dy = only(use);
  const { transposeA, transposeB } = use.attributes;
  return [
    transposeA
      ? product(b, dy, { transposeA: transposeB, transposeB: true })
      : product(dy, b, { transposeB: !transposeB }),
    transposeB
      ? product(dy, a, { transposeA: true, transposeB: transposeA })
      : product(a, dy, { transposeA: !transposeA }),
  ];
}

export const gradientRules: { readonly [K in OpKind]: GradientRule<K> } = {
  constant: () => [],
  literal: () => [],

  add: (use) => [sumTo(only(use), use.inputs[0].shape), sumTo(only(use), use.inputs[1].shape)],
  sub: (use) => [sumTo(only(use), use.inputs[0].shape), sumTo(mul(only(use), -1), use.inputs[1].shape)],
  mul: (use) => {
    const [a, b] = use.inputs;
    return [sumTo(mul(only(use), b), a.shape), sumTo(mul(only(use), a), b.shape)];
  },
  div: (use) => {
    const [a, b] = use.inputs;
    const da = div(only(use), b);
    return [sumTo(da, a.shape), sumTo(mul(mul(da, use.outputs[0]), -1), b.shape)];
  },
  minimum: 'it has a kink; use relu',
  maximum: 'it has a kink; use relu',
  sqrt: (use) => [div(mul(only(use), 0.5), use.outputs[0])],
  relu: fromOutput('reluGrad'),
  reluGrad: backward,
  tanh: fromOutput('tanhGrad'),
  tanhGrad: backward,
  sigmoid: fromOutput('sigmoidGrad'),
  sigmoidGrad: backward,
  gelu: (use) => [only(use).trace.emit('geluGrad', [only(use), use.inputs[0]], {})[0]],
  geluGrad: backward,
  oneMinusPower: 'it is meant for step counts',

  reshape: (use) => [reshape(only(use), use.inputs[0].shape)],
  transpose: (use) => {
    const { permutation } = use.attributes;
    return [
      transpose(
        only(use),
        [...permutation.keys()].map((axis) => permutation.indexOf(axis)),
      ),
    ];
  },
  broadcast: (use) => [sumTo(only(use), use.inputs[0].shape)],
  concat: (use) => {
    const { axis } = use.attributes;
    let start = 0;
    return use.inputs.map(({ shape }) => {
      const part = slice(only(use), axis, start, shape[axis]!);
      start += shape[axis]!;
      return part;
    });
  },
  slice: (use) => {
    const { axis, start, size } = use.attributes;
    return [pad(only(use), axis, start, use.inputs[0].shape[axis]! - start - size)];
  },
  split: (use) => {
    const parts = use.outputs.map((part, i) => use.gradients[i] ?? zerosLike(part));
    return [concat(parts as [Tensor, ...Tensor[]], use.attributes.axis)];
  },
  pad: (use) => {
    const { axis, before } = use.attributes;
    return [slice(only(use), axis, before, use.inputs[0].shape[axis]!)];
  },

  sum: (use) => {
    const { shape } = use.inputs[0];
    const kept = shape.map((size, axis) => (use.attributes.axes.includes(axis) ? 1 : size));
    return [broadcast(reshape(only(use), kept), shape)];
  },
  squaredNorm: (use) => [mul(use.inputs[0], mul(only(use), 2))],

  matmul: (use) => [...productGradients(matmul, use), use.inputs[2] && sum(only(use), [0])],
  batchMatmul: (use) => productGradients(batchMatmul, use),
  conv2d: (use) => {
    const [x, weight, bias] = use.inputs;
    const dy = only(use);
    return [
      dy.trace.emit('convGradInput', [dy, weight], { ...use.attributes, shape: x.shape })[0],
      dy.trace.emit('convGradWeight', [dy, x], { ...use.attributes, shape: weight.shape })[0],
      bias && sum(dy, [0, 2, 3]),
    ];
  },
  convGradInput: backward,
  convGradWeight: backward,

  maxPool: (use) => [
    only(use).trace.emit('maxPoolGrad', [only(use), use.inputs[0], use.outputs[0]], use.attributes)[0],
  ],
  maxPoolGrad: backward,
  avgPool: (use) => [
    only(use).trace.emit('avgPoolGrad', [only(use)], { ...use.attributes, shape: use.inputs[0].shape })[0],
  ],
  avgPoolGrad: backward,

  batchNorm: (use) => {
    const dy = differentiableOutput('batchNorm', use);
    const [x, scale] = use.inputs;
    const [, mean, variance] = use.outputs;
    return dy.trace.emit('batchNormGrad', [dy, x, scale, mean, variance], use.attributes);
  },
  batchNormGrad: backward,
  batchNormInference: 'training uses batchNorm',
  layerNorm: (use) => {
    const dy = differentiableOutput('layerNorm', use);
    const [x, scale] = use.inputs;
    const [, mean, inverseDeviation] = use.outputs;
    return dy.trace.emit('layerNormGrad', [dy, x, scale, mean, inverseDeviation], {});
  },
  layerNormGrad: backward,
  groupNorm: (use) => {
    const dy = differentiableOutput('groupNorm', use);
    const [x, scale] = use.inputs;
    const [, mean, inverseDeviation] = use.outputs;
    return dy.trace.emit('groupNormGrad', [dy, x, scale, mean, inverseDeviation], {});
  },
  groupNormGrad: backward,

  dropoutMask: () => [undefined],

  softmax: (use) => [only(use).trace.emit('softmaxGrad', [only(use), use.outputs[0]], use.attributes)[0]],
  softmaxGrad: backward,

  embedding: (use) => {
    const [table, indices] = use.inputs;
    return [only(use).trace.emit('embeddingGrad', [only(use), indices], { rows: table.shape[0]! })[0], undefined];
  },
  embeddingGrad: backward,

  softmaxCrossEntropy: (use) => {
    const dloss = differentiableOutput('softmaxCrossEntropy', use);
    return [dloss.trace.emit('softmaxCrossEntropyGrad', [dloss, use.outputs[1], use.inputs[1]], {})[0], undefined];
  },
  softmaxCrossEntropyGrad: backward,
  topKCorrect: 'it counts',

  lstm: (use) => {
    const [x, h0, c0, weightInput, weightHidden] = use.inputs;
    const [y, h, c, gates, cells] = use.outputs;
    const [dy = zerosLike(y), dh = zerosLike(h), dc = zerosLike(c), dgates, dcells] = use.gradients;
    if (dgates ?? dcells) throw new UserError('lstm: gates and cells are not differentiable');
    const [dx, dh0, dc0, dweightInput, dweightHidden, dbias] = y.trace.emit(
      'lstmGrad',
      [dy, dh, dc, x, h0, c0, weightInput, weightHidden, y, gates, cells],
      {},
    );
    return [dx, dh0, dc0, dweightInput, dweightHidden, dbias, dbias];
  },
  lstmGrad: backward,
};

/**
 * The gradient of a scalar by each of the given tensors: reverse mode over the table above, appended to the same trace.
 * Tensors the loss does not depend on get zeros.
 */
export function gradients(loss: Tensor, by: readonly Tensor[]): Tensor[] {
  if (sizeOf(loss.shape) !== 1) throw new UserError(`gradients: the loss must be a scalar, not [${loss.shape}]`);
  const { trace } = loss;
  const nodes = [...trace.nodes];
  const dependent = new Set<Value>(by.map(({ value }) => value));
  for (const node of nodes)
    if (node.inputs.some((value) => dependent.has(value))) for (const value of node.outputs) dependent.add(value);

  const found = new Map<Value, Tensor>([[loss.value, full(loss, loss.shape, 1)]]);
  const accumulate = (value: Value, gradient: Tensor) => {
    const before = found.get(value);
    found.set(value, before ? add(before, gradient) : gradient);
  };
  for (const node of nodes.reverse()) {
    const reached = node.outputs.some((value) => found.has(value));
    if (!reached || !node.inputs.some((value) => dependent.has(value))) continue;
    const byInput = inputGradients(node, loss, found);
    node.inputs.forEach((value, i) => {
      const gradient = byInput[i];
      if (gradient && dependent.has(value)) accumulate(value, gradient);
    });
  }
  return by.map((tensor) => found.get(tensor.value) ?? zerosLike(tensor));
}

function inputGradients<K extends OpKind>(
  node: Node<K>,
  { trace }: Tensor,
  found: ReadonlyMap<Value, Tensor>,
): readonly (Tensor | undefined)[] {
  const rule = gradientRules[node.op] as GradientRule<K>;
  if (typeof rule === 'string') throw new UserError(`${node.op} has no gradient: ${rule}`);
  const tensors = (values: readonly Value[]) => values.map((value) => trace.tensor(value));
  return rule({
    inputs: tensors(node.inputs) as unknown as Inputs<K, Tensor>,
    outputs: tensors(node.outputs) as unknown as Outputs<K, Tensor>,
    attributes: node.attributes,
    gradients: node.outputs.map((value) => found.get(value)) as unknown as Outputs<K, Tensor | undefined>,
  }) as readonly (Tensor | undefined)[];
}
