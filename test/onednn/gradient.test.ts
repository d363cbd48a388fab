import { describe, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { quantile } from '../../src/base/statistics.ts';
import { initialise } from '../../src/model/layout.ts';
import { buildModel, modelSchema } from '../../src/model/models.ts';
import { allocate, gradientStep, stepBuffers } from '../../src/model/step.ts';
import { onednn } from '../../src/onednn/backend.ts';
import { interpret } from '../../src/tensor/reference.ts';
import { noOneDnn } from '../backends.ts';

/** For each parameter tensor the distance of its gradient from the float64 one, relative to that one's norm. */
async function errors(settings: object, shape: readonly number[], batch: number, shift?: number): Promise<number[]> {
  const step = gradientStep(buildModel(modelSchema.parse(settings), { shape, classes: 10 }), batch);
  const memory = allocate(step);
  const random = new Random(1, 'test');
  memory.x.forEach((_, i) => {
    memory.x[i] = random.normal();
  });
  memory.labels.forEach((_, i) => {
    memory.labels[i] = random.below(10);
  });
  memory.params!.set(initialise(step.params, 1));
  memory.state?.set(initialise(step.state, 1));
  for (const { name, kind, offset, size } of step.params)
    if (shift !== undefined && kind === 'norm' && name.endsWith('.bias'))
      memory.params!.fill(shift, offset, offset + size);
  const buffers = stepBuffers(step, memory);
  const executable = await onednn.compile(step.program);
  await executable.bind(buffers)();
  await executable.close();
  const wanted = interpret(step.program, buffers);
  return step.params.map(({ name }) => {
    const [given, exact] = [buffers[`gradient/${name}`]!, wanted[`gradient/${name}`]!];
    const apart = Math.sqrt(exact.reduce((sum, value, i) => sum + (given[i]! - value) ** 2, 0));
    return apart / Math.sqrt(exact.reduce((sum, value) => sum + value * value, 0));
  });
}

describe.skipIf(noOneDnn !== undefined)(`oneDNN against float64${noOneDnn ? ` (${noOneDnn})` : ''}`, () => {
  it('mlp: every tensor within 1e-5', async () => {
    expect(Math.max(...(await errors({ kind: 'mlp' }, [784], 32)))).toBeLessThan(1e-5);
  });

  it('resnet20 as it starts: every tensor within 1e-5', async () => {
    expect(Math.max(...(await errors({ kind: 'resnet20' }, [3, 8, 8], 4)))).toBeLessThan(1e-5);
  });

  it('resnet20 with every ReLU off zero, where gradients nearly cancel: every tensor within 1e-3, 3e-5 in the median', async () => {
    const distances = await errors({ kind: 'resnet20' }, [3, 8, 8], 4, 6);
    expect(Math.max(...distances)).toBeLessThan(1e-3);
    expect(quantile(distances, 0.5)).toBeLessThan(3e-5);
  });
});
