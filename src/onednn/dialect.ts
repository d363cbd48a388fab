import type { Shape } from '../tensor/program.ts';
import type { commonAlgorithms, Propagation, Query } from './constants.ts';
import type { Format, Given } from './format.ts';

/** Their numbers differ between the generations, as do those of `NormFlag`. */
export type Activation = 'relu' | 'gelu' | 'tanh' | 'sqrt' | 'linear' | 'sigmoid' | 'exp';
export type Algorithm = Activation | keyof typeof commonAlgorithms;
export type NormFlag = 'givenStatistics' | 'scale' | 'shift' | 'relu';

interface Strides {
  readonly stride: readonly number[];
  /** On both sides. */
  readonly padding: readonly number[];
}
interface Pooling extends Strides {
  readonly algorithm: 'maxPool' | 'avgPool';
  readonly kernel: readonly number[];
}
interface Eltwise {
  readonly algorithm: Algorithm;
  /** Of all tensors. */
  readonly data: Format;
}
interface Norm {
  readonly propagation: Propagation;
  /** Of all tensors but those of single channels. */
  readonly data: Format;
  readonly epsilon: number;
  readonly flags: readonly NormFlag[];
}
interface LayerNorm extends Norm {
  readonly statistics: Format;
}

/** What primitives are made for, and what has to be known of each. */
export interface Operations {
  readonly concat: { readonly sources: readonly Format[]; readonly axis: number; readonly dst: Format };
  readonly sum: { readonly sources: readonly Format[]; readonly scales: readonly number[]; readonly dst: Format };
  readonly binary: { readonly algorithm: Algorithm; readonly a: Format; readonly b: Format; readonly dst: Format };
  readonly eltwise: Eltwise;
  readonly eltwiseBackward: Eltwise;
  readonly matmul: {
    readonly src: Format;
    readonly weights: Format;
    readonly bias?: Format | undefined;
    readonly dst: Format;
  };
  /** A sum over the axes that have size 1 in the result. */
  readonly reduction: { readonly src: Format; readonly dst: Format };
  readonly convolution: Strides & Operations['matmul'];
  readonly convolutionBackwardData: Strides & {
    readonly diffSrc: Format;
    readonly weights: Format;
    readonly diffDst: Format;
  };
  readonly convolutionBackwardWeights: Strides & {
    readonly src: Format;
    readonly diffWeights: Format;
    readonly diffBias?: Format | undefined;
    readonly diffDst: Format;
  };
  readonly pooling: Pooling & { readonly src: Format; readonly dst: Format };
  readonly poolingBackward: Pooling & { readonly diffSrc: Format; readonly diffDst: Format };
  readonly batchNorm: Norm;
  readonly batchNormBackward: Norm;
  readonly layerNorm: LayerNorm;
  readonly layerNormBackward: LayerNorm;
}
export type OperationKind = keyof Operations;

/** For each kind of operation: the function that describes it, and what it is given besides what all are. */
export type Table<Name> = {
  readonly [K in OperationKind]: (operation: Operations[K]) => readonly [Name, readonly Given[]];
};

/** An operation of a chain that is applied to a result. */
export type ChainedOp<Operand extends { readonly format: Format } = { readonly format: Format }> =
  | { readonly kind: 'binary'; readonly algorithm: Algorithm; readonly operand: Operand }
  | { readonly kind: 'eltwise'; readonly algorithm: Activation; readonly alpha?: number; readonly beta?: number }
  | { readonly kind: 'sum' };

/** All in which the generations of oneDNN differ. */
export interface Dialect {
  strided(shape: Shape, strides: readonly number[]): Format;
  any(shape: Shape): Format;
  /** Images whose channels are in blocks of 8 or 16, the channels of a block side by side for each pixel. */
  blocked(shape: Shape, width: 8 | 16): Format;
  part(whole: Format, shape: Shape, start: readonly number[]): Format | undefined;
  /** What a description answers; lives longer than the description does. */
  wanted(description: number, what: Query): Format;
  /** The format is needed no more. */
  release(format: Format): void;
  /** The description of a primitive; `hint` is that of the forward one, for a backward one. */
  describe<K extends OperationKind>(kind: K, operation: Operations[K], attributes: number, hint?: number): number;
  /** Adds an operation to a chain of those that are applied to a result. */
  append(chain: number, post: ChainedOp): void;
  /** The number of the operand of the i-th operation of such a chain. */
  postArgument(i: number): number;
}

export type CFunction = (...args: unknown[]) => unknown;

/** Functions of the library. */
export interface Calls<Name extends string> {
  /** Calls a function that answers with a status; throws unless it is success. */
  call(name: Name, ...args: unknown[]): void;
  /** Calls a function whose first parameter is where to put a handle. */
  handle(name: Name, ...args: unknown[]): number;
  /** For functions with other results. */
  readonly raw: Readonly<Record<Name, CFunction>>;
}

/** What a dialect is made of. */
export interface Binding {
  readonly engine: number;
  bind<Name extends string>(signatures: Readonly<Record<Name, string>>): Calls<Name>;
  /** A copy of what is at an address. */
  copyOf(pointer: unknown, bytes: number): Buffer;
}
