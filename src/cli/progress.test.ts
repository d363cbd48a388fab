import { expect, it } from 'vitest';
import { duration, lineOf } from './progress.ts';

it.each([
  [0.2, '1 s'],
  [59.4, '1 min 0 s'],
  [119.6, '2 min 0 s'],
  [3599.5, '1 h 0 min'],
  [7199, '2 h 0 min'],
])('%s seconds are %s', (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

it('a line of progress keeps to the width: it loses its least important parts, then the middle of its name', () => {
  const parts = [
    { text: '████░', rank: 3 },
    { text: 'epoch 1/8', rank: 2 },
    { text: 'loss 0.1', rank: 4 },
    { text: 'test 95.10 %', rank: 0 },
  ];
  expect(lineOf('ring', parts)).toBe('ring  ████░  epoch 1/8  loss 0.1  test 95.10 %');
  expect(lineOf('ring', parts, 40)).toBe('ring  ████░  epoch 1/8  test 95.10 %');
  expect(lineOf('ring', parts, 30)).toBe('ring  epoch 1/8  test 95.10 %');
  expect(lineOf('exponential seed=1', parts, 24)).toBe('expon…ed=1  test 95.10 %');
});
