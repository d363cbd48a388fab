import { sizeOf } from '../base/shape.ts';
import type { Node, OpKind, Program, Shape } from '../tensor/program.ts';

type Count = (inputs: readonly Shape[], outputs: readonly Shape[], node: Node) => number;

/** Each filter meets every output element of its channel once. */
const convolution = (output: Shape, weight: Shape) => (2 * sizeOf(output) * sizeOf(weight)) / weight[0]!;
const recurrence = ([time, batch]: Shape, input: Shape, hidden: Shape) =>
  2 * time! * batch! * (sizeOf(input) + sizeOf(hidden));

const product: Count = ([a], [y], { attributes }) =>
  2 * sizeOf(y!) * a!.at('transposeA' in attributes && attributes.transposeA ? -2 : -1)!;

const little: Count = () => 0;

/** Products and convolutions; all else is little beside them. */
const counts: { readonly [K in OpKind]: Count } = {
  constant: little,
  literal: little,
  add: little,
  sub: little,
  mul: little,
  div: little,
  minimum: little,
  maximum: little,
  sqrt: little,
  relu: little,
  reluGrad: little,
  tanh: little,
  tanhGrad: little,
  sigmoid: little,
  sigmoidGrad: little,
  gelu: little,
  geluGrad: little,
  oneMinusPower: little,
  reshape: little,
  transpose: little,
  broadcast: little,
  concat: little,
  slice: little,
  split: little,
  pad: little,
  sum: little,
  squaredNorm: little,
  maxPool: little,
  maxPoolGrad: little,
  avgPool: little,
  avgPoolGrad: little,
  batchNorm: little,
  batchNormGrad: little,
  batchNormInference: little,
  layerNorm: little,
  layerNormGrad: little,
  groupNorm: little,
  groupNormGrad: little,
  softmax: little,
  softmaxGrad: little,
  dropoutMask: little,
  embedding: little,
  embeddingGrad: little,
  softmaxCrossEntropy: little,
  softmaxCrossEntropyGrad: little,
  topKCorrect: little,
  matmul: product,
  batchMatmul: product,
  conv2d: ([, weight], [y]) => convolution(y!, weight!),
  convGradInput: ([dy, weight]) => convolution(dy!, weight!),
  convGradWeight: ([dy], [dweight]) => convolution(dy!, dweight!),
  lstm: ([x, , , input, hidden]) => recurrence(x!, input!, hidden!),
  lstmGrad: ([, , , x, , , input, hidden]) => 2 * recurrence(x!, input!, hidden!),
};

/** Floating-point operations of one run, a multiplication and an addition counted as two. */
export function flopsOf(program: Program): number {
  const shapes = (values: readonly number[]) => values.map((value) => program.types[value]!.shape);
  return program.nodes.reduce((sum, node) => sum + counts[node.op](shapes(node.inputs), shapes(node.outputs), node), 0);
}
