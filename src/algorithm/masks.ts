import type { RowContext, RowFunction, RowNumbers, TensorPlace } from './function.ts';

/**
 * Masks: rows of 0 and 1 that say which parameters a replica has (Dai et al., "DisPFL", 2022). How many of each tensor stays the same, so the length
 * of a message is known beforehand.
 */

type Known = Pick<RowContext, 'tensors' | 'scalar'>;

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/**
 * How many parameters of each tensor a replica has: in proportion to the sum of its dimensions (Erdős–Rényi kernel), so that small tensors are kept
 * whole and large ones give the most.
 */
export function keptOf({ tensors, scalar }: Known): readonly number[] {
  const extent = ({ shape }: TensorPlace) => Math.max(1, sum(shape));
  const whole = new Set<TensorPlace>();
  for (;;) {
    const rest = tensors.filter((tensor) => !whole.has(tensor));
    const left = scalar('density') * sum(tensors.map(({ size }) => size)) - sum([...whole].map(({ size }) => size));
    const perExtent = left / sum(rest.map(extent));
    const share = (tensor: TensorPlace) => perExtent * extent(tensor);
    const over = rest.filter((tensor) => share(tensor) >= tensor.size);
    if (over.length === 0)
      return tensors.map((tensor) => (whole.has(tensor) ? tensor.size : Math.max(1, Math.round(share(tensor)))));
    for (const tensor of over) whole.add(tensor);
  }
}

/** The columns of a tensor for which something holds. */
const columnsOf = ({ offset, size }: TensorPlace, holds: (column: number) => boolean): Uint32Array =>
  Uint32Array.from({ length: size }, (_, c) => offset + c).filter(holds);

/** erk(x): a mask to begin with, drawn by each replica; of x only the tensors matter. */
export const erk: RowFunction = {
  takes: 1,
  apply(given, out) {
    const [random, kept] = [given.random(), keptOf(given)];
    out.fill(0);
    for (const [k, { offset, size }] of given.tensors.entries())
      for (const c of random.permutation(size).subarray(0, kept[k])) out[offset + c] = 1;
  },
};

/** The share of a mask that is replaced, from alpha in the first round down to 0. */
function replaced(scalar: Known['scalar']): number {
  const round = Math.floor(scalar('t') / scalar('period'));
  return (scalar('alpha') / 2) * (1 + Math.cos(Math.PI * Math.min(1, round / scalar('rounds'))));
}

/**
 * regrow(mask, x, g): of each tensor the parameters that are smallest leave the mask, and as many come in whose gradients are largest; of equal ones,
 * those that come first. What has left may come back at once.
 */
export const regrow: RowFunction = {
  takes: 3,
  apply({ tensors, scalar }, out, mask, x, g) {
    const share = replaced(scalar);
    const magnitude = (row: RowNumbers, c: number) => Math.abs(row[c]!);
    out.set(mask!);
    for (const tensor of tensors) {
      const inside = columnsOf(tensor, (c) => mask![c] !== 0);
      const count = Math.ceil(share * inside.length);
      inside.sort((a, b) => magnitude(x!, a) - magnitude(x!, b) || a - b);
      for (const c of inside.subarray(0, count)) out[c] = 0;
      const outside = columnsOf(tensor, (c) => out[c] === 0);
      outside.sort((a, b) => magnitude(g!, b) - magnitude(g!, a) || a - b);
      for (const c of outside.subarray(0, count)) out[c] = 1;
    }
  },
};

/** bits(mask): the mask itself, sent as one bit per parameter. */
export const bits: RowFunction = {
  takes: 1,
  apply: (_, out, mask) => out.set(mask!),
  bytes: ({ tensors }) => Math.ceil(sum(tensors.map(({ size }) => size)) / 8),
  packing: 'bits',
};

/** within(x, b): x where b is 1, and 0 elsewhere; whoever knows b is sent only what is within. */
export const within: RowFunction = {
  takes: 2,
  apply: (_, out, x, b) => out.set(x!.map((value, c) => (b![c] === 0 ? 0 : value))),
  bytes: (given) => 4 * sum(keptOf(given)),
  packing: 'within',
};

/** One bit for each number that is not 0. */
export function toBits(values: RowNumbers): Uint8Array {
  const packed = new Uint8Array(Math.ceil(values.length / 8));
  for (let c = 0; c < values.length; c++) if (values[c] !== 0) packed[c >> 3]! |= 1 << (c & 7);
  return packed;
}

const isSet = (packed: Uint8Array, c: number) => ((packed[c >> 3]! >> (c & 7)) & 1) === 1;

export function fromBits(packed: Uint8Array, into: RowNumbers): void {
  for (let c = 0; c < into.length; c++) into[c] = isSet(packed, c) ? 1 : 0;
}

/** The numbers whose bit is set, one after the other. */
export const taken = (values: Float32Array, packed: Uint8Array): Float32Array =>
  values.filter((_, c) => isSet(packed, c));

/** These back in their places, and 0 elsewhere. */
export function putBack(part: Float32Array, packed: Uint8Array, into: Float32Array): void {
  let at = 0;
  for (let c = 0; c < into.length; c++) into[c] = isSet(packed, c) ? part[at++]! : 0;
}
