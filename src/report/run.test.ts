import { expect, it } from 'vitest';
import { giniCourse, type Member } from './run.ts';

/** Twenty of a hundred planned steps, with these Gini coefficients of the one tensor. */
const member = (status: string, gini: readonly number[]) =>
  ({
    run: { experiment: { epochs: 10 } },
    summary: { status },
    series: {
      stepsPerEpoch: 10,
      tensors: [{ shape: '2 × 3' }],
      steps: { step: Float64Array.from(gini.keys()) },
      variance: { step: Float64Array.from(gini.keys()), gini: Float64Array.from(gini) },
    },
  }) as unknown as Member;

it('early and late are shares of the steps there are, if a run ended as it should, and otherwise of those that were planned', () => {
  const gini = Array.from({ length: 20 }, (_, step) => (step === 10 ? 0.5 : 0.1));
  // It ended at a virtual time: the peak is half way, and the last fifth is there.
  expect(giniCourse(member('complete', gini))).toEqual({ peakGini: 0.5, peakGiniAt: 0.5, lateGini: 0.1 });
  expect(giniCourse(member('stopped', gini))).toEqual({ peakGini: 0.5, peakGiniAt: 0.1, lateGini: null });
});
