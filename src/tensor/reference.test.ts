import { expect, it } from 'vitest';
import { erf } from './reference.ts';

it.each([
  [0, 0],
  [0.5, 0.5204998778130465],
  [-1, -0.8427007929497149],
  [2, 0.9953222650189527],
  [3.5, 0.9999992569016276],
  [9, 1],
])('erf(%s) = %s', (x, value) => {
  expect(erf(x)).toBeCloseTo(value, 13);
});
