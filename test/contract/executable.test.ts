import { describe, expect, it } from 'vitest';
import { add, embedding, matmul, mean, relu, reshape, softmaxCrossEntropy } from '../../src/tensor/operations.ts';
import { f32, i32, type Program } from '../../src/tensor/program.ts';
import { trace } from '../../src/tensor/trace.ts';
import { backends } from '../backends.ts';

/** What every backend's executables do with the memory they are given. */

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

describe.each(backends)('$title', ({ backend, skip }) => {
  describe.skipIf(skip)('bad input', () => {
    const overlapping = new Float32Array(7);

    it.each([
      ['x is f32[2,3] = 6 elements, got 5', { x: new Float32Array(5) }],
      ['x is f32[2,3], got memory of type int32', { x: new Int32Array(6) }],
      ['nothing is bound to weight: f32[3,4]', { weight: undefined }],
      ['"y" is neither an input nor an output', { y: new Float32Array(1) }],
      ['the memory of loss overlaps that of x', { x: overlapping.subarray(0, 6), loss: overlapping.subarray(5, 6) }],
      ['softmaxCrossEntropy: labels must be from 0 to 3, but labels[1] is 4', { labels: Int32Array.of(0, 4) }],
      ['softmaxCrossEntropy: labels must be from 0 to 3, but labels[0] is -1', { labels: Int32Array.of(-1, 0) }],
    ])('%s', async (message, wrong) => {
      const executable = await backend.compile(classifier);
      const run = async () => executable.bind({ ...buffers(), ...wrong } as never)();
      await expect(run()).rejects.toMatchObject({ name: 'UserError', message });
      await executable.close();
    });

    it('is memory that lacks or overlaps over several parts', async () => {
      const executable = await backend.compile(classifier);
      const { x, weight, labels, loss } = buffers();
      expect(() => executable.bind({ x, labels }, { loss })).toThrow('nothing is bound to weight: f32[3,4]');
      const shared = new Float32Array(13);
      const parts = [{ x, labels }, { weight: shared.subarray(0, 12) }, { loss: shared.subarray(11, 12) }] as const;
      expect(() => executable.bind(...parts)).toThrow('the memory of loss overlaps that of weight');
      await executable.bind({ x, labels }, { weight }, { loss })();
      expect(loss[0]).toBeCloseTo(Math.log(4), 5);
      await executable.close();
    });

    it('names a token that the table does not have', async () => {
      const program = trace((t) => ({ y: embedding(t.input('table', f32(3, 2)), t.input('tokens', i32(2))) }));
      const executable = await backend.compile(program);
      const run = executable.bind({ table: new Float32Array(6), tokens: Int32Array.of(1, 3), y: new Float32Array(4) });
      await expect((async () => run())()).rejects.toThrow('embedding: indices must be from 0 to 2, but tokens[1] is 3');
      await executable.close();
    });

    it('is an unknown op or a type that its op does not yield', async () => {
      const renamed = { ...classifier, nodes: [{ ...classifier.nodes[0]!, op: 'matmull' }] } as unknown as Program;
      await expect(backend.compile(renamed)).rejects.toMatchObject({
        message: 'unknown op "matmull"',
        hint: 'did you mean "matmul"?',
      });
      const reshaped = {
        ...classifier,
        types: classifier.types.map((type) => (type.shape[1] === 4 && type.shape[0] === 2 ? f32(4, 2) : type)),
      };
      await expect(backend.compile(reshaped)).rejects.toThrow('matmul: yields f32[2,4], but the program says f32[4,2]');
    });

    it('is a NaN, which does not stop the process and is found', async () => {
      const wrong = buffers();
      wrong.x[4] = Number.NaN;
      const executable = await backend.compile(classifier);
      await executable.bind(wrong)();
      await executable.close();
      expect(wrong.loss[0]).toBeNaN();
    });

    it('is a closed executable', async () => {
      const executable = await backend.compile(classifier);
      const run = executable.bind(buffers());
      await run();
      await executable.close();
      await executable.close();
      await expect((async () => run())()).rejects.toThrow('closed');
    });
  });

  it.skipIf(skip)('gives the same with two threads', async () => {
    const [one, two] = [buffers(), buffers()];
    for (const [memory, threads] of [
      [one, 1],
      [two, 2],
    ] as const) {
      const executable = await backend.compile(classifier, { threads });
      await executable.bind(memory)();
      await executable.close();
    }
    // Equal logits: log 4, from which oneDNN's softmax is a few roundings away.
    expect(one.loss[0]).toBeCloseTo(Math.log(4), backend.name === 'onednn' ? 5 : 6);
    expect(two.loss[0]).toBeCloseTo(one.loss[0]!, 6);
  });

  it.skipIf(skip)('reads and writes views in place, every time it runs', async () => {
    const program = trace((t) => ({ y: add(t.input('x', f32(3)), 1) }));
    const row = Float32Array.of(9, 1, 2, 3, 9, 0, 0, 0, 9);
    const executable = await backend.compile(program);
    const run = executable.bind({ x: row.subarray(1, 4), y: row.subarray(5, 8) });
    await run();
    expect([...row]).toEqual([9, 1, 2, 3, 9, 2, 3, 4, 9]);
    row[1] = 5;
    await run();
    expect([...row]).toEqual([9, 5, 2, 3, 9, 6, 3, 4, 9]);
    await executable.close();
  });

  it.skipIf(skip)('passes an input through and gives one value under two names', async () => {
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
    const executable = await backend.compile(program);
    await executable.bind(memory)();
    expect(memory).toMatchObject({
      same: Float32Array.of(-1, 2),
      y: Float32Array.of(0, 2),
      again: Float32Array.of(0, 2),
    });
    await executable.close();
  });
});
