import { describe, expect, it } from 'vitest';
import {
  cosine,
  exponential,
  learningRate,
  learningRateSchema,
  multiStep,
  oneCycle,
  scaledRate,
  scaleFactor,
} from './schedule.ts';

const around = { batch: 32, replicas: 96, degree: 2, epochs: 10 };
const rate = (settings: object, at = around) => learningRate(learningRateSchema.parse(settings), at);

describe('schedules', () => {
  it('multi-step multiplies at each milestone', () => {
    expect([0, 2.9, 3, 5.9, 6].map(multiStep([3, 6]))).toEqual([1, 1, 0.1, 0.1, 0.1 ** 2]);
  });

  it('exponential falls by the same share in every epoch', () => {
    expect(exponential(0.07)(0)).toBe(1);
    expect(exponential(0.07)(10)).toBeCloseTo(0.496585304, 9);
  });

  it('cosine goes from 1 over the middle to its end and stays', () => {
    expect([0, 5, 10, 12].map(cosine(10, 0.2)).map((x) => Number(x.toFixed(12)))).toEqual([1, 0.6, 0.2, 0.2]);
  });

  it('one-cycle has the start, peak and end of PyTorch', () => {
    const at = oneCycle(10);
    expect(at(0)).toBeCloseTo(1 / 25, 12);
    expect(at(3)).toBeCloseTo(1, 12);
    expect(at(10)).toBeCloseTo(1 / 250_000, 12);
    expect(at(1.5)).toBeCloseTo((1 / 25 + 1) / 2, 12);
  });
});

describe('scaling', () => {
  it('follows the rules', () => {
    expect(scaledRate('none', 0.1, 96, 32, 256)).toBe(0.1);
    expect(scaledRate('linear', 0.1, 96, 32, 256)).toBeCloseTo(1.2, 12);
    expect(scaledRate('sqrt', 0.1, 96, 32, 256)).toBeCloseTo(0.1 * Math.sqrt(12), 12);
    expect([scaleFactor('topology', 2, 96), scaleFactor('world', 2, 96), scaleFactor(7, 2, 96)]).toEqual([3, 96, 7]);
  });
});

describe('learningRate', () => {
  it('warms up from the unscaled to the scaled rate, then follows the schedule of the scaled one', () => {
    const at = rate({
      base: 0.1,
      warmup: 2,
      schedule: { kind: 'multi-step', epochs: [5] },
      scaling: { kind: 'linear', by: 'world', baseBatch: 256 },
    });
    expect([0, 1, 2, 4.9, 5].map((epoch) => Number(at(epoch).toFixed(12)))).toEqual([0.1, 0.65, 1.2, 1.2, 0.12]);
  });

  it('warms up from 0 where nothing is scaled, or from where it is told', () => {
    expect([0, 0.5, 1].map(rate({ base: 0.1, warmup: 1 }))).toEqual([0, 0.05, 0.1]);
    expect(rate({ base: 0.1, warmup: 1, warmupFrom: 0.05 })(0)).toBeCloseTo(0.05, 12);
  });

  it('follows the number of neighbours', () => {
    const scaling = { kind: 'linear', by: 'topology', baseBatch: 32 };
    expect(rate({ base: 0.1, scaling })(0)).toBeCloseTo(0.3, 12);
    expect(rate({ base: 0.1, scaling }, { ...around, degree: 10 })(0)).toBeCloseTo(1.1, 12);
  });
});
