import { Random } from '../../src/base/random.ts';
import { initialise } from '../../src/model/layout.ts';
import { buildModel, modelSchema } from '../../src/model/models.ts';
import { allocate, gradientStep, stepBuffers } from '../../src/model/step.ts';
import { onednn } from '../../src/onednn/backend.ts';
import { interpret } from '../../src/tensor/reference.ts';

/** For each parameter tensor the distance of its gradient from the float64 one, relative to that one's norm. */
export async function errors(
  settings: object,
  shape: readonly number[],
  batch: number,
  shift?: number,
): Promise<number[]> {
  const step = gradientStep(buildModel(modelSchema.parse(settings), { shape, classes: 10 }), batch);
  const memory = allocate(step);
  const random = new Random(1, 'test');
  memory.x.forEach((_, i) => {
    memory.x[i] = memory.x instanceof Int32Array ? random.below(10) : random.normal();
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
