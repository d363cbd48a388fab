import type { RowContext, RowFunction, RowNumbers, TensorPlace } from './function.ts';

/**
 * Low-rank differences along an edge, by power iteration that goes on from step to step (Vogels, Karimireddy, Jaggi, "Practical low-rank communication
 * compression in decentralized deep learning", 2020). A tensor is a matrix, its first dimension by the rest, and the difference D of the two ends is
 * about p qᵀ. In odd steps q is made orthonormal and p = D q, in even steps the other way round; both ends send the product with their own
 * matrix. Each end sees D as the other's minus its own: p differs in sign between them, q does not.
 *
 * A row of an edge holds p and then q in the place of each tensor. Tensors that this would not make shorter are sent as they are.
 */

interface Matrix {
  readonly rows: number;
  readonly columns: number;
}

const isOdd = ({ scalar }: Pick<RowContext, 'scalar'>) => scalar('t') % 2 === 1;

/** How a tensor is approximated; undefined if it is sent as it is. */
function matrixOf({ shape, size }: TensorPlace, rank: number): Matrix | undefined {
  const rows = shape[0] ?? 1;
  const columns = size / rows;
  return shape.length > 1 && rank * (rows + columns) <= size ? { rows, columns } : undefined;
}

/** Calls one of two functions for each tensor, with its part of every row; p and q are parts of the part of the edge's row. */
function forTensors(
  given: RowContext,
  rows: readonly RowNumbers[],
  plain: (...parts: RowNumbers[]) => void,
  matrix: (shape: Matrix, ...parts: RowNumbers[]) => void,
): void {
  for (const tensor of given.tensors) {
    const { offset, size } = tensor;
    const parts = rows.map((row) => row.subarray(offset, offset + size));
    const shape = matrixOf(tensor, given.scalar('rank'));
    if (shape === undefined) plain(...parts);
    else matrix(shape, ...parts);
  }
}

/** Keeps the division from growing without bound, as published. */
const tiny = 1e-8;

/** Columns of an m × rank matrix made orthonormal, one after the other; what is 0 stays 0, unless `start` says what to begin with. */
function orthonormal(values: RowNumbers, rank: number, start: (index: number) => number = () => 0): Float64Array {
  const out = Float64Array.from(values);
  const m = out.length / rank;
  const dot = (a: number, b: number) => {
    let sum = 0;
    for (let i = 0; i < m; i++) sum += out[i * rank + a]! * out[i * rank + b]!;
    return sum;
  };
  for (let c = 0; c < rank; c++) {
    if (dot(c, c) === 0) for (let i = 0; i < m; i++) out[i * rank + c] = start(i * rank + c);
    for (let before = 0; before < c; before++) {
      const along = dot(before, c);
      for (let i = 0; i < m; i++) out[i * rank + c]! -= along * out[i * rank + before]!;
    }
    const norm = Math.sqrt(dot(c, c)) + tiny;
    for (let i = 0; i < m; i++) out[i * rank + c]! /= norm;
  }
  return out;
}

/** Any numbers do, as long as both ends have the same. */
const anew = (index: number) => Math.sin(index + 1);

const split = ({ rows }: Matrix, part: RowNumbers, rank: number) =>
  [part.subarray(0, rows * rank), part.subarray(rows * rank)] as const;

/** The factor that stays in this step, orthonormal. */
function kept(shape: Matrix, edge: RowNumbers, rank: number, odd: boolean): Float64Array {
  const [p, rest] = split(shape, edge, rank);
  return odd ? orthonormal(rest.subarray(0, shape.columns * rank), rank, anew) : orthonormal(p, rank);
}

/** product(x, f): what a replica sends over the edge, its own matrix times the factor that stays. */
export const product: RowFunction = {
  takes: 2,
  apply(given, out, x, edge) {
    const [rank, odd] = [given.scalar('rank'), isOdd(given)];
    out.fill(0);
    forTensors(
      given,
      [out, x!, edge!],
      (to, own) => to!.set(own!),
      (shape, to, own, factors) => {
        const factor = kept(shape, factors!, rank, odd);
        const sums = new Float64Array((odd ? shape.rows : shape.columns) * rank);
        for (let i = 0; i < shape.rows; i++)
          for (let j = 0; j < shape.columns; j++)
            for (let c = 0; c < rank; c++)
              if (odd) sums[i * rank + c]! += own![i * shape.columns + j]! * factor[j * rank + c]!;
              else sums[j * rank + c]! += own![i * shape.columns + j]! * factor[i * rank + c]!;
        split(shape, to!, rank)[odd ? 0 : 1].set(sums);
      },
    );
  },
  spans: ({ tensors, scalar }) => {
    const [rank, odd] = [scalar('rank'), isOdd({ scalar })];
    return tensors.map((tensor) => {
      const { offset, size } = tensor;
      const shape = matrixOf(tensor, rank);
      if (shape === undefined) return [offset, offset + size];
      const middle = offset + rank * shape.rows;
      return odd ? [offset, middle] : [middle, middle + rank * shape.columns];
    });
  },
};

/** refine(f, own, other): the factors after both products are known. */
export const refine: RowFunction = {
  takes: 3,
  apply(given, out, edge, sent, received) {
    const [rank, odd] = [given.scalar('rank'), isOdd(given)];
    out.fill(0);
    forTensors(
      given,
      [out, edge!, sent!, received!],
      (to, _, own, other) => to!.set(other!.map((value, c) => value - own![c]!)),
      (shape, to, factors, own, other) => {
        const [p, q] = split(shape, to!, rank);
        const length = (odd ? shape.rows : shape.columns) * rank;
        const from = odd ? 0 : shape.rows * rank;
        (odd ? q : p).set(kept(shape, factors!, rank, odd));
        // The other end has p with the other sign, and so its product with p.
        for (let c = 0; c < length; c++)
          to![from + c] = odd ? other![from + c]! - own![from + c]! : -(other![from + c]! + own![from + c]!);
      },
    );
  },
};

/** outer(f): the difference that the factors stand for, the other end's minus the own. */
export const outer: RowFunction = {
  takes: 1,
  apply(given, out, edge) {
    const rank = given.scalar('rank');
    forTensors(
      given,
      [out, edge!],
      (to, difference) => to!.set(difference!),
      (shape, to, factors) => {
        const [p, q] = split(shape, factors!, rank);
        for (let i = 0; i < shape.rows; i++)
          for (let j = 0; j < shape.columns; j++) {
            let sum = 0;
            for (let c = 0; c < rank; c++) sum += p[i * rank + c]! * q[j * rank + c]!;
            to![i * shape.columns + j] = sum;
          }
      },
    );
  },
};
