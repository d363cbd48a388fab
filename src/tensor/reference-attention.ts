import type { OpKind } from './program.ts';
import { type Dense, dense, type ReferenceRule } from './reference-dense.ts';

/** Products of many matrices, and the softmax between them, of the float64 reference. */

type AttentionOp = Extract<OpKind, 'batchMatmul' | 'softmax' | 'softmaxGrad'>;

/** Where the elements of the rows along the last axis begin. */
const rowsOf = ({ shape, data }: Dense) =>
  Array.from({ length: data.length / shape.at(-1)! }, (_, row) => row * shape.at(-1)!);

export const attentionReference: { readonly [K in AttentionOp]: ReferenceRule<K> } = {
  batchMatmul: ([a, b], { transposeA, transposeB }, [shape]) => {
    const [rows, columns] = shape.slice(-2) as [number, number];
    const inner = a.shape.at(transposeA ? -2 : -1)!;
    return [
      dense(shape, (index) => {
        const [row, column] = [Math.floor(index / columns) % rows, index % columns];
        const matrix = Math.floor(index / (rows * columns));
        let sum = 0;
        for (let k = 0; k < inner; k++) {
          const left = transposeA ? k * rows + row : row * inner + k;
          const right = transposeB ? column * inner + k : k * columns + column;
          sum += a.data[matrix * rows * inner + left]! * b.data[matrix * inner * columns + right]!;
        }
        return sum;
      }),
    ];
  },
  softmax: ([x], { causal }) => {
    const width = x.shape.at(-1)!;
    const y = dense(x.shape, () => 0);
    rowsOf(x).forEach((start, row) => {
      const seen = x.data.subarray(start, start + (causal ? (row % width) + 1 : width));
      const largest = Math.max(...seen);
      const powers = seen.map((value) => Math.exp(value - largest));
      const total = powers.reduce((sum, value) => sum + value, 0);
      y.data.set(
        powers.map((value) => value / total),
        start,
      );
    });
    return [y];
  },
  softmaxGrad: ([dy, y], { causal }) => {
    const width = y.shape.at(-1)!;
    const dx = dense(y.shape, () => 0);
    rowsOf(y).forEach((start, row) => {
      const end = start + (causal ? (row % width) + 1 : width);
      let dot = 0;
      for (let i = start; i < end; i++) dot += dy.data[i]! * y.data[i]!;
      for (let i = start; i < end; i++) dx.data[i] = y.data[i]! * (dy.data[i]! - dot);
    });
    return [dx];
  },
};
