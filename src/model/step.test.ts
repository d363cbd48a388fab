import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { onnx } from '../onnx/backend.ts';
import { chain, momentum } from '../optim/transform.ts';
import { initialise, rowSize } from './layout.ts';
import { mlp, mlpSchema } from './mlp.ts';
import { allocate, evalStep, gradientStep, stepBuffers, trainStep } from './step.ts';

/** Three noisy clusters in the plane of 8 inputs, told apart by a circle: not linearly separable. */
function circles(samples: number, seed: number) {
  const random = new Random(seed, 'test');
  const x = new Float32Array(samples * 8);
  const labels = new Int32Array(samples);
  for (let i = 0; i < samples; i++) {
    labels[i] = i % 3;
    const [angle, radius] = [2 * Math.PI * random.uniform(), 0.5 + labels[i]! + 0.1 * random.normal()];
    x.set([radius * Math.cos(angle), radius * Math.sin(angle)], i * 8);
    for (let j = 2; j < 8; j++) x[i * 8 + j] = 0.1 * random.normal();
  }
  return { x, labels };
}

const model = mlp(mlpSchema.parse({ kind: 'mlp', hidden: [32, 16] }), { shape: [8], classes: 3 });
const batch = 48;

async function train(steps: number): Promise<{ params: Float32Array; losses: number[]; accuracy: number }> {
  const step = trainStep(model, batch, chain(momentum(0.9)));
  const executable = await onnx.compile(step.program);
  const memory = allocate(step);
  const other = {
    ...memory,
    params: memory["params'"]!,
    "params'": memory.params!,
    momentum: memory["momentum'"]!,
    "momentum'": memory.momentum!,
  };
  memory.params!.set(initialise(step.params, 1));
  memory.learningRate![0] = 0.1;
  const runs = [executable.bind(stepBuffers(step, memory)), executable.bind(stepBuffers(step, other))];
  const losses: number[] = [];
  for (let i = 0; i < steps; i++) {
    const data = circles(batch, i);
    memory.x.set(data.x);
    memory.labels.set(data.labels);
    await runs[i % 2]!();
    losses.push(memory.loss![0]!);
  }
  await executable.close();
  const params = steps % 2 === 0 ? memory.params! : memory["params'"]!;

  const evaluation = evalStep(model, 300);
  const evaluator = await onnx.compile(evaluation.program);
  const test = circles(300, 1_000_000);
  const results = Object.assign(allocate(evaluation), test, { params });
  await evaluator.bind(stepBuffers(evaluation, results))();
  await evaluator.close();
  return { params, losses, accuracy: results.correct!.reduce((sum, value) => sum + value, 0) / 300 };
}

describe('an mlp', () => {
  it('learns, and the same run gives the same bits', async () => {
    const first = await train(300);
    expect(first.losses[0]).toBeGreaterThan(1);
    expect(first.losses.at(-1)).toBeLessThan(0.1);
    expect(first.accuracy).toBeGreaterThan(0.97);
    expect((await train(300)).params).toEqual(first.params);
  });

  it('has a gradient that predicts the change of the loss', async () => {
    const step = gradientStep(model, batch);
    const executable = await onnx.compile(step.program);
    const memory = Object.assign(allocate(step), circles(batch, 1), { params: initialise(step.params, 1) });
    const run = executable.bind(stepBuffers(step, memory));
    await run();
    const direction = memory.gradient!.slice();
    const squared = direction.reduce((sum, g) => sum + g * g, 0);
    expect(memory.gradientNorm2![0]! / squared).toBeCloseTo(1, 5);
    const lossAt = async (distance: number) => {
      const before = memory.params.slice();
      memory.params.forEach((value, i) => {
        memory.params[i] = value + distance * direction[i]!;
      });
      await run();
      memory.params.set(before);
      return memory.loss![0]!;
    };
    const distance = 2e-3 / Math.sqrt(squared);
    const slope = ((await lossAt(distance)) - (await lossAt(-distance))) / (2 * distance);
    expect(slope / squared).toBeCloseTo(1, 2);
    await executable.close();
  });

  it('has the parameters its widths say', () => {
    const { params } = trainStep(model, batch, chain());
    expect(params.map(({ name, shape, kind }) => `${name} [${shape}] ${kind}`)).toEqual([
      'fc1.weight [32,8] weight',
      'fc1.bias [32] bias',
      'fc2.weight [16,32] weight',
      'fc2.bias [16] bias',
      'fc3.weight [3,16] weight',
      'fc3.bias [3] bias',
    ]);
    expect(rowSize(params)).toBe(8 * 32 + 32 + 32 * 16 + 16 + 16 * 3 + 3);
  });
});
