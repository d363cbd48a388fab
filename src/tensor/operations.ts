import { UserError } from '../base/error.ts';
import { sizeOf } from '../base/shape.ts';
import type { OpKind, Pair, Shape } from './program.ts';
import type { Tensor } from './trace.ts';

/** Functions on tensors: each appends to the trace of its arguments. */

type Operand = Tensor | number;

function binary(op: 'add' | 'sub' | 'mul' | 'div' | 'minimum' | 'maximum') {
  return (a: Operand, b: Operand): Tensor => {
    const { trace } = operand(a, b, op);
    const tensor = (x: Operand) => (typeof x === 'number' ? trace.emit('constant', [], { value: x, shape: [] })[0] : x);
    return trace.emit(op, [tensor(a), tensor(b)], {})[0];
  };
}

function operand(a: Operand, b: Operand, op: OpKind): Tensor {
  if (typeof a !== 'number') return a;
  if (typeof b !== 'number') return b;
  throw new UserError(`${op}: at least one operand must be a tensor, got ${a} and ${b}`);
}

export const add = binary('add');
export const sub = binary('sub');
export const mul = binary('mul');
export const div = binary('div');
export const minimum = binary('minimum');
export const maximum = binary('maximum');

const unary =
  (op: 'sqrt' | 'relu' | 'tanh' | 'sigmoid' | 'gelu' | 'squaredNorm') =>
  (x: Tensor): Tensor =>
    x.trace.emit(op, [x], {})[0];

export const sqrt = unary('sqrt');
export const relu = unary('relu');
export const tanh = unary('tanh');
export const sigmoid = unary('sigmoid');
/** x·Φ(x), the exact form with erf. */
export const gelu = unary('gelu');
/** Σx², a scalar. */
export const squaredNorm = unary('squaredNorm');

/** 1 − base^x */
export const oneMinusPower = (base: number, x: Tensor): Tensor => x.trace.emit('oneMinusPower', [x], { base })[0];

/** A tensor filled with one value, in the program of `like`. */
export const full = (like: Tensor, shape: Shape, value: number): Tensor =>
  like.trace.emit('constant', [], { value, shape })[0];

/** A tensor of known values, in the program of `like`. */
export const literal = (like: Tensor, shape: Shape, values: readonly number[]): Tensor =>
  like.trace.emit('literal', [], { values, shape })[0];

export const reshape = (x: Tensor, shape: Shape): Tensor =>
  sameShape(x.shape, shape) ? x : x.trace.emit('reshape', [x], { shape })[0];

/** Everything after the batch axis in one axis. */
export const flatten = (x: Tensor): Tensor => reshape(x, [x.shape[0]!, sizeOf(x.shape.slice(1))]);

export const transpose = (x: Tensor, permutation: readonly number[]): Tensor =>
  x.trace.emit('transpose', [x], { permutation })[0];

export const broadcast = (x: Tensor, shape: Shape): Tensor =>
  sameShape(x.shape, shape) ? x : x.trace.emit('broadcast', [x], { shape })[0];

export const concat = (tensors: readonly [Tensor, ...Tensor[]], axis: number): Tensor =>
  tensors.length === 1 ? tensors[0] : tensors[0].trace.emit('concat', tensors, { axis })[0];

/** The elements start … start+size−1 along one axis. */
export const slice = (x: Tensor, axis: number, start: number, size: number): Tensor =>
  x.trace.emit('slice', [x], { axis, start, size })[0];

/** All of x in parts of the given sizes along one axis. */
export const split = (x: Tensor, axis: number, sizes: readonly number[]): readonly Tensor[] =>
  sizes.length === 1 ? [x] : x.trace.emit('split', [x], { axis, sizes });

export const pad = (x: Tensor, axis: number, before: number, after: number): Tensor =>
  x.trace.emit('pad', [x], { axis, before, after })[0];

/** Over the given axes, or over all of them. */
export function sum(x: Tensor, axes: readonly number[] = [...x.shape.keys()], keep = false): Tensor {
  return axes.length === 0 ? x : x.trace.emit('sum', [x], { axes, keep })[0];
}

export function mean(x: Tensor, axes: readonly number[] = [...x.shape.keys()], keep = false): Tensor {
  return mul(sum(x, axes, keep), 1 / sizeOf(axes.map((axis) => x.shape[axis]!)));
}

export interface MatmulOptions {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  /** One element for each column of the result. */
  readonly bias?: Tensor | undefined;
}

export function matmul(a: Tensor, b: Tensor, options: MatmulOptions = {}): Tensor {
  const { transposeA = false, transposeB = false, bias } = options;
  return a.trace.emit('matmul', bias ? [a, b, bias] : [a, b], { transposeA, transposeB })[0];
}

/** A product of the last two axes for each place along the axes before. */
export const batchMatmul = (
  a: Tensor,
  b: Tensor,
  { transposeA = false, transposeB = false }: Omit<MatmulOptions, 'bias'> = {},
): Tensor => a.trace.emit('batchMatmul', [a, b], { transposeA, transposeB })[0];

const pair = (size: number | Pair): Pair => (typeof size === 'number' ? [size, size] : size);

export interface Conv2dOptions {
  readonly stride?: number | Pair;
  readonly padding?: number | Pair;
  readonly groups?: number;
  readonly bias?: Tensor | undefined;
}

/** x [n, channels, h, w], weight [filters, channels/groups, kh, kw]. */
export function conv2d(x: Tensor, weight: Tensor, options: Conv2dOptions = {}): Tensor {
  const { stride = 1, padding = 0, groups = 1, bias } = options;
  const attributes = { stride: pair(stride), padding: pair(padding), groups };
  return x.trace.emit('conv2d', bias ? [x, weight, bias] : [x, weight], attributes)[0];
}

export interface PoolOptions {
  /** As large as the kernel unless given. */
  readonly stride?: number | Pair;
  readonly padding?: number | Pair;
}

const pool =
  (op: 'maxPool' | 'avgPool') =>
  (x: Tensor, kernel: number | Pair, options: PoolOptions = {}): Tensor => {
    const { stride = kernel, padding = 0 } = options;
    return x.trace.emit(op, [x], { kernel: pair(kernel), stride: pair(stride), padding: pair(padding) })[0];
  };

export const maxPool = pool('maxPool');
/** The padding counts as zeros. */
export const avgPool = pool('avgPool');
/** [n, channels, h, w] → [n, channels] */
export const globalAvgPool = (x: Tensor): Tensor => mean(x, [2, 3]);

/** Normalised by the statistics of the batch, which are returned too (the variance is the biased one). */
export function batchNorm(x: Tensor, scale: Tensor, shift: Tensor, epsilon = 1e-5) {
  const [y, mean, variance] = x.trace.emit('batchNorm', [x, scale, shift], { epsilon });
  return { y, mean, variance };
}

export const batchNormInference = (
  x: Tensor,
  scale: Tensor,
  shift: Tensor,
  mean: Tensor,
  variance: Tensor,
  epsilon = 1e-5,
): Tensor => x.trace.emit('batchNormInference', [x, scale, shift, mean, variance], { epsilon })[0];

export const layerNorm = (x: Tensor, scale: Tensor, shift: Tensor, epsilon = 1e-5): Tensor =>
  x.trace.emit('layerNorm', [x, scale, shift], { epsilon })[0];

export const groupNorm = (x: Tensor, scale: Tensor, shift: Tensor, groups: number, epsilon = 1e-5): Tensor =>
  x.trace.emit('groupNorm', [x, scale, shift], { epsilon, groups })[0];

/** Zeroes a fraction of the elements and scales up the rest; `key` is an int32[2] input drawn anew each step. */
export function dropout(x: Tensor, key: Tensor, rate: number): Tensor {
  if (rate === 0) return x;
  return mul(x, x.trace.emit('dropoutMask', [key], { rate, salt: x.trace.salt(), shape: x.shape })[0]);
}

/** Over the last axis; `causal`: each row of the last two axes sees the elements up to its own place. */
export const softmax = (x: Tensor, causal = false): Tensor => x.trace.emit('softmax', [x], { causal })[0];

/** The rows of `table` that `indices` (int32) name. */
export const embedding = (table: Tensor, indices: Tensor): Tensor =>
  table.trace.emit('embedding', [table, indices], {})[0];

/** The loss of each sample; labels are int32. */
export const softmaxCrossEntropy = (logits: Tensor, labels: Tensor): Tensor =>
  logits.trace.emit('softmaxCrossEntropy', [logits, labels], {})[0];

/** 1 for each sample whose label is among its k largest logits, else 0. */
export const topKCorrect = (logits: Tensor, labels: Tensor, k = 1): Tensor =>
  logits.trace.emit('topKCorrect', [logits, labels], { k })[0];

export interface LstmWeights {
  readonly weightInput: Tensor;
  readonly weightHidden: Tensor;
  readonly biasInput: Tensor;
  readonly biasHidden: Tensor;
}

/** One layer over x [time, batch, width] from the state h0, c0 [batch, hidden]. */
export function lstm(x: Tensor, h0: Tensor, c0: Tensor, weights: LstmWeights) {
  const { weightInput, weightHidden, biasInput, biasHidden } = weights;
  const [y, h, c] = x.trace.emit('lstm', [x, h0, c0, weightInput, weightHidden, biasInput, biasHidden], {});
  return { y, h, c };
}

function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((size, axis) => size === b[axis]);
}
