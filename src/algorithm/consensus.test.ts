import { describe, expect, it } from 'vitest';
import { type ConsensusSignals, consensusTarget, criticalDistance2, noMemory, predictedGossips } from './consensus.ts';
import { consensusSchema } from './schema.ts';

const signals: ConsensusSignals = {
  epoch: 0,
  step: 0,
  learningRate: 0.1,
  replicas: 2,
  distance: 2,
  gradientNorms2: [1, 3],
};
const settings = (given: object) => consensusSchema.parse(given);

describe('a fixed share of the uncontrolled distance', () => {
  it('measures it over the first steps, then holds to its share', () => {
    const fixed = settings({ kind: 'fixed', fraction: 0.25 });
    let memory = noMemory;
    for (const [step, distance] of [4, 8, 6].entries()) {
      const found = consensusTarget(fixed, memory, { ...signals, step, distance });
      expect(found.target).toBeNull();
      memory = found.memory;
    }
    expect(consensusTarget(fixed, memory, { ...signals, step: 10, distance: 100 }).target).toBe(2);
  });

  it('controls only the chosen phase', () => {
    const phase = settings({ kind: 'fixed', fraction: 0.5, maxDistance: 3, from: 1, to: 2 });
    const targets = [0.9, 1, 1.9, 2].map((epoch) => consensusTarget(phase, noMemory, { ...signals, epoch }).target);
    expect(targets).toEqual([null, 1.5, 1.5, null]);
  });
});

it('the adaptive target follows learning rate and gradient norm', () => {
  const adaptive = settings({ kind: 'adaptive', scale: 2, beta: 0.5 });
  const first = consensusTarget(adaptive, noMemory, signals);
  expect(first.target).toBeCloseTo(2 * 0.1 * Math.sqrt(2), 12);
  const second = consensusTarget(adaptive, first.memory, { ...signals, gradientNorms2: [8, 8] });
  expect(second.target).toBeCloseTo(2 * 0.1 * (0.5 * Math.sqrt(2) + 0.5 * Math.sqrt(8)), 12);
});

describe('the critical distance', () => {
  it('is ησ²/(Ln) + ‖∇f‖²/(8L²) with unbiased estimates', () => {
    // Gradients (1, 0) and (0, 1): mean (½, ½), σ² = 1, ‖∇f‖² ≈ ½ − ½ = 0.
    expect(criticalDistance2(0.1, [1, 1], 0.5, 4)).toBeCloseTo((0.1 * 1) / (4 * 2), 12);
    // Equal gradients (3, 4): no noise.
    expect(criticalDistance2(0.1, [25, 25], 25, 2)).toBeCloseTo(25 / 32, 12);
    expect(criticalDistance2(0.1, [25], 25, 2)).toBeCloseTo(25 / 32, 12);
  });

  it('waits for a first change to estimate the smoothness from', () => {
    const critical = settings({ kind: 'critical' });
    expect(consensusTarget(critical, noMemory, { ...signals, meanGradientNorm2: 1 }).target).toBeNull();
    const found = consensusTarget(critical, noMemory, {
      ...signals,
      meanGradientNorm2: 1,
      gradientChange: 6,
      parameterChange: 2,
    });
    expect(found.memory.smoothness).toBe(3);
    expect(found.target).toBeCloseTo(Math.sqrt(criticalDistance2(0.1, [1, 3], 1, 3)), 12);
  });
});

it('predicts the gossips that a topology needs at most', () => {
  expect(predictedGossips(8, 1, 0.5)).toBe(3);
  expect(predictedGossips(8.1, 1, 0.5)).toBe(4);
  expect(predictedGossips(1, 2, 0.5)).toBe(1);
  expect(predictedGossips(5, 1, 0)).toBe(1);
  expect(predictedGossips(5, 1, 1)).toBe(Number.POSITIVE_INFINITY);
});
