import { expect, it } from 'vitest';
import { resolve } from '../experiment/experiment.ts';
import { comparisonsOf } from './compare.ts';
import type { Seeds } from './group.ts';
import type { Report } from './report.ts';

/** One complete run that its virtual time ended after so many of a thousand steps. */
function ended(kind: string, steps: number): Seeds {
  const settings = { data: { kind: 'mnist' }, model: { kind: 'mlp' }, batch: 4, epochs: 10, topology: { kind } };
  const [experiment] = resolve({ name: kind, replicas: 4, learningRate: { base: 0.1 }, ...settings }, 'test');
  const step = Float64Array.from({ length: steps }, (_, t) => t);
  const variance = { step, gini: step.map((t) => (kind === 'ring' ? t : 100 - t)) };
  const series = { stepsPerEpoch: 100, tensors: [{ shape: '2 × 3' }], steps: { step }, variance };
  const counted = [{ run: { experiment }, summary: { status: 'complete' }, series }];
  return { experiment, members: counted, counted, complete: 1 } as unknown as Seeds;
}

it('variance is ranked early and late over the steps that all have', () => {
  const parts = [ended('ring', 200), ended('complete', 100)];
  const groups = parts.map(({ experiment: { name, replicas } }) => ({ name, replicas, complete: 1, runs: [] }));
  const [comparison] = comparisonsOf(
    [[0, 1]],
    parts,
    { runs: [], groups } as unknown as Pick<Report, 'runs' | 'groups'>,
    [],
  );
  // Up to step 50 the ring has the least: all of the first 20, and 30 of the other 80, with a tie.
  expect(comparison!.rank.early).toEqual([1, 2]);
  expect(comparison!.rank.late).toEqual([(30 + 1.5 + 2 * 49) / 80, (2 * 30 + 1.5 + 49) / 80]);
});
