import { expect, it } from 'vitest';
import { duration } from './progress.ts';

it.each([
  [0.2, '1 s'],
  [59.4, '1 min 0 s'],
  [119.6, '2 min 0 s'],
  [3599.5, '1 h 0 min'],
  [7199, '2 h 0 min'],
])('%s seconds are %s', (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});
