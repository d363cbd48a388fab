import { describe, expect, it } from 'vitest';
import {
  type ConsensusSignals,
  consensusTarget,
  criticalDistance2,
  type GradientSignals,
  noMemory,
  predictedGossips,
} from './consensus.ts';
import { consensusSchema } from './schema.ts';

const signals: ConsensusSignals = {
  epoch: 0,
  learningRate: 0.1,
  replicas: 2,
  distance: 2,
};
const knowing = (gradients: Partial<GradientSignals>, memory = noMemory) => ({
  ...memory,
  gradients: { ...memory.gradients, ...gradients },
});
const settings = (given: object) => consensusSchema.parse(given);

describe('a fixed share of the uncontrolled distance', () => {
  it('measures it over the first epoch, then holds to its share', () => {
    const fixed = settings({ kind: 'fixed', fraction: 0.25 });
    let memory = noMemory;
    for (const distance of [4, 8, 6]) {
      const found = consensusTarget(fixed, memory, { ...signals, distance });
      expect(found.target).toBeNull();
      memory = found.memory;
    }
    expect(consensusTarget(fixed, memory, { ...signals, epoch: 1, distance: 100 }).target).toBe(2);
  });

  it('controls only the chosen phase', () => {
    const phase = settings({ kind: 'fixed', fraction: 0.5, maxDistance: 3, from: 1, to: 2 });
    const targets = [0.9, 1, 1.9, 2].map((epoch) => consensusTarget(phase, noMemory, { ...signals, epoch }).target);
    expect(targets).toEqual([null, 1.5, 1.5, null]);
  });
});

it('the adaptive target follows learning rate and gradient norm', () => {
  const adaptive = settings({ kind: 'adaptive', scale: 2, beta: 0.5 });
  const first = consensusTarget(adaptive, knowing({ meanNorm2: 2 }), signals);
  expect(first.target).toBeCloseTo(2 * 0.1 * Math.sqrt(2), 12);
  const second = consensusTarget(adaptive, knowing({ meanNorm2: 8 }, first.memory), signals);
  expect(second.target).toBeCloseTo(2 * 0.1 * (0.5 * Math.sqrt(2) + 0.5 * Math.sqrt(8)), 12);
  // Where replicas combine before their first gradient.
  expect(consensusTarget(adaptive, noMemory, signals).target).toBeNull();
});

describe('the critical distance', () => {
  it('is ησ²/(Ln) + ‖∇f‖²/(8L²) with unbiased estimates', () => {
    // Gradients (1, 0) and (0, 1): mean (½, ½), σ² = 1, ‖∇f‖² ≈ ½ − ½ = 0.
    expect(criticalDistance2(0.1, 2, { meanNorm2: 1, meanGradientNorm2: 0.5 }, 4)).toBeCloseTo((0.1 * 1) / (4 * 2), 12);
    // Equal gradients (3, 4): no noise.
    expect(criticalDistance2(0.1, 2, { meanNorm2: 25, meanGradientNorm2: 25 }, 2)).toBeCloseTo(25 / 32, 12);
    expect(criticalDistance2(0.1, 1, { meanNorm2: 25, meanGradientNorm2: 25 }, 2)).toBeCloseTo(25 / 32, 12);
  });

  it('waits for a first change to estimate the smoothness from', () => {
    const critical = settings({ kind: 'critical' });
    expect(consensusTarget(critical, knowing({ meanNorm2: 2, meanGradientNorm2: 1 }), signals).target).toBeNull();
    const gradients = { meanNorm2: 2, meanGradientNorm2: 1, gradientChange: 6, parameterChange: 2 };
    const found = consensusTarget(critical, knowing(gradients), signals);
    expect(found.memory.smoothness).toBe(3);
    expect(found.target).toBeCloseTo(Math.sqrt(criticalDistance2(0.1, 2, gradients, 3)), 12);
  });
});

it('predicts the gossips that a topology needs at most', () => {
  expect(predictedGossips(8, 1, 0.5)).toBe(3);
  expect(predictedGossips(8.1, 1, 0.5)).toBe(4);
  expect(predictedGossips(1, 2, 0.5)).toBe(1);
  expect(predictedGossips(5, 1, 0)).toBe(1);
  expect(predictedGossips(5, 1, 1)).toBe(Number.POSITIVE_INFINITY);
});
