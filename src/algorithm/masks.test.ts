import { expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { bits, erk, fromBits, keptOf, putBack, regrow, taken, toBits, within } from './masks.ts';

const tensors = [
  { offset: 0, size: 60, shape: [10, 6] },
  { offset: 60, size: 6, shape: [6] },
  { offset: 66, size: 12, shape: [6, 2] },
];
const given = (scalars: Readonly<Record<string, number>>) => ({
  tensors,
  scalar: (name: string) => scalars[name]!,
  random: () => new Random(1, 'test'),
});
const count = (row: ArrayLike<number>, [from, to]: readonly [number, number]) =>
  Array.from(row)
    .slice(from, to)
    .filter((value) => value !== 0).length;
const perTensor = (row: ArrayLike<number>) => tensors.map(({ offset, size }) => count(row, [offset, offset + size]));

it('a mask has as many as the density says, small tensors whole first', () => {
  // 39 of 78: dimensions sum to 16, 6 and 8, so 1.3 for each; the vector has no more than 6, and the rest is 33 for 24.
  expect(keptOf(given({ density: 0.5 }))).toEqual([22, 6, 11]);
  expect(keptOf(given({ density: 1 }))).toEqual([60, 6, 12]);
  const mask = new Float32Array(78);
  erk.apply(given({ density: 0.5 }), mask, mask);
  expect(perTensor(mask)).toEqual([22, 6, 11]);
});

it('the smallest leave, as many with the largest gradients come in, and fewer in later rounds', () => {
  const one = { tensors: [{ offset: 0, size: 6, shape: [6] }], random: () => new Random(1, 'test') };
  const at = (t: number) => {
    const scalars: Record<string, number> = { t, period: 2, alpha: 0.5, rounds: 4 };
    const out = new Float64Array(6);
    const rows = [
      [1, 1, 1, 1, 0, 0],
      [0.1, -0.2, 3, -4, 0, 0],
      [9, 0, 0, 0, -2, 5],
    ].map((row) => Float64Array.from(row));
    regrow.apply({ ...one, scalar: (name) => scalars[name]! }, out, ...rows);
    return [...out];
  };
  // κ = ½: two leave, and the first of them comes back.
  expect(at(1)).toEqual([1, 0, 1, 1, 0, 1]);
  // κ = ¼ in the middle: one leaves, and comes back.
  expect(at(5)).toEqual([1, 1, 1, 1, 0, 0]);
  expect(at(80)).toEqual([1, 1, 1, 1, 0, 0]);
});

it('what is packed comes out as it was, and has the bytes that are counted', () => {
  const random = new Random(2, 'test');
  const context = given({ density: 0.3 });
  const [mask, row, again] = [0, 0, 0].map(() => new Float32Array(78)) as [Float32Array, Float32Array, Float32Array];
  erk.apply(context, mask, mask);
  // A parameter that is 0 is sent as well.
  const x = Float32Array.from(mask, (_, c) => (c % 5 === 0 ? 0 : random.normal()));
  within.apply(context, row, x, mask);
  const packed = toBits(mask);
  expect(packed.length).toBe(bits.bytes!(context));
  fromBits(packed, again);
  expect(again).toEqual(mask);
  const part = taken(row, packed);
  expect(part.byteLength).toBe(within.bytes!(context));
  putBack(part, packed, again);
  expect(again).toEqual(row);
});
