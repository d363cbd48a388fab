import { expect, it } from 'vitest';
import { bytes, number } from './format.ts';

it.each([
  [0, '0'],
  [1234567, '1,234,567'],
  [0.1 + 0.2, '0.3'],
  [-12345.678, '-12,345.7'],
  [9.81652610256424e28, '9.81653e+28'],
  [Number.NaN, 'NaN'],
])('%s is shown as %s', (value, text) => {
  expect(number(value)).toBe(text);
});

it('bytes are shown in the unit that fits', () => {
  expect([0, 999, 1000, 2.05e9].map(bytes)).toEqual(['0 B', '999 B', '1 kB', '2.05 GB']);
});
