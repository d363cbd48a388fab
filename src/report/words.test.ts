import { expect, it } from 'vitest';
import { inPoints, list, minus, times } from './words.ts';

it('numbers have a true minus, but not before 0', () => {
  expect(['-0.00', '-0.01', '0.00', '-1.20', '-0.00 ± 0.10', '-0'].map(minus)).toEqual([
    '0.00',
    '−0.01',
    '0.00',
    '−1.20',
    '0.00 ± 0.10',
    '0',
  ]);
  expect(inPoints({ mean: -0.00001, half: 0.002 })).toBe('0.00 ± 0.20');
});

it('words are joined, ratios said', () => {
  expect([list([]), list(['a']), list(['a', 'b', 'c'])]).toEqual(['', 'a', 'a, b and c']);
  expect([times(0.5), times(3.21)]).toEqual(['2.0 times fewer', '3.2 times more']);
});
