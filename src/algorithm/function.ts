import type { Random } from '../base/random.ts';

/** A tensor in a row of parameters. */
export interface TensorPlace {
  readonly offset: number;
  readonly size: number;
  readonly shape: readonly number[];
}

/** Columns from ≤ c < to. */
export type Span = readonly [from: number, to: number];

export const spanBytes = (spans: readonly Span[]): number => 4 * spans.reduce((sum, [from, to]) => sum + to - from, 0);

/** RowNumbers of a row, in float32 by the engine and in float64 by the reference. */
export type RowNumbers = Float32Array | Float64Array;

/** What a function of rows knows besides them. */
export interface RowContext {
  readonly tensors: readonly TensorPlace[];
  /** A setting or scalar by name. */
  scalar(name: string): number;
  /** Random numbers of this replica and step. */
  random(): Random;
}

/**
 * A function of a replica's own rows that is not elementwise, because it looks at whole tensors: a row in functions.ts, and a name in the text of
 * methods.
 */
export interface RowFunction {
  /** Rows it takes. */
  readonly takes: number;
  /** Writes all of `out`, which is none of the inputs. */
  apply(given: RowContext, out: RowNumbers, ...inputs: readonly RowNumbers[]): void;
  /** If all it does is to round to multiples of the largest of each block of columns / levels: of float32 a kernel does that in a fraction of the time. */
  rounds?(given: Pick<RowContext, 'scalar'>): { readonly block: number; readonly levels: number };
  /** The columns of its result that are not 0, if they are few: only these are sent. */
  spans?(given: Pick<RowContext, 'tensors' | 'scalar'>): readonly Span[];
  /** The bytes of its result as it is sent, and how: a bit per number that is 0 or 1, or what is within its second row, which is sent as bits before. */
  bytes?(given: Pick<RowContext, 'tensors' | 'scalar'>): number;
  readonly packing?: 'bits' | 'within';
}

/** The bytes of a function's result as it is sent, if that is shorter than a row. */
export const sentBytes = (
  { spans, bytes }: RowFunction,
  given: Pick<RowContext, 'tensors' | 'scalar'>,
): number | undefined => (spans === undefined ? bytes?.(given) : spanBytes(spans(given)));
