import { expect, it } from 'vitest';
import { add } from '../tensor/operations.ts';
import { f32, i32 } from '../tensor/program.ts';
import { interpret } from '../tensor/reference.ts';
import type { Model } from './context.ts';
import { distilStep, teacherStep } from './step.ts';

/** Its logits are its parameters, and the samples are 0. */
const model: Model = {
  kind: 'test',
  batch: (size) => ({ x: f32(size, 3), labels: i32(size) }),
  forward: (context, x) => add(x, context.param('logits', [3], { kind: 'constant', value: 0 }, 'bias')),
};
const [z, t] = [
  [0.2, -0.1, 0.4],
  [1, 0, -1],
];
const samples = { x: [0, 0, 0, 0, 0, 0], labels: [2, 0] };

/** KL(softmax(t/T) ‖ softmax(z/T)) and its gradient by z, as computed by another program. */
it.each([
  [1, 0.308956163, [-0.327656418, 0.005360306, 0.322296112]],
  [3, 0.044038502, [-0.037389372, -0.005683252, 0.043072624]],
])('at temperature %d', (temperature, divergence, gradient) => {
  const asked = interpret(teacherStep(model, 2, temperature).program, { ...samples, 'params/logits': t });
  const p = [...asked.probabilities!];
  const target = p.map((value, k) => (k === 2 || k === 3 ? 1 : 0) - value);
  const given = { ...samples, 'params/logits': z, target, key: [0, 0] };
  const { loss, ...found } = interpret(distilStep(model, 2, temperature).program, given);
  const entropy = -p.slice(0, 3).reduce((sum, value) => sum + value * Math.log(value), 0);
  expect(loss![0]! - entropy).toBeCloseTo(divergence, 8);
  gradient.forEach((value, k) => {
    expect(found['gradient/logits']![k]).toBeCloseTo(value, 8);
  });
});
