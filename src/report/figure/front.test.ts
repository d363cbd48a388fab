import { expect, it } from 'vitest';
import { frontOf } from './front.ts';

it('the front holds those that nobody beats in cost and accuracy', () => {
  const of = (x: number, y: number) => ({ x, y });
  const dots = [of(3, 90), of(1, 80), of(2, 79), of(4, 90), of(3, 91), of(1, 70), of(9, 95), of(5, 91)];
  expect(frontOf(dots)).toEqual([of(1, 80), of(3, 91), of(9, 95)]);
  expect(frontOf([])).toEqual([]);
});
