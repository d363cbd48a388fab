import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Model, Task } from '../../src/model/context.ts';
import { initialise, type Layout } from '../../src/model/layout.ts';
import { allocate, evalStep, gradientStep, type Step, stepBuffers, trainStep } from '../../src/model/step.ts';
import { optimizer, optimizerSchema } from '../../src/optim/optimizer.ts';
import type { Backend } from '../../src/tensor/backend.ts';
import { backends } from '../backends.ts';
import { drawnClasses, drawnImages, drawnParameters } from './drawn.ts';
import { goldenModel } from './model.ts';

const folder = new URL('../golden/torch/', import.meta.url);

/**
 * Every model against PyTorch: the golden files of scripts/golden.py, and of scripts/golden_onnx.py for imported models, hold
 * losses, gradients, movements of the parameters in three optimizer steps and running statistics, computed in float64. A tensor agrees when no element differs by more
 * than 1e-5 of the tensor's largest element, or than twice as much as PyTorch's own float32 differs where that is more
 * (AdamW, which divides by small numbers: up to 2e-5). A movement may differ by three roundings of the parameter as well,
 * one for each step: it is the difference of two float32 numbers.
 */
const toleranceOf = (float32Error: number) => Math.max(1e-5, 2 * float32Error);

interface Tensor {
  readonly norm: number;
  readonly largest: number;
  readonly entries: readonly number[];
}
type Tensors = Readonly<Record<string, Tensor>>;

interface Golden {
  readonly salt: number;
  readonly model: Readonly<Record<string, unknown>>;
  readonly task: Task;
  readonly batch: number;
  readonly loss: number;
  readonly gradient: Tensors;
  readonly state: Tensors;
  readonly float32Error: { readonly gradient: number; readonly state: number };
  readonly steps: readonly {
    readonly name: string;
    readonly optimizer: unknown;
    readonly learningRate: number;
    readonly losses: readonly number[];
    /** Of the model after the steps, with its running statistics. */
    readonly evalLoss: number;
    readonly moved: Tensors;
    readonly state: Tensors;
    readonly float32Error: { readonly moved: number; readonly state: number };
  }[];
}

function memoryOf(step: Step, { salt, task }: Golden) {
  const memory = allocate(step);
  memory.params!.set(drawnParameters(step.params, salt));
  if (step.state.length > 0) memory.state!.set(initialise(step.state, 0));
  memory.x.set(
    step.batch.x.dtype === 'int32'
      ? drawnClasses('x', memory.x.length, task.classes, salt)
      : drawnImages(step.batch.x.shape, salt),
  );
  memory.labels.set(drawnClasses('labels', memory.labels.length, task.classes, salt));
  return memory;
}

/** The tensors that are off, each with by how much; `start` as described above. */
function off(
  row: ArrayLike<number>,
  layout: Layout,
  wanted: Tensors,
  tolerance: number,
  start?: Float32Array,
): Record<string, string> {
  expect(Object.keys(wanted).sort()).toEqual(layout.map(({ name }) => name).sort());
  const wrong: Record<string, string> = {};
  for (const { name, offset, size } of layout) {
    const { norm, largest, entries } = wanted[name]!;
    const tensor = Float64Array.from({ length: size }, (_, i) => row[offset + i]!);
    const free =
      start === undefined
        ? 0
        : 3 * 2 ** -24 * start.subarray(offset, offset + size).reduce((most, v) => Math.max(most, Math.abs(v)), 0);
    const apart = Math.max(
      ...entries.map((value, i) => Math.abs(tensor[Math.floor((i * size) / entries.length)]! - value)),
    );
    const relative = Math.max(0, apart - free) / largest;
    if (!(relative <= tolerance)) wrong[name] = `an element is off by ${relative} of the largest`;
    const length = Math.sqrt(tensor.reduce((sum, value) => sum + value * value, 0));
    const longer = Math.max(0, Math.abs(length - norm) - free * Math.sqrt(size)) / Math.max(norm, largest);
    if (!(longer <= tolerance)) wrong[name] = `the norm is off by ${longer}: ${length}, PyTorch ${norm}`;
  }
  return wrong;
}

async function evaluated(
  backend: Backend,
  model: Model,
  golden: Golden,
  trained: ReturnType<typeof memoryOf>,
): Promise<number> {
  const step = evalStep(model, golden.batch);
  const executable = await backend.compile(step.program);
  const memory = memoryOf(step, golden);
  memory.params!.set(trained.params!);
  if (!model.sequential) memory.state?.set(trained.state!);
  await executable.bind(stepBuffers(step, memory))();
  await executable.close();
  return memory.losses!.reduce((sum, loss) => sum + loss, 0) / memory.losses!.length;
}

for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
  const golden = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Golden;
  describe.each(backends)(`${file.replace('.json', '')}, $title`, ({ backend, skip }) => {
    const model = goldenModel(golden.model, golden.task);

    it.skipIf(skip)('loss, gradients and state', async () => {
      const step = gradientStep(model, golden.batch);
      const executable = await backend.compile(step.program);
      const memory = memoryOf(step, golden);
      await executable.bind(stepBuffers(step, memory))();
      await executable.close();
      expect(memory.loss![0]! / golden.loss).toBeCloseTo(1, 6);
      const { float32Error } = golden;
      expect({
        gradient: off(memory.gradient!, step.params, golden.gradient, toleranceOf(float32Error.gradient)),
        state: off(memory["state'"] ?? [], step.state, golden.state, toleranceOf(float32Error.state)),
      }).toEqual({ gradient: {}, state: {} });
    });

    for (const { name, learningRate, losses, evalLoss, moved, state, float32Error, ...settings } of golden.steps)
      it.skipIf(skip)(`three steps of ${name}`, async () => {
        const step = trainStep(model, golden.batch, optimizer(optimizerSchema.parse(settings.optimizer)));
        const executable = await backend.compile(step.program);
        const memory = memoryOf(step, golden);
        const start = memory.params!.slice();
        memory.learningRate![0] = learningRate;
        const run = executable.bind(stepBuffers(step, memory));
        const found: number[] = [];
        for (let i = 0; i < 3; i++) {
          memory.step![0] = i;
          await run();
          found.push(memory.loss![0]!);
          for (const row of ['params', 'state', ...step.slots]) memory[row]?.set(memory[`${row}'`]!);
        }
        await executable.close();
        for (const [i, loss] of losses.entries()) expect(found[i]! / loss, `loss ${i}`).toBeCloseTo(1, 5);
        const way = Float64Array.from(memory.params!, (value, i) => value - start[i]!);
        expect({
          moved: off(way, step.params, moved, toleranceOf(float32Error.moved), start),
          state: off(memory.state ?? [], step.state, state, toleranceOf(float32Error.state)),
        }).toEqual({ moved: {}, state: {} });
        const ratio = (await evaluated(backend, model, golden, memory)) / evalLoss;
        expect(ratio, 'evaluation').toBeCloseTo(1, 5);
      });
  });
}
