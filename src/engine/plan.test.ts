import { expect, it } from 'vitest';
import { resolve } from '../experiment/experiment.ts';
import { planner } from './plan.ts';

const planned = (settings: object, stepsPerEpoch = 10) => {
  const base = {
    name: 'test',
    replicas: 16,
    data: { kind: 'synthetic' },
    model: { kind: 'mlp' },
    batch: 32,
    epochs: 5,
    learningRate: { base: 0.1 },
  };
  return planner(resolve({ ...base, ...settings }, 'test')[0]!, stepsPerEpoch);
};

const linear = { base: 0.1, scaling: { kind: 'linear', baseBatch: 128 } };

it('Ada: the topology is built anew where k falls, and the learning rate falls with the neighbours', () => {
  const plan = planned({ topology: { kind: 'ada', k0: 8, decay: 1.5 }, learningRate: linear });
  const epochs = [0, 1, 2, 3, 4].map(plan);
  expect(epochs.map(({ degree }) => degree)).toEqual([8, 6, 5, 3, 2]);
  // lr · batch/baseBatch · (k + 1)
  epochs.forEach(({ degree, learningRate }, epoch) => {
    expect(learningRate(10 * epoch)).toBeCloseTo(0.1 * (32 / 128) * (degree + 1), 12);
  });
  const constant = planned({ topology: { kind: 'lattice', k: 4 } });
  expect(constant(1).topology).toBe(constant(0).topology);
});

it('warm-up goes from the unscaled to the scaled rate, by the middle of each step', () => {
  const { learningRate } = planned({
    topology: { kind: 'ring' },
    learningRate: { ...linear, warmup: 1, scaling: { kind: 'linear', baseBatch: 8 } },
  })(0);
  const scaled = 0.1 * (32 / 8) * 3;
  expect(learningRate(0)).toBeCloseTo(0.1 + (scaled - 0.1) * 0.05, 12);
  expect(learningRate(9)).toBeCloseTo(0.1 + (scaled - 0.1) * 0.95, 12);
  expect(learningRate(10)).toBeCloseTo(scaled, 12);
});

it('the centralized algorithm counts as everyone with everyone', () => {
  expect(planned({ algorithm: { kind: 'centralized' } })(0)).toMatchObject({
    degree: 15,
    topology: { kind: 'complete' },
  });
});

it('the degree of matchings drawn each step is their mean over many steps, not that of the first', () => {
  const degrees = [1, 2, 3, 4].map((seed) => planned({ seed, topology: { kind: 'matcha', budget: 0.5 } })(0).degree);
  // Half of the four neighbours of the lattice that it thins out.
  for (const degree of degrees) expect(Math.abs(degree - 2)).toBeLessThan(0.4);
});
