import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import type { Task } from '../../src/model/context.ts';
import { initialise } from '../../src/model/layout.ts';
import { buildModel, modelSchema, usualTask } from '../../src/model/models.ts';
import { allocate, gradientStep, stepBuffers } from '../../src/model/step.ts';
import type { Backend } from '../../src/tensor/backend.ts';
import { backends } from '../backends.ts';

/**
 * Every full model: along its gradient the loss changes as the gradient says, to 1 %. Images and texts are smaller than
 * usual where the usual ones would take minutes; the parameters are all there.
 */
const cases: [settings: Record<string, unknown>, batch: number, task?: Partial<Task>][] = [
  [{ kind: 'mlp', activation: 'gelu', dropout: 0.3 }, 16],
  [{ kind: 'cnn' }, 8],
  [{ kind: 'resnet20' }, 8],
  [{ kind: 'resnet20', shortcut: 'pad', norm: 'group' }, 4],
  [{ kind: 'resnet56' }, 4, { shape: [3, 16, 16] }],
  [{ kind: 'resnet18' }, 4, { shape: [3, 64, 64] }],
  [{ kind: 'resnet50' }, 4, { shape: [3, 64, 64] }],
  [{ kind: 'densenet100' }, 2, { shape: [3, 16, 16] }],
  [{ kind: 'densenet100', bottleneck: true, dropout: 0.2 }, 2, { shape: [3, 16, 16] }],
  [{ kind: 'lstm', bptt: 8 }, 4, { classes: 500 }],
];

async function slopes(backend: Backend, settings: Record<string, unknown>, batch: number, task: Partial<Task> = {}) {
  const parsed = modelSchema.parse(settings);
  const whole = { ...usualTask(parsed.kind), ...task };
  const step = gradientStep(buildModel(parsed, whole), batch);
  const executable = await backend.compile(step.program);
  const memory = allocate(step);
  const random = new Random(1, 'test');
  const draw = memory.x instanceof Int32Array ? () => random.below(whole.classes) : () => random.normal();
  memory.x.forEach((_, i) => {
    memory.x[i] = draw();
  });
  memory.labels.forEach((_, i) => {
    memory.labels[i] = random.below(whole.classes);
  });
  memory.key!.set([random.uint32() | 0, random.uint32() | 0]);
  memory.params!.set(initialise(step.params, 1));
  // Fresh bottleneck blocks at full strength bend the loss within any distance that float32 can measure.
  for (const { name, offset, size } of step.params)
    if (name.endsWith('bn3.weight')) memory.params!.fill(0.1, offset, offset + size);
  memory.state?.set(initialise(step.state, 1));
  const run = executable.bind(stepBuffers(step, memory));
  await run();
  const [start, gradient] = [memory.params!.slice(), memory.gradient!.slice()];
  const predicted = gradient.reduce((sum, g) => sum + g * g, 0);
  // Far enough that the loss changes by thousands of its roundings, near enough that it bends little.
  const distance = 1e-3 / predicted;
  const lossAt = async (way: number) => {
    for (let i = 0; i < start.length; i++) memory.params![i] = start[i]! + way * gradient[i]!;
    await run();
    return memory.loss![0]!;
  };
  const measured = ((await lossAt(distance)) - (await lossAt(-distance))) / (2 * distance);
  await executable.close();
  return { predicted, measured };
}

describe.each(backends)(
  '$title: the directional derivative is the squared norm of the gradient:',
  ({ backend, skip }) => {
    it.skipIf(skip).each(cases)('%o', async (settings, batch, task) => {
      const { predicted, measured } = await slopes(backend, settings, batch, task);
      expect(measured / predicted).toBeGreaterThan(0.99);
      expect(measured / predicted).toBeLessThan(1.01);
    });
  },
);
