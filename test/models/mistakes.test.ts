import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/error.ts';
import { Random } from '../../src/base/random.ts';
import type { Task } from '../../src/model/context.ts';
import { initialise } from '../../src/model/layout.ts';
import { buildModel, modelSchema } from '../../src/model/models.ts';
import { allocate, gradientStep, type Step, stepBuffers } from '../../src/model/step.ts';
import { onnx, openSession } from '../../src/onnx/backend.ts';
import { toOnnx } from '../../src/onnx/lowering.ts';
import { RuntimeTensor } from '../../src/onnx/runtime.ts';
import { conv2d, matmul } from '../../src/tensor/operations.ts';
import { f32 } from '../../src/tensor/program.ts';
import { trace } from '../../src/tensor/trace.ts';

/** Bad input is a UserError that names what is wrong; the process goes on. */

const image: Task = { shape: [1, 8, 8], classes: 10 };
const stepOf = (settings: Record<string, unknown>, task: Task): Step =>
  gradientStep(buildModel(modelSchema.parse(settings), task), 4);
const cnnStep = () => stepOf({ kind: 'cnn', filters: [4], hidden: [8] }, image);
const lstmStep = () => stepOf({ kind: 'lstm', layers: 1, hidden: 8, bptt: 3 }, { shape: [], classes: 20 });

/** A step on memory that `change` may spoil. */
async function run(step: Step, change: (memory: ReturnType<typeof allocate>) => object = () => ({})) {
  const executable = await onnx.compile(step.program);
  try {
    const memory = allocate(step);
    memory.params!.set(initialise(step.params, 1));
    const whole = Object.assign(memory, change(memory));
    await executable.bind(stepBuffers(step, whole))();
    return memory;
  } finally {
    await executable.close();
  }
}

describe('shapes', () => {
  it.each([
    [
      () => trace((t) => ({ y: matmul(t.input('a', f32(2, 3)), t.input('b', f32(4, 5))) })),
      /matmul.*\[2,3\] × \[4,5\]/,
    ],
    [
      () => trace((t) => ({ y: conv2d(t.input('x', f32(1, 3, 8, 8)), t.input('w', f32(4, 2, 3, 3))) })),
      /conv2d.*\[1,3,8,8\] × \[4,2,3,3\]/,
    ],
  ])('that do not fit name the op', (build, message) => {
    expect(build).toThrow(UserError);
    expect(build).toThrow(message);
  });

  it.each([
    [() => ({ params: new Float32Array(3) }), /row params has \d+ float32 elements, got 3/],
    [() => ({ x: new Float32Array(5) }), /x is f32\[4,1,8,8\] = 256 elements, got 5/],
    [() => ({ x: new Int32Array(256) }), /x is f32\[4,1,8,8\], got memory of type int32/],
    [() => ({ labels: new Int32Array(5) }), /labels is i32\[4\] = 4 elements, got 5/],
    [() => ({ lables: new Int32Array(4) }), /"lables" is neither an input nor an output/],
  ])('of memory: %s', async (change, message) => {
    await expect(run(cnnStep(), change)).rejects.toThrow(message);
  });

  it('of an op that no program has', async () => {
    const { program } = cnnStep();
    const nodes = program.nodes.map((node, i) => (i === 3 ? { ...node, op: 'rleu' as 'relu' } : node));
    await expect(onnx.compile({ ...program, nodes })).rejects.toThrow(/unknown op "rleu"/);
  });
});

describe('values', () => {
  it.each([10, -1, 2 ** 31 - 1])('a label %i', async (label) => {
    const spoil = (memory: { labels: Float32Array | Int32Array }) => ({ labels: memory.labels.fill(label, 2, 3) });
    const wanted = new RegExp(`softmaxCrossEntropy: labels must be from 0 to 9, but labels\\[2\\] is ${label}`);
    await expect(run(cnnStep(), spoil)).rejects.toThrow(wanted);
  });

  it('a token that no word has', async () => {
    const spoil = (memory: { x: Float32Array | Int32Array }) => ({ x: memory.x.fill(20, 5, 6) });
    await expect(run(lstmStep(), spoil)).rejects.toThrow(/embedding: indices must be from 0 to 19, but x\[5\] is 20/);
  });

  it('NaN in the data gives NaN rather than a crash', async () => {
    const x = new Float32Array(256);
    x[7] = Number.NaN;
    const { loss } = await run(cnnStep(), () => ({ x }));
    expect(loss![0]).toBeNaN();
  });

  it('infinite parameters do not end the process', async () => {
    const { gradientNorm2 } = await run(cnnStep(), ({ params }) => ({ params: params!.fill(Infinity) }));
    expect(gradientNorm2![0]).toBeNaN();
  });
});

describe('ONNX files', () => {
  it('that are broken are refused', async () => {
    const whole = toOnnx(cnnStep().program);
    const random = new Random(1, 'test');
    const noise = Uint8Array.from({ length: 500 }, () => random.below(256));
    const renamed = Uint8Array.from(
      Buffer.from(Buffer.from(whole).toString('latin1').replaceAll('Gemm', 'Gemn'), 'latin1'),
    );
    for (const bytes of [new Uint8Array(), noise, whole.subarray(0, whole.length >> 1), whole.subarray(9), renamed])
      await expect(openSession(bytes)).rejects.toThrow(UserError);
  });

  it('with flipped bits either load or are refused', async () => {
    const whole = toOnnx(cnnStep().program);
    const random = new Random(2, 'test');
    let refused = 0;
    for (let i = 0; i < 60; i++) {
      const spoilt = whole.slice();
      spoilt[random.below(spoilt.length)]! ^= 1 << random.below(8);
      const session = await openSession(spoilt).catch((error: unknown) => {
        expect(error).toBeInstanceOf(UserError);
        refused++;
      });
      session?.release();
    }
    expect(refused).toBeGreaterThan(0);
  });

  it('run elsewhere as they do here', async () => {
    for (const step of [cnnStep(), lstmStep()]) {
      const here = await run(step);
      const session = await openSession(toOnnx(step.program), { optimize: true });
      const buffers = stepBuffers(step, here);
      const feeds = step.program.inputs.map(({ name, value }) => {
        const { dtype, shape } = step.program.types[value]!;
        return [name, new RuntimeTensor(dtype, buffers[name]!, shape)] as const;
      });
      const there = await session.run(Object.fromEntries(feeds));
      session.release();
      expect(there.loss!.data[0]).toBeCloseTo(here.loss![0]!, 6);
      expect(there.gradientNorm2!.data[0]).toBeCloseTo(here.gradientNorm2![0]!, 5);
    }
  });
});
