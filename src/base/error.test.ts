import { expect, it } from 'vitest';
import { nearest, suggest, UserError } from './error.ts';

it('finds the word that was meant', () => {
  const kinds = ['ring', 'torus', 'complete', 'hypercube'];
  expect(nearest('rnig', kinds)).toBe('ring');
  expect(nearest('Complet', kinds)).toBe('complete');
  expect(nearest('xyz', kinds)).toBeUndefined();
  expect(suggest('hypercub', kinds)).toBe('did you mean "hypercube"?');
  expect(suggest('nothing', kinds)).toBe('use one of: ring, torus, complete, hypercube');
});

it('carries a hint', () => {
  expect(new UserError('no', { hint: 'yes' })).toMatchObject({ message: 'no', hint: 'yes' });
});
