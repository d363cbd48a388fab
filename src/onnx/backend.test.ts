import { describe, expect, it } from 'vitest';
import { firstNonFinite } from '../tensor/diagnose.ts';
import { add, conv2d, div, embedding, matmul, mean, relu, reshape, softmaxCrossEntropy } from '../tensor/operations.ts';
import { f32, i32, type Program } from '../tensor/program.ts';
import { trace } from '../tensor/trace.ts';
import { onnx, openSession } from './backend.ts';
import { toOnnx } from './lowering.ts';

const classifier = trace((t) => {
  const logits = matmul(t.input('x', f32(2, 3)), t.input('weight', f32(3, 4)));
  return { loss: mean(softmaxCrossEntropy(logits, reshape(t.input('labels', i32(2, 1)), [2]))) };
});
const buffers = () => ({
  x: Float32Array.of(1, 2, 3, 4, 5, 6),
  weight: new Float32Array(12).fill(0.5),
  labels: Int32Array.of(0, 3),
  loss: new Float32Array(1),
});

describe('bad input', () => {
  const binding = async (wrong: Record<string, unknown>) => {
    const executable = await onnx.compile(classifier);
    return executable.bind({ ...buffers(), ...wrong } as never)();
  };
  const shared = new Float32Array(new SharedArrayBuffer(24));
  const overlapping = new Float32Array(7);

  it.each([
    ['x is f32[2,3] = 6 elements, got 5', { x: new Float32Array(5) }],
    ['x is f32[2,3], got memory of type int32', { x: new Int32Array(6) }],
    ['nothing is bound to weight: f32[3,4]', { weight: undefined }],
    ['"y" is neither an input nor an output', { y: new Float32Array(1) }],
    ['x: shared memory cannot be bound', { x: shared }],
    ['the memory of loss overlaps that of x', { x: overlapping.subarray(0, 6), loss: overlapping.subarray(5, 6) }],
    ['softmaxCrossEntropy: labels must be from 0 to 3, but labels[1] is 4', { labels: Int32Array.of(0, 4) }],
    ['softmaxCrossEntropy: labels must be from 0 to 3, but labels[0] is -1', { labels: Int32Array.of(-1, 0) }],
  ])('%s', async (message, wrong) => {
    await expect(binding(wrong)).rejects.toMatchObject({ name: 'UserError', message });
  });

  it('names a token that the table does not have', async () => {
    const program = trace((t) => ({ y: embedding(t.input('table', f32(3, 2)), t.input('tokens', i32(2))) }));
    const executable = await onnx.compile(program);
    const run = executable.bind({ table: new Float32Array(6), tokens: Int32Array.of(1, 3), y: new Float32Array(4) });
    await expect(run()).rejects.toThrow('embedding: indices must be from 0 to 2, but tokens[1] is 3');
  });

  it('is a graph that onnxruntime cannot load', async () => {
    const bytes = toOnnx(classifier);
    for (const wrong of [bytes.slice(0, bytes.length / 2), Uint8Array.of(1, 2, 3), new Uint8Array(0)])
      await expect(openSession(wrong)).rejects.toMatchObject({
        name: 'UserError',
        message: expect.stringMatching(/cannot load/),
      });
  });

  it('is an unknown op or a type that its op does not yield', async () => {
    const renamed = { ...classifier, nodes: [{ ...classifier.nodes[0]!, op: 'matmull' }] } as unknown as Program;
    await expect(onnx.compile(renamed)).rejects.toMatchObject({
      message: 'unknown op "matmull"',
      hint: 'did you mean "matmul"?',
    });
    const reshaped = {
      ...classifier,
      types: classifier.types.map((type) => (type.shape[1] === 4 && type.shape[0] === 2 ? f32(4, 2) : type)),
    };
    await expect(onnx.compile(reshaped)).rejects.toThrow('matmul: yields f32[2,4], but the program says f32[4,2]');
  });

  it('is a NaN, which does not stop the process and is found', async () => {
    const wrong = buffers();
    wrong.x[4] = Number.NaN;
    const executable = await onnx.compile(classifier);
    await executable.bind(wrong)();
    expect(wrong.loss[0]).toBeNaN();
    expect(await firstNonFinite(onnx, classifier, wrong)).toBe('input x: f32[2,3] holds NaN at 4');
    expect(await firstNonFinite(onnx, classifier, buffers())).toBeUndefined();
    const program = trace((t) => ({ y: add(1, div(1, relu(t.input('x', f32(2))))) }));
    const given = { x: Float32Array.of(1, -1), y: new Float32Array(2) };
    expect(await firstNonFinite(onnx, program, given)).toBe(
      'div(f32[], f32[2]) → f32[2] is the first to give Infinity',
    );
  });

  it('is a closed executable', async () => {
    const executable = await onnx.compile(classifier);
    const run = executable.bind(buffers());
    await run();
    await executable.close();
    await executable.close();
    await expect(run()).rejects.toThrow('closed');
  });
});

it('gives the same with two threads', async () => {
  const [one, two] = [buffers(), buffers()];
  for (const [memory, threads] of [
    [one, 1],
    [two, 2],
  ] as const) {
    const executable = await onnx.compile(classifier, { threads });
    await executable.bind(memory)();
    await executable.close();
  }
  // Equal logits: log 4.
  expect(one.loss[0]).toBeCloseTo(Math.log(4), 6);
  expect(two.loss[0]).toBeCloseTo(one.loss[0]!, 6);
});

it('reads and writes views in place, every time it runs', async () => {
  const program = trace((t) => ({ y: add(t.input('x', f32(3)), 1) }));
  const row = Float32Array.of(9, 1, 2, 3, 9, 0, 0, 0, 9);
  const executable = await onnx.compile(program);
  const run = executable.bind({ x: row.subarray(1, 4), y: row.subarray(5, 8) });
  await run();
  expect([...row]).toEqual([9, 1, 2, 3, 9, 2, 3, 4, 9]);
  row[1] = 5;
  await run();
  expect([...row]).toEqual([9, 5, 2, 3, 9, 6, 3, 4, 9]);
  await executable.close();
});

it('passes an input through and gives one value under two names', async () => {
  const program = trace((t) => {
    const x = t.input('x', f32(2));
    const y = relu(x);
    return { same: x, y, again: y };
  });
  const memory = {
    x: Float32Array.of(-1, 2),
    same: new Float32Array(2),
    y: new Float32Array(2),
    again: new Float32Array(2),
  };
  const executable = await onnx.compile(program);
  await executable.bind(memory)();
  expect(memory).toMatchObject({
    same: Float32Array.of(-1, 2),
    y: Float32Array.of(0, 2),
    again: Float32Array.of(0, 2),
  });
  await executable.close();
});

it('exports files of standard ops only', () => {
  const program = trace((t) => ({ y: conv2d(t.input('x', f32(2, 16, 8, 8)), t.input('w', f32(16, 16, 3, 3))) }));
  expect(Buffer.from(toOnnx(program)).includes('com.microsoft')).toBe(false);
  expect(Buffer.from(toOnnx(program, { portable: false, block: 8 })).includes('com.microsoft.nchwc')).toBe(true);
});
