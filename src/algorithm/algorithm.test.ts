import { expect, it } from 'vitest';
import { stagesOf } from './algorithm.ts';
import { algorithmSchema, consensusSchema } from './schema.ts';

const stages = (algorithm: object, consensus: object = { kind: 'none' }, step = 0, last = false) =>
  stagesOf(algorithmSchema.parse(algorithm), consensusSchema.parse(consensus), step, last).join(' ');

it('an algorithm is a list of stages', () => {
  expect(stages({ kind: 'centralized' })).toBe('gradient probe averageGradients stepTogether');
  expect(stages({ kind: 'dpsgd' })).toBe('adapt probe combine');
  expect(stages({ kind: 'dpsgd', order: 'combine-then-adapt' })).toBe('combine adapt probe');
  expect(stages({ kind: 'dpsgd' }, { kind: 'critical' })).toBe('gradient averageGradients stepAlone probe combine');
});

it('local steps leave out the combination', () => {
  const at = (step: number) => stages({ kind: 'dpsgd', localSteps: 3 }, undefined, step);
  expect([0, 1, 2, 3].map(at)).toEqual(['adapt probe', 'adapt probe', 'adapt probe combine', 'adapt probe']);
});

it('a final merge ends the last step', () => {
  const merging = (last: boolean) => stages({ kind: 'dpsgd', finalMerge: true }, undefined, 0, last);
  expect([merging(false), merging(true)]).toEqual(['adapt probe combine', 'adapt probe combine merge']);
});
