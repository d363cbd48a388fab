import { describe, expect, it } from 'vitest';
import {
  constant,
  cosine,
  learningRate,
  multiStep,
  oneCycle,
  scaledRate,
  scaleFactor,
  schedule,
  scheduleSchema,
} from './schedule.ts';

describe('schedules', () => {
  it.each([
    [
      'constant',
      constant(),
      [
        [0, 1],
        [7.5, 1],
      ],
    ],
    [
      'multi-step',
      multiStep([30, 60]),
      [
        [0, 1],
        [29.9, 1],
        [30, 0.1],
        [60, 0.01],
        [90, 0.01],
      ],
    ],
    [
      'multi-step by a half',
      multiStep([10], 0.5),
      [
        [9, 1],
        [10, 0.5],
      ],
    ],
    [
      'cosine',
      cosine(100),
      [
        [0, 1],
        [50, 0.5],
        [100, 0],
        [120, 0],
      ],
    ],
    // cos(π/3) = ½: .1 + .9·¾
    [
      'cosine to a tenth',
      cosine(90, 0.1),
      [
        [0, 1],
        [30, 0.775],
        [90, 0.1],
      ],
    ],
    [
      'one cycle',
      oneCycle(100),
      [
        [0, 0.04],
        [15, 0.52],
        [30, 1],
        [65, 0.500002],
        [100, 0.000004],
      ],
    ],
  ] as const)('%s', (_, rate, points) => {
    for (const [epoch, factor] of points) expect(rate(epoch)).toBeCloseTo(factor, 9);
  });

  it('are what their settings say', () => {
    const settings = [
      { kind: 'multiStep', milestones: [2] },
      { kind: 'cosine', epochs: 4 },
      { kind: 'oneCycle', epochs: 4 },
      { kind: 'constant' },
    ];
    const rates = settings.map((one) => schedule(scheduleSchema.parse(one))(2));
    [0.1, 0.5, oneCycle(4)(2), 1].forEach((wanted, i) => {
      expect(rates[i]).toBeCloseTo(wanted, 12);
    });
    expect(scheduleSchema.safeParse({ kind: 'cosine', epochs: 0 }).success).toBe(false);
  });

  it('warm up from the base rate to the scaled rate, then follow', () => {
    const rate = learningRate({ base: 0.1, scaled: 0.9, warmUpEpochs: 4, schedule: multiStep([6]) });
    for (const [epoch, wanted] of [
      [0, 0.1],
      [2, 0.5],
      [3, 0.7],
      [4, 0.9],
      [6, 0.09],
    ] as const)
      expect(rate(epoch)).toBeCloseTo(wanted, 12);
    expect(learningRate({ base: 0.1, scaled: 0.9, warmUpEpochs: 0, schedule: constant() })(0)).toBeCloseTo(0.9, 12);
  });
});

it('scales the learning rate', () => {
  // 96 replicas on a ring, batch 32 each, against a base batch of 256.
  expect(scaleFactor('topology', 2, 96)).toBe(3);
  expect(scaleFactor('world', 2, 96)).toBe(96);
  expect(scaleFactor(5, 2, 96)).toBe(5);
  expect(scaledRate('none', 0.1, 96, 32, 256)).toBe(0.1);
  expect(scaledRate('linear', 0.1, 3, 32, 256)).toBeCloseTo(0.0375, 12);
  expect(scaledRate('sqrt', 0.1, 96, 32, 256)).toBeCloseTo(0.1 * Math.sqrt(12), 12);
});
