import { expect, it } from 'vitest';
import { onnx } from '../onnx/backend.ts';
import type { TaskKind } from './loss.ts';
import { buildModel } from './models.ts';
import { allocate, evalStep, gradientStep, stepBuffers } from './step.ts';

/** A linear model of two features and two outputs, three samples. */
const x = [1, 2, -1, 0.5, 3, -2];
const weights = [0.5, -1, 2, 0.25];
const biases = [0.1, -0.3];
const targets: Readonly<Record<string, readonly number[]>> = {
  regression: [1, -1, 0.5, 2, 0, 3],
  'multi-label': [1, 0, 1, 1, 0, 0],
};
const outputs = [0, 1, 2].flatMap((i) =>
  [0, 1].map((o) => weights[2 * o]! * x[2 * i]! + weights[2 * o + 1]! * x[2 * i + 1]! + biases[o]!),
);

async function computed(kind: TaskKind, build: typeof gradientStep) {
  const model = buildModel(
    { kind: 'mlp', hidden: [], activation: 'relu', dropout: 0 },
    { shape: [2], classes: 2, kind },
  );
  const step = build(model, 3);
  const executable = await onnx.compile(step.program);
  const memory = allocate(step);
  memory.params!.set([...weights, ...biases]);
  memory.x.set(x);
  memory.labels.set(targets[kind]!);
  await executable.bind(stepBuffers(step, memory))();
  await executable.close();
  return memory;
}

/** The loss of one output, and its derivative. */
const rules: Readonly<Record<string, (z: number, y: number) => readonly [loss: number, slope: number]>> = {
  regression: (z, y) => [(z - y) ** 2, 2 * (z - y)],
  'multi-label': (z, y) => [Math.log1p(Math.exp(z)) - z * y, 1 / (1 + Math.exp(-z)) - y],
};

it.each(['regression', 'multi-label'] as const)(
  '%s: loss and gradient as by hand, mean over all outputs',
  async (kind) => {
    const each = outputs.map((z, i) => rules[kind]!(z, targets[kind]![i]!));
    const { loss, gradient, correct } = await computed(kind, gradientStep);
    expect(loss![0]).toBeCloseTo(each.reduce((sum, [value]) => sum + value, 0) / 6, 5);
    const slope = (o: number, f: number) =>
      [0, 1, 2].reduce((sum, i) => sum + each[2 * i + o]![1] * x[2 * i + f]!, 0) / 6;
    [slope(0, 0), slope(0, 1), slope(1, 0), slope(1, 1)].forEach((value, i) => {
      expect(gradient![i]).toBeCloseTo(value, 5);
    });
    const right = outputs.filter((z, i) => z > 0 === (targets[kind]![i] === 1)).length;
    expect(correct?.[0]).toBe(kind === 'regression' ? undefined : right);
    const tested = await computed(kind, evalStep);
    each.forEach(([value], i) => {
      expect(tested.losses![i]).toBeCloseTo(value, 5);
    });
  },
);
