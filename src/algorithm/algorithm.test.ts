import { expect, it } from 'vitest';
import { stagesOf } from './algorithm.ts';
import { algorithmSchema, consensusSchema } from './schema.ts';

const stages = (algorithm: object, consensus: object = { kind: 'none' }, step = 0, last = false) =>
  stagesOf(algorithmSchema.parse(algorithm), consensusSchema.parse(consensus), { step, epoch: step, last }).join(' ');

it('an algorithm is a list of stages', () => {
  expect(stages({ kind: 'centralized' })).toBe('gradient averageGradients stepTogether probe');
  expect(stages({ kind: 'dpsgd' })).toBe('adapt probe combine');
  expect(stages({ kind: 'dpsgd', order: 'combine-then-adapt' })).toBe('combine adapt probe');
});

it('consensus control looks at gradients in the averaging steps of its phase', () => {
  expect(stages({ kind: 'dpsgd' }, { kind: 'fixed' })).toBe('adapt probe combine');
  expect(stages({ kind: 'dpsgd' }, { kind: 'adaptive' })).toBe('adapt estimate probe combine');
  const critical = { kind: 'critical', from: 1, to: 4 };
  const at = (step: number) => stages({ kind: 'dpsgd', localSteps: 2 }, critical, step);
  expect([1, 2, 3].map(at)).toEqual([
    'gradient estimate stepAlone probe combine smoothness',
    'gradient stepAlone probe',
    'gradient estimate stepAlone probe combine smoothness',
  ]);
  expect([5, 6].map(at)).toEqual(['gradient stepAlone probe combine', 'gradient stepAlone probe']);
});

it('local steps leave out the combination', () => {
  const at = (step: number) => stages({ kind: 'dpsgd', localSteps: 3 }, undefined, step);
  expect([0, 1, 2, 3].map(at)).toEqual(['adapt probe', 'adapt probe', 'adapt probe combine', 'adapt probe']);
});

it('a final merge ends the last step', () => {
  const merging = (last: boolean) => stages({ kind: 'dpsgd', finalMerge: true }, undefined, 0, last);
  expect([merging(false), merging(true)]).toEqual(['adapt probe combine', 'adapt probe combine merge']);
});
