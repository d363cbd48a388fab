import { describe, expect, it } from 'vitest';
import { onnx } from '../onnx/backend.ts';
import { chain } from '../optim/transform.ts';
import { globalAvgPool, reshape } from '../tensor/operations.ts';
import { f32, i32 } from '../tensor/program.ts';
import { interpret } from '../tensor/reference.ts';
import type { Model } from './context.ts';
import { batchNorm, conv, dense, groupNorm, layerNorm } from './layers.ts';
import { initialise, rowSize } from './layout.ts';
import { allocate, evalStep, rowsOf, stepBuffers, trainStep } from './step.ts';

const normalised: Model = {
  kind: 'test',
  batch: (size) => ({ x: f32(size, 2), labels: i32(size) }),
  forward: (context, x) => batchNorm(context, 'bn', x),
};

describe('batch norm', () => {
  it('moves its running statistics as PyTorch does, and evaluates with them', async () => {
    const step = trainStep(normalised, 4, chain());
    const memory = Object.assign(allocate(step), {
      params: initialise(step.params, 1),
      state: initialise(step.state, 1),
      // The second channel is the first one doubled.
      x: Float32Array.from([1, 2, 4, 9].flatMap((value) => [value, 2 * value])),
    });
    expect(step.state.map(({ name }) => name)).toEqual(['bn.running_mean', 'bn.running_var']);
    expect([...memory.state]).toEqual([0, 0, 1, 1]);
    const executable = await onnx.compile(step.program);
    await executable.bind(stepBuffers(step, memory))();
    await executable.close();
    // torch.nn.BatchNorm1d: mean 4, unbiased variance 38/3; running_mean .4, running_var 2.1666…
    [0.4, 0.8, 13 / 6, 0.9 + (0.1 * 4 * 38) / 3].forEach((wanted, i) => {
      expect(memory["state'"]![i]).toBeCloseTo(wanted, 5);
    });

    const evaluation = evalStep(normalised, 1);
    expect(rowsOf(evaluation)).not.toHaveProperty("state'");
    const given = {
      ...stepBuffers(evaluation, { params: memory.params, state: memory["state'"]! }),
      x: [1, 1],
      labels: [0],
    };
    const logits = [(1 - 0.4) / Math.sqrt(13 / 6 + 1e-5), (1 - 0.8) / Math.sqrt(0.9 + (0.1 * 4 * 38) / 3 + 1e-5)];
    const wanted = Math.log(Math.exp(logits[0]!) + Math.exp(logits[1]!)) - logits[0]!;
    expect(interpret(evaluation.program, given).losses![0]).toBeCloseTo(wanted, 5);
  });
});

it('give every parameter its name, shape, kind and first value', () => {
  const model: Model = {
    kind: 'test',
    batch: (size) => ({ x: f32(size, 4, 5, 5), labels: i32(size) }),
    forward(context, x) {
      const y = groupNorm(context, 'gn', conv(context, 'conv', x, 6, 3, { padding: 1, groups: 2 }), 3);
      return dense(context, 'fc', reshape(layerNorm(context, 'ln', globalAvgPool(y)), [y.shape[0]!, 6]), 3, {
        bias: false,
      });
    },
  };
  const { params } = evalStep(model, 2);
  const row = initialise(params, 7);
  expect(params.map(({ name, shape, kind, offset }) => `${offset} ${name} [${shape}] ${kind}`)).toEqual([
    '0 conv.weight [6,2,3,3] weight',
    '108 conv.bias [6] bias',
    '114 gn.weight [6] norm',
    '120 gn.bias [6] norm',
    '126 ln.weight [6] norm',
    '132 ln.bias [6] norm',
    '138 fc.weight [3,6] weight',
  ]);
  expect(rowSize(params)).toBe(156);
  expect([...row.subarray(114, 126)]).toEqual([1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]);
  const bound = 1 / Math.sqrt(18);
  const weight = row.subarray(0, 108);
  expect(Math.max(...weight)).toBeLessThan(bound);
  expect(Math.max(...weight)).toBeGreaterThan(0.8 * bound);
  expect(Math.min(...weight)).toBeLessThan(-0.8 * bound);
  expect(initialise(params, 7)).toEqual(row);
  expect(initialise(params, 8)).not.toEqual(row);
});
