import { expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { onnx } from '../onnx/backend.ts';
import { chain, momentum } from '../optim/transform.ts';
import type { Task } from './context.ts';
import { initialise } from './layout.ts';
import { buildModel, modelSchema } from './models.ts';
import { allocate, stepBuffers, trainStep } from './step.ts';

/** Steps on one batch whose labels are random: what is learnt is learnt by heart. */
async function memorise(settings: object, task: Task, steps: number): Promise<number[]> {
  const step = trainStep(buildModel(modelSchema.parse(settings), task), 16, chain(momentum(0.9)));
  const memory = allocate(step);
  const random = new Random(3, 'test');
  memory.params!.set(initialise(step.params, 1));
  for (let i = 0; i < memory.x.length; i++) memory.x[i] = random.normal();
  for (let i = 0; i < memory.labels.length; i++) memory.labels[i] = random.below(10);
  memory.learningRate![0] = 0.02;
  const executable = await onnx.compile(step.program);
  const run = executable.bind(stepBuffers(step, memory));
  const losses: number[] = [];
  for (let i = 0; i < steps; i++) {
    memory.key.set([random.uint32() | 0, random.uint32() | 0]);
    await run();
    losses.push(memory.loss![0]!);
    memory.params!.set(memory["params'"]!);
    memory.momentum!.set(memory["momentum'"]!);
  }
  await executable.close();
  return losses;
}

it.each([
  [
    { kind: 'cnn', filters: [8, 16], hidden: [32] },
    { shape: [1, 12, 12], classes: 10 },
  ],
  [
    { kind: 'mlp', hidden: [64], dropout: 0.2 },
    { shape: [30], classes: 10 },
  ],
])('%o learns a batch by heart', async (settings, task) => {
  const losses = await memorise(settings, task, 80);
  expect(losses[0]).toBeGreaterThan(2);
  expect(losses.at(-1)).toBeLessThan(0.4);
});
