/**
 * A program is plain data: typed inputs, a list of nodes in order, named outputs. Tracing makes it (trace.ts), gradients
 * extend it (gradient.ts), a backend runs it (backend.ts).
 */

/** Labels, tokens and dropout keys are int32; everything differentiable is float32. */
export type DType = 'float32' | 'int32';
export type Shape = readonly number[];
export interface TensorType {
  readonly dtype: DType;
  readonly shape: Shape;
}

export const f32 = (...shape: number[]): TensorType => ({ dtype: 'float32', shape });
export const i32 = (...shape: number[]): TensorType => ({ dtype: 'int32', shape });

/** A place in the tuples below; `Each` puts a type there, so that rules know the arity of their op. */
type Arg = 0;
export type Each<Args extends readonly unknown[], T> = { readonly [I in keyof Args]: T };

type None = Readonly<Record<never, never>>;
interface Op<
  Inputs extends readonly (Arg | undefined)[],
  Outputs extends readonly Arg[] = [y: Arg],
  Attributes = None,
> {
  readonly inputs: Inputs;
  readonly outputs: Outputs;
  readonly attributes: Readonly<Attributes>;
}

type Unary = Op<[x: Arg]>;
type Binary = Op<[a: Arg, b: Arg]>;
/** [height, width] */
export type Pair = readonly [number, number];
export interface Window {
  readonly kernel: Pair;
  readonly stride: Pair;
  readonly padding: Pair;
}
export interface Convolution {
  readonly stride: Pair;
  readonly padding: Pair;
  readonly groups: number;
}
/** Of a reduction; `keep` leaves axes of size 1. */
interface Axes {
  readonly axes: readonly number[];
  readonly keep: boolean;
}
interface Transposed {
  readonly transposeA: boolean;
  readonly transposeB: boolean;
}
/** The shape that cannot be derived from the inputs of a backward op. */
interface Of {
  readonly shape: Shape;
}

/**
 * Every op, with its inputs, outputs and attributes. Shape rules, gradient rules, the float64 reference and each
 * backend's lowering are tables over these keys: an op that lacks one of them does not compile. Backward ops stay whole,
 * so that each backend lowers them its own way. Images are [batch, channel, height, width].
 */
export interface Ops {
  constant: Op<[], [y: Arg], { readonly value: number; readonly shape: Shape }>;
  /** A tensor that is known in advance, such as a mask. */
  literal: Op<[], [y: Arg], { readonly values: readonly number[]; readonly shape: Shape }>;

  // Elementwise; the binary ones broadcast as NumPy does.
  add: Binary;
  sub: Binary;
  mul: Binary;
  div: Binary;
  minimum: Binary;
  maximum: Binary;
  sqrt: Unary;
  relu: Unary;
  reluGrad: Op<[dy: Arg, y: Arg]>;
  tanh: Unary;
  tanhGrad: Op<[dy: Arg, y: Arg]>;
  sigmoid: Unary;
  sigmoidGrad: Op<[dy: Arg, y: Arg]>;
  gelu: Unary;
  geluGrad: Op<[dy: Arg, x: Arg]>;
  /** 1 − base^x without the cancellation of float32: Adam's bias correction. */
  oneMinusPower: Op<[x: Arg], [y: Arg], { readonly base: number }>;

  // Shape.
  reshape: Op<[x: Arg], [y: Arg], Of>;
  transpose: Op<[x: Arg], [y: Arg], { readonly permutation: readonly number[] }>;
  broadcast: Op<[x: Arg], [y: Arg], Of>;
  concat: Op<readonly Arg[], [y: Arg], { readonly axis: number }>;
  slice: Op<[x: Arg], [y: Arg], { readonly axis: number; readonly start: number; readonly size: number }>;
  /** All of x in consecutive parts along one axis. */
  split: Op<[x: Arg], readonly Arg[], { readonly axis: number; readonly sizes: readonly number[] }>;
  /** Zeros before and after along one axis. */
  pad: Op<[x: Arg], [y: Arg], { readonly axis: number; readonly before: number; readonly after: number }>;

  // Reductions.
  sum: Op<[x: Arg], [y: Arg], Axes>;
  /** Σx² over all elements, a scalar. */
  squaredNorm: Unary;

  // Linear.
  matmul: Op<[a: Arg, b: Arg, bias?: Arg], [y: Arg], Transposed>;
  /** A product of the last two axes for each place along the axes before, which a and b share. */
  batchMatmul: Op<[a: Arg, b: Arg], [y: Arg], Transposed>;
  conv2d: Op<[x: Arg, weight: Arg, bias?: Arg], [y: Arg], Convolution>;
  convGradInput: Op<[dy: Arg, weight: Arg], [dx: Arg], Convolution & Of>;
  convGradWeight: Op<[dy: Arg, x: Arg], [dweight: Arg], Convolution & Of>;

  // Pooling.
  maxPool: Op<[x: Arg], [y: Arg], Window>;
  /** Each window's gradient goes to its first largest element. */
  maxPoolGrad: Op<[dy: Arg, x: Arg, y: Arg], [dx: Arg], Window>;
  /** The padding counts as zeros in the mean. */
  avgPool: Op<[x: Arg], [y: Arg], Window>;
  avgPoolGrad: Op<[dy: Arg], [dx: Arg], Window & Of>;

  // Normalisation; variances are the biased ones.
  batchNorm: Op<[x: Arg, scale: Arg, shift: Arg], [y: Arg, mean: Arg, variance: Arg], { readonly epsilon: number }>;
  batchNormGrad: Op<
    [dy: Arg, x: Arg, scale: Arg, mean: Arg, variance: Arg],
    [dx: Arg, dscale: Arg, dshift: Arg],
    { readonly epsilon: number }
  >;
  batchNormInference: Op<
    [x: Arg, scale: Arg, shift: Arg, mean: Arg, variance: Arg],
    [y: Arg],
    { readonly epsilon: number }
  >;
  /** Over the last axis. */
  layerNorm: Op<
    [x: Arg, scale: Arg, shift: Arg],
    [y: Arg, mean: Arg, inverseDeviation: Arg],
    { readonly epsilon: number }
  >;
  layerNormGrad: Op<
    [dy: Arg, x: Arg, scale: Arg, mean: Arg, inverseDeviation: Arg],
    [dx: Arg, dscale: Arg, dshift: Arg]
  >;
  groupNorm: Op<
    [x: Arg, scale: Arg, shift: Arg],
    [y: Arg, mean: Arg, inverseDeviation: Arg],
    { readonly epsilon: number; readonly groups: number }
  >;
  groupNormGrad: Op<
    [dy: Arg, x: Arg, scale: Arg, mean: Arg, inverseDeviation: Arg],
    [dx: Arg, dscale: Arg, dshift: Arg]
  >;

  /**
   * 0 with probability `rate`, else 1/(1−rate): a pure function of (key, salt, element), see mask.ts. The key is drawn per
   * (seed, replica, step), the salt tells the masks of one step apart.
   */
  dropoutMask: Op<[key: Arg], [mask: Arg], { readonly rate: number; readonly salt: number; readonly shape: Shape }>;

  /** Over the last axis; `causal`: of the last two, [time, time], each row sees the elements up to its own place, the others are 0. */
  softmax: Op<[x: Arg], [y: Arg], { readonly causal: boolean }>;
  softmaxGrad: Op<[dy: Arg, y: Arg], [dx: Arg], { readonly causal: boolean }>;

  embedding: Op<[table: Arg, indices: Arg]>;
  embeddingGrad: Op<[dy: Arg, indices: Arg], [dtable: Arg], { readonly rows: number }>;

  /** Logits [n, classes], labels [n] → loss of each sample [n]. */
  softmaxCrossEntropy: Op<[logits: Arg, labels: Arg], [loss: Arg, logProbabilities: Arg]>;
  softmaxCrossEntropyGrad: Op<[dloss: Arg, logProbabilities: Arg, labels: Arg], [dlogits: Arg]>;
  /** 1 where the label is among the k largest logits; ties go to the smaller class. */
  topKCorrect: Op<[logits: Arg, labels: Arg], [correct: Arg], { readonly k: number }>;

  /**
   * One layer over all of time: x [T,B,I], weights [4H,·] in PyTorch's order of gates (input, forget, cell, output).
   * Gates (activated) and cells are what the gradient needs.
   */
  lstm: Op<
    [x: Arg, h0: Arg, c0: Arg, weightInput: Arg, weightHidden: Arg, biasInput: Arg, biasHidden: Arg],
    [y: Arg, h: Arg, c: Arg, gates: Arg, cells: Arg]
  >;
  /** The two biases have the same gradient. */
  lstmGrad: Op<
    [
      dy: Arg,
      dh: Arg,
      dc: Arg,
      x: Arg,
      h0: Arg,
      c0: Arg,
      weightInput: Arg,
      weightHidden: Arg,
      y: Arg,
      gates: Arg,
      cells: Arg,
    ],
    [dx: Arg, dh0: Arg, dc0: Arg, dweightInput: Arg, dweightHidden: Arg, dbias: Arg]
  >;
}

export type OpKind = keyof Ops;
export type Attributes<K extends OpKind> = Ops[K]['attributes'];
export type Inputs<K extends OpKind, T> = Each<Ops[K]['inputs'], T>;
export type Outputs<K extends OpKind, T> = Each<Ops[K]['outputs'], T>;

/** An index into `Program.types`. */
export type Value = number;

export interface Node<K extends OpKind = OpKind> {
  readonly op: K;
  readonly attributes: Attributes<K>;
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
}

export interface Named {
  readonly name: string;
  readonly value: Value;
}

export interface Program {
  readonly types: readonly TensorType[];
  readonly inputs: readonly Named[];
  readonly nodes: readonly Node[];
  readonly outputs: readonly Named[];
}
