import { Random } from '../../src/base/random.ts';
import type { Model } from '../../src/model/context.ts';
import { initialise } from '../../src/model/layout.ts';
import { allocate, evalStep, stepBuffers, trainStep } from '../../src/model/step.ts';
import { onnx } from '../../src/onnx/backend.ts';
import { optimizer, optimizerSchema } from '../../src/optim/optimizer.ts';
import type { Numbers } from '../../src/tensor/backend.ts';

export interface Replica {
  readonly rows: { readonly params: Float32Array; readonly state: Float32Array };
  /** One step on a batch; gives its loss. */
  train(x: Numbers, labels: Int32Array, learningRate: number): Promise<number>;
  close(): Promise<void>;
}

/** A single replica with an optimizer, as an engine would drive it. */
export async function replicaOf(model: Model, batch: number, settings: unknown, seed = 1): Promise<Replica> {
  const step = trainStep(model, batch, optimizer(optimizerSchema.parse(settings)));
  const executable = await onnx.compile(step.program);
  const memory = allocate(step);
  memory.params!.set(initialise(step.params, seed));
  const rows = { params: memory.params!, state: memory.state ?? new Float32Array() };
  rows.state.set(initialise(step.state, seed));
  const run = executable.bind(stepBuffers(step, memory));
  let count = 0;
  return {
    rows,
    async train(x, labels, learningRate) {
      const random = new Random(seed, 'dropout', 0, count);
      memory.x.set(x);
      memory.labels.set(labels);
      memory.key!.set([random.uint32() | 0, random.uint32() | 0]);
      memory.learningRate![0] = learningRate;
      memory.step![0] = count++;
      await run();
      for (const row of ['params', 'state', ...step.slots]) memory[row]?.set(memory[`${row}'`] ?? memory[row]!);
      return memory.loss![0]!;
    },
    close: () => executable.close(),
  };
}

/** Mean loss and accuracy over batches; the state of a sequential model starts anew and is carried on. */
export async function evaluate(
  model: Model,
  batch: number,
  { params, state }: Replica['rows'],
  batches: Iterable<{ readonly x: Numbers; readonly labels: Int32Array }>,
): Promise<{ loss: number; accuracy: number }> {
  const step = evalStep(model, batch);
  const executable = await onnx.compile(step.program);
  const memory = allocate(step);
  memory.params!.set(params);
  memory.state?.set(model.sequential ? initialise(step.state, 0) : state);
  const run = executable.bind(stepBuffers(step, memory));
  let [losses, correct, labelled] = [0, 0, 0];
  for (const { x, labels } of batches) {
    memory.x.set(x);
    memory.labels.set(labels);
    await run();
    if (memory["state'"] !== undefined) memory.state!.set(memory["state'"]);
    losses += memory.losses!.reduce((sum, loss) => sum + loss, 0);
    correct += memory.correct!.reduce((sum, hit) => sum + hit, 0);
    labelled += labels.length;
  }
  await executable.close();
  return { loss: losses / labelled, accuracy: correct / labelled };
}
