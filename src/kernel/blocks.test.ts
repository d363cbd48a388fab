import fc from 'fast-check';
import { expect, it } from 'vitest';
import { blocksOf, blocksOfRange, partialBlocks, partsOf } from './blocks.ts';

const text = (blocks: readonly { first: number; size: number }[]) =>
  blocks.map(({ first, size }) => (size === 1 ? `${first}` : `${first}+${size}`)).join(' ');

it('adds few neighbours one by one, in ascending order', () => {
  expect(text(blocksOf([0, 1, 7]))).toBe('0 1 7');
  expect(text(blocksOf([3, 4, 5, 6, 7, 8, 9, 11]))).toBe('3 4 5 6 7 8 9 11');
  expect(text(blocksOf([3, 4, 5, 6, 7, 8, 9, 10, 12]))).toBe('3 4+4 8 9 10 12');
});

it('sums everybody as a tree', () => {
  expect(text(blocksOfRange(0, 256))).toBe('0+256');
  expect(text(blocksOfRange(0, 103))).toBe('0+64 64+32 96+4 100 101 102');
});

it('cuts a wide window into few blocks', () => {
  expect(text(blocksOfRange(5, 38))).toBe('5 6 7 8+8 16+16 32+4 36 37');
});

it('covers any set once, with aligned blocks of 1, 4, 8, …', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(200), { minLength: 1 }), (set) => {
      const replicas = set.sort((a, b) => a - b);
      const blocks = blocksOf(replicas);
      const covered = blocks.flatMap(({ first, size }) => Array.from({ length: size }, (_, i) => first + i));
      expect(covered).toEqual(replicas);
      expect(
        blocks.every(({ first, size }) => first % size === 0 && size !== 2 && Number.isInteger(Math.log2(size))),
      ).toBe(true);
    }),
  );
});

it('gives ranks sums that make up the whole, few of them', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1200 }), fc.array(fc.nat(1200), { maxLength: 6 }), (n, cuts) => {
      const bounds = [0, ...cuts.filter((cut) => cut < n).sort((a, b) => a - b), n];
      const parts = bounds.slice(1).flatMap((end, r) => partialBlocks(n, bounds[r]!, end));
      expect(parts.reduce((at, { first, size }) => (first === at ? at + size : Number.NaN), 0)).toBe(n);
      expect(parts.length).toBeLessThanOrEqual(bounds.length * (2 * Math.ceil(Math.log2(n + 1)) + 6));
    }),
  );
});

it('splits a block into what it is the sum of', () => {
  expect(text(partsOf({ first: 8, size: 4 }))).toBe('8 9 10 11');
  expect(text(partsOf({ first: 16, size: 16 }))).toBe('16+8 24+8');
});
