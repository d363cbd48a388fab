import { expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { onnx } from '../onnx/backend.ts';
import { chain, momentum } from '../optim/transform.ts';
import { initialise, rowSize } from './layout.ts';
import { buildModel, modelSchema } from './models.ts';
import { allocate, evalStep, gradientStep, type Step, stepBuffers, trainStep } from './step.ts';

it.each([
  [{ kind: 'mlp' }, 784 * 128 + 128 + 128 * 10 + 10],
  [{ kind: 'mlp', inputs: 20, hidden: [], classes: 2 }, 42],
  [{ kind: 'cnn' }, 16 * 25 + 16 + 32 * 16 * 25 + 32 + 32 * 49 * 128 + 128 + 1280 + 10],
])('%o has %i parameters', (settings, count) => {
  expect(rowSize(trainStep(buildModel(modelSchema.parse(settings)), 2, chain()).params)).toBe(count);
});

it('drops nothing outside training', () => {
  const model = buildModel(modelSchema.parse({ kind: 'mlp', hidden: [8, 8], dropout: 0.5 }));
  const masks = (step: Step) => step.program.nodes.filter(({ op }) => op === 'dropoutMask').length;
  expect([trainStep(model, 2, chain()), gradientStep(model, 2), evalStep(model, 2)].map(masks)).toEqual([2, 2, 0]);
});

it('refuses settings that no model has', () => {
  for (const wrong of [
    { kind: 'mpl' },
    { kind: 'mlp', width: 3 },
    { kind: 'mlp', hidden: [0] },
    { kind: 'cnn', kernel: 4 },
  ])
    expect(modelSchema.safeParse(wrong).success).toBe(false);
});

/** Steps on one batch whose labels are random: what is learnt is learnt by heart. */
async function memorise(settings: object, steps: number): Promise<number[]> {
  const step = trainStep(buildModel(modelSchema.parse(settings)), 16, chain(momentum(0.9)));
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
  [{ kind: 'cnn', size: 12, filters: [8, 16], hidden: [32] }],
  [{ kind: 'mlp', inputs: 30, hidden: [64], dropout: 0.2 }],
])('%o learns a batch by heart', async (settings) => {
  const losses = await memorise(settings, 80);
  expect(losses[0]).toBeGreaterThan(2);
  expect(losses.at(-1)).toBeLessThan(0.4);
});
