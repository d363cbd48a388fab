import { Random } from '../base/random.ts';
import { type Mixing, stopsOf } from '../topology/mixing.ts';
import { type Block, blocksOf, partsOf } from './blocks.ts';

/** What the kernels must compute, written for reading: the oracle of their tests. */

export function randomMatrix(n: number, columns: number, seed: number): Float32Array[] {
  return Array.from({ length: n }, (_, i) => {
    const random = new Random(seed, 'test', i);
    return Float32Array.from({ length: columns }, () => random.normal());
  });
}

/** Row i of W x in float64, and Σ|W_ij x_j|, which bounds the rounding error. */
export function exactRow(mixing: Mixing, x: readonly Float32Array[], i: number) {
  const { start, source, weight } = mixing;
  const columns = x[0]!.length;
  const [sum, scale] = [new Float64Array(columns), new Float64Array(columns)];
  for (let e = start[i]!; e < stopsOf(mixing)[i]!; e++) {
    const row = x[source[e]!]!;
    for (let c = 0; c < columns; c++) {
      sum[c]! += weight[e]! * row[c]!;
      scale[c]! += Math.abs(weight[e]! * row[c]!);
    }
  }
  return { sum, scale };
}

/** One column of a block's sum in the canonical order, in float32. */
function blockSum(block: Block, x: readonly Float32Array[], c: number): number {
  if (block.size === 1) return x[block.first]![c]!;
  const parts = partsOf(block).map((part) => blockSum(part, x, c));
  const add = (a: number, b: number) => Math.fround(a + b);
  return parts.length === 4 ? add(add(parts[0]!, parts[1]!), add(parts[2]!, parts[3]!)) : add(parts[0]!, parts[1]!);
}

/** The average of some replicas, bit for bit. */
export function canonicalAverage(replicas: ArrayLike<number>, x: readonly Float32Array[]): Float32Array {
  const blocks = blocksOf(replicas);
  const high = Math.fround(1 / replicas.length);
  const low = Math.fround(1 / replicas.length - high);
  return Float32Array.from({ length: x[0]!.length }, (_, c) => {
    const sum = blocks.map((block) => blockSum(block, x, c)).reduce((a, b) => Math.fround(a + b));
    return Math.fround(sum * high) + Math.fround(sum * low);
  });
}
