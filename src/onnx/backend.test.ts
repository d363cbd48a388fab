import { expect, it } from 'vitest';
import { conv2d, relu } from '../tensor/operations.ts';
import { f32 } from '../tensor/program.ts';
import { trace } from '../tensor/trace.ts';
import { onnx, openSession } from './backend.ts';
import { toOnnx } from './lowering.ts';

const program = trace((t) => ({ y: relu(t.input('x', f32(2, 3))) }));

it('refuses shared memory', async () => {
  const executable = await onnx.compile(program);
  const [x, y] = [new Float32Array(new SharedArrayBuffer(24)), new Float32Array(6)];
  const run = async () => executable.bind({ x, y } as never)();
  await expect(run()).rejects.toMatchObject({ name: 'UserError', message: 'x: shared memory cannot be bound' });
  await executable.close();
});

it('refuses a graph that onnxruntime cannot load', async () => {
  const bytes = toOnnx(program);
  for (const wrong of [bytes.slice(0, bytes.length / 2), Uint8Array.of(1, 2, 3), new Uint8Array(0)])
    await expect(openSession(wrong)).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringMatching(/cannot load/),
    });
});

it('exports files of standard ops only', () => {
  const program = trace((t) => ({ y: conv2d(t.input('x', f32(2, 16, 8, 8)), t.input('w', f32(16, 16, 3, 3))) }));
  expect(Buffer.from(toOnnx(program)).includes('com.microsoft')).toBe(false);
  expect(Buffer.from(toOnnx(program, { portable: false, block: 8 })).includes('com.microsoft.nchwc')).toBe(true);
});
