import { expect, it } from 'vitest';
import { mean } from '../../src/base/statistics.ts';
import { inPairs, outcomeOf } from '../engine/runs.ts';

const settings = {
  replicas: 16,
  data: { kind: 'mnist', train: 8192, test: 2000 },
  model: { kind: 'mlp', hidden: [32] },
  batch: 16,
  epochs: 3,
  optimizer: { kind: 'sgd', momentum: 0.9 },
  learningRate: { base: 0.03 },
  evaluation: { everyEpochs: 3 },
  probes: { everySteps: 1000 },
};

it('AD-PSGD learns MNIST about as well as D-PSGD, though its gradients are stale and one device is slow', async () => {
  const accuracyOf = async (more: object) => {
    const { evaluations } = await outcomeOf({ ...settings, ...more });
    return mean(evaluations.at(-1)!.local.map(({ accuracy }) => accuracy));
  };
  const together = await accuracyOf({});
  const pairs = await accuracyOf(inPairs);
  const overlapping = await accuracyOf({ ...inPairs, algorithm: { kind: 'ad-psgd', overlap: true } });
  console.log(`MNIST test accuracy: D-PSGD ${together}, AD-PSGD ${pairs}, with overlap ${overlapping}`);
  expect(pairs).toBeGreaterThan(0.88);
  expect(Math.min(pairs, overlapping)).toBeGreaterThan(together - 0.02);
});
