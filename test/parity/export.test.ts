import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inferenceOnnx, stateDict } from '../../src/export/export.ts';
import type { Task } from '../../src/model/context.ts';
import { inferStep } from '../../src/model/infer.ts';
import { openSession } from '../../src/onnx/backend.ts';
import { RuntimeTensor } from '../../src/onnx/runtime.ts';
import { drawnClasses, drawnImages, drawnParameters, drawnState } from './drawn.ts';
import { goldenModel } from './model.ts';

/** What PyTorch calls the tensors of a model, and what it answers in float64: scripts/golden_export.py. */
interface Golden {
  readonly model: Readonly<Record<string, unknown>>;
  readonly task: Task;
  readonly batch: number;
  readonly stateDict: Readonly<Record<string, readonly number[]>>;
  readonly logits: readonly number[];
}

const golden: Readonly<Record<string, Golden>> = JSON.parse(
  readFileSync(new URL('../golden/export.json', import.meta.url), 'utf8'),
);

describe.each(Object.entries(golden))('%s', (_, { model: settings, task, batch, logits, ...wanted }) => {
  const model = goldenModel(settings, task);
  const step = inferStep(model, batch);
  const weights = { params: drawnParameters(step.params, 0), state: drawnState(step.state, 0) };

  it('has the tensors that load_state_dict(strict=True) asks for', () => {
    const tensors = [...stateDict(model, step, weights)];
    expect(Object.fromEntries(tensors.map(([name, { shape }]) => [name, shape]))).toEqual(wanted.stateDict);
  });

  it('answers as PyTorch does once it is an ONNX file', async () => {
    const session = await openSession(inferenceOnnx(model, step, weights), { optimize: true });
    const { dtype, shape } = step.batch.x;
    const x = dtype === 'int32' ? drawnClasses('x', shape[0]! * shape[1]!, task.classes, 0) : drawnImages(shape, 0);
    const states = model.sequential
      ? step.state.map(({ name, shape: axes, size }) => {
          return [`state/${name}`, new RuntimeTensor('float32', new Float32Array(size), axes)] as const;
        })
      : [];
    const inputs = { x: new RuntimeTensor(dtype, x, shape), ...Object.fromEntries(states) };
    expect(session.inputNames.toSorted()).toEqual(Object.keys(inputs).sort());
    const answered = (await session.run(inputs)).logits!.data as Float32Array;
    session.release();
    expect(answered).toHaveLength(logits.length);
    const largest = logits.reduce((most, value) => Math.max(most, Math.abs(value)), 1);
    const apart = logits.reduce((most, value, i) => Math.max(most, Math.abs(answered[i]! - value)), 0);
    expect(apart / largest).toBeLessThan(1e-5);
  });
});
