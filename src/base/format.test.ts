import { expect, it } from 'vitest';
import { bytes, number, ratio } from './format.ts';

it.each([
  [0, '0 B'],
  [0.5, '0.5 B'],
  [999, '999 B'],
  [1000, '1 kB'],
  [999_499, '999 kB'],
  [999_999, '1 MB'],
  [1_234_567, '1.23 MB'],
  [28_949_319 * 4, '116 MB'],
  [3.2e18, '3200 PB'],
])('%d bytes are %s', (count, text) => {
  expect(bytes(count)).toBe(text);
});

it.each([
  [1008, '1,008'],
  [0.123456789, '0.123457'],
  [-12345.6789, '-12,345.7'],
  [1e15, '1000000000000000'],
  [9.81652610256424e28, '9.81653e+28'],
  [Number.NaN, 'NaN'],
])('the number %d is %s', (value, text) => {
  expect(number(value)).toBe(text);
});

it('a ratio has three digits, and none to 0', () => {
  expect([ratio(4, 3), ratio(0, 3), ratio(0, 0), ratio(2, 0)]).toEqual(['1.33 ×', '0 ×', '–', '–']);
});
