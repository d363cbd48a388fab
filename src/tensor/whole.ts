import type { OpKind } from './program.ts';

/** An input that holds whole numbers. */
interface WholeInput {
  readonly input: number;
  /** Of the first input: its numbers are places along this axis, and what they are called. */
  readonly axis?: number;
  readonly what?: 'labels' | 'indices';
}

const none: readonly WholeInput[] = [];

/** The inputs of each op that hold whole numbers; all others are float32. A gradient's were checked when its op ran. */
export const wholeInputs: { readonly [K in OpKind]: readonly WholeInput[] } = {
  constant: none,
  literal: none,
  add: none,
  sub: none,
  mul: none,
  div: none,
  minimum: none,
  maximum: none,
  sqrt: none,
  relu: none,
  reluGrad: none,
  tanh: none,
  tanhGrad: none,
  sigmoid: none,
  sigmoidGrad: none,
  gelu: none,
  geluGrad: none,
  oneMinusPower: none,
  reshape: none,
  transpose: none,
  broadcast: none,
  concat: none,
  slice: none,
  split: none,
  pad: none,
  sum: none,
  squaredNorm: none,
  matmul: none,
  batchMatmul: none,
  conv2d: none,
  convGradInput: none,
  convGradWeight: none,
  maxPool: none,
  maxPoolGrad: none,
  avgPool: none,
  avgPoolGrad: none,
  batchNorm: none,
  batchNormGrad: none,
  batchNormInference: none,
  layerNorm: none,
  layerNormGrad: none,
  groupNorm: none,
  groupNormGrad: none,
  softmax: none,
  softmaxGrad: none,
  dropoutMask: [{ input: 0 }],
  embedding: [{ input: 1, axis: 0, what: 'indices' }],
  embeddingGrad: [{ input: 1 }],
  softmaxCrossEntropy: [{ input: 1, axis: 1, what: 'labels' }],
  softmaxCrossEntropyGrad: [{ input: 2 }],
  topKCorrect: [{ input: 1, axis: 1, what: 'labels' }],
  lstm: none,
  lstmGrad: none,
};
