import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { consensusDemand, criticalDistance2, type GradientSignals, noMemory, observeChange } from './consensus.ts';
import { consensusSchema } from './schema.ts';

const moment = { epoch: 0, learningRate: 0.1, momentum: 0, replicas: 2 };
const knowing = (gradients: Partial<GradientSignals>, memory = noMemory) => ({
  ...memory,
  gradients: { ...memory.gradients, ...gradients },
});
const settings = (given: object) => consensusSchema.parse(given);

describe('a fixed share of the uncontrolled distance', () => {
  it('measures it over the first epoch, then holds to its share', () => {
    const fixed = settings({ kind: 'fixed', fraction: 0.25 });
    expect(consensusDemand(fixed, noMemory, moment).demand).toBe('measure');
    const memory = { ...noMemory, maxDistance: 8 };
    expect(consensusDemand(fixed, memory, { ...moment, epoch: 0.9 }).demand).toBe('measure');
    expect(consensusDemand(fixed, memory, { ...moment, epoch: 1 }).demand).toBe(2);
    // Nothing was averaged in the first epoch.
    expect(consensusDemand(fixed, noMemory, { ...moment, epoch: 1 }).demand).toBe('measure');
  });

  it('controls only the chosen phase', () => {
    const phase = settings({ kind: 'fixed', fraction: 0.5, maxDistance: 3, from: 1, to: 2 });
    const demands = [0.9, 1, 1.9, 2].map((epoch) => consensusDemand(phase, noMemory, { ...moment, epoch }).demand);
    expect(demands).toEqual(['nothing', 1.5, 1.5, 'nothing']);
  });
});

it('the adaptive target follows learning rate and gradient norm, the first as good as the later ones', () => {
  const adaptive = settings({ kind: 'adaptive', scale: 2, beta: 0.5 });
  const first = consensusDemand(adaptive, knowing({ meanNorm2: 2 }), moment);
  expect(first.demand).toBeCloseTo(2 * 0.1 * Math.sqrt(2), 12);
  const second = consensusDemand(adaptive, knowing({ meanNorm2: 8 }, first.memory), moment);
  expect(second.demand).toBeCloseTo((2 * 0.1 * (Math.sqrt(8) + 0.5 * Math.sqrt(2))) / 1.5, 12);
  // If replicas combine before their first gradient.
  expect(consensusDemand(adaptive, noMemory, moment).demand).toBe('nothing');
});

describe('the critical distance', () => {
  it('is ησ²/(Ln) + ‖∇f‖²/(8L²) with unbiased estimates', () => {
    // Gradients (1, 0) and (0, 1): mean (½, ½), σ² = 1, ‖∇f‖² ≈ ½ − ½ = 0.
    expect(criticalDistance2(0.1, 2, { meanNorm2: 1, meanGradientNorm2: 0.5 }, 4)).toBeCloseTo((0.1 * 1) / (4 * 2), 12);
    // Equal gradients (3, 4): no noise.
    expect(criticalDistance2(0.1, 2, { meanNorm2: 25, meanGradientNorm2: 25 }, 2)).toBeCloseTo(25 / 32, 12);
    expect(criticalDistance2(0.1, 1, { meanNorm2: 25, meanGradientNorm2: 25 }, 2)).toBeCloseTo(25 / 32, 12);
  });

  it('waits for a first change to estimate the smoothness from, and counts momentum into the step', () => {
    const critical = settings({ kind: 'critical', fraction: 0.5 });
    const gradients = { meanNorm2: 2, meanGradientNorm2: 1 };
    expect(consensusDemand(critical, knowing(gradients), moment).demand).toBe('nothing');
    const change = { meanNorm2: 36, norm2OfMean: 36, parameters2: 4 };
    const { demand } = consensusDemand(critical, observeChange(knowing(gradients), 2, change), {
      ...moment,
      momentum: 0.9,
    });
    expect(demand).toBeCloseTo(0.5 * Math.sqrt(criticalDistance2(1, 2, gradients, 3)), 12);
  });

  it('finds the smoothness of a quadratic through the noise in the change of its gradients', () => {
    // h_i = L·Δx + noise of the same size as that in each of 1000 places, for n = 8.
    const [n, size, L] = [8, 1000, 3];
    const random = new Random(1, 'test');
    let memory = noMemory;
    for (let step = 0; step < 30; step++) {
      const moved = Float64Array.from({ length: size }, () => random.normal());
      const changes = Array.from({ length: n }, () => moved.map((d) => L * d + 3 * L * random.normal()));
      const mean = moved.map((_, c) => changes.reduce((sum, h) => sum + h[c]!, 0) / n);
      const norm2 = (v: Float64Array) => v.reduce((sum, value) => sum + value ** 2, 0);
      memory = observeChange(memory, n, {
        meanNorm2: changes.reduce((sum, h) => sum + norm2(h), 0) / n,
        norm2OfMean: norm2(mean),
        parameters2: norm2(moved),
      });
    }
    const smoothness = Math.sqrt(memory.smoothnessSum / memory.smoothnessWeight);
    // Without the correction it would be √(1 + 9/8) times as large.
    expect(Math.abs(smoothness / L - 1)).toBeLessThan(0.05);
  });
});
