import { expect, it } from 'vitest';
import { networkChoices } from './choice.ts';
import type { Report } from './report.ts';

const estimate = (mean: number) => ({ mean, half: null, seeds: 1 });

/** Why the first of two is first, by their steps and the seconds of a step. */
function why(...members: readonly (readonly [steps: number, seconds: number])[]): string {
  const groups = members.map(([steps, seconds]) => ({
    reached: [
      { accuracy: 0.9, steps: estimate(steps), seconds: estimate(steps * seconds), sentBytes: estimate(10 * steps) },
    ],
  }));
  const report = {
    groups: members.map((_, index) => ({ name: `${index}` })),
    comparisons: [{ groups: [...members.keys()] }],
    networks: [{ name: 'lan', groups }],
  };
  return networkChoices(report as unknown as Report)[0]!.why;
}

it.each([
  [[120, 0.01], [140, 0.02], 'fewer and shorter steps decide'],
  [[120, 0.011], [140, 0.01], 'fewer steps outweigh that they are longer'],
  // 1.2 / 120 and 1.4 / 140 differ in the last bit.
  [[120, 0.01], [140, 0.01], ': fewer steps decide'],
  [[120, 0.01], [120, 0.02], 'shorter steps decide'],
  [[140, 0.01], [120, 0.02], 'shorter steps outweigh that there are more'],
  [[120, 0.01], [120, 0.01], 'both take as long'],
  [[120, 0], [140, 0], ': fewer steps decide'],
] as const)('%j before %j: %s', (first, second, reason) => {
  expect(why(first, second)).toContain(reason);
});
