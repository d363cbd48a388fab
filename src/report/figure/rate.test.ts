import { expect, it } from 'vitest';
import type { Report } from '../report.ts';
import type { View } from './figure.ts';
import { milestones } from './rate.ts';

const view = (...rates: object[]): View => {
  const runs = rates.map((learningRate) => ({ experiment: { learningRate, epochs: 10 } }));
  const groups = rates.map((_, index) => ({ runs: [index] }));
  const report = { runs, groups, comparisons: [{ groups: rates.map((_, index) => index) }] } as unknown as Report;
  return { report, pictures: [], comparison: 0, hidden: new Set() };
};
const steps = (epochs: number[], factor = 0.1) => ({ kind: 'multi-step', epochs, factor });

it('milestones are the end of the warm-up and the drops within the run', () => {
  expect(milestones(view({ warmup: 1, schedule: steps([5, 8, 12]) }))).toEqual([
    { epoch: 1, label: 'warm-up ends' },
    { epoch: 5, label: 'learning rate × 0.1' },
    { epoch: 8, label: 'learning rate × 0.1' },
  ]);
  expect(milestones(view({ warmup: 0, schedule: { kind: 'cosine', end: 0 } }))).toEqual([]);
});

it('only those that all runs have are marked', () => {
  const both = view({ warmup: 1, schedule: steps([5]) }, { warmup: 2, schedule: steps([5]) });
  expect(milestones(both).map(({ epoch }) => epoch)).toEqual([5]);
  expect(milestones(view({ warmup: 0, schedule: steps([5]) }, { warmup: 0, schedule: steps([5], 0.5) }))).toEqual([]);
});
