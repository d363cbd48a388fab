import { InferenceSession, Tensor } from 'onnxruntime-node';
import { UserError } from '../base/error.ts';
import {
  type Backend,
  type Buffers,
  type CompileOptions,
  checkBuffers,
  checkIndices,
  checkProgram,
  type Executable,
  indexBounds,
  type Numbers,
  type Run,
} from '../tensor/backend.ts';
import type { Named, Program } from '../tensor/program.ts';
import { toOnnx } from './lowering.ts';

/** Runs programs on the CPU with onnxruntime. */
export const onnx: Backend = {
  name: 'onnx',
  async compile(program, options = {}) {
    checkProgram(program);
    return new OnnxExecutable(program, await openSession(toOnnx(program), options));
  },
};

/** A session on the bytes of an ONNX file; a UserError when onnxruntime refuses them. */
export async function openSession(bytes: Uint8Array, { threads = 1 }: CompileOptions = {}): Promise<InferenceSession> {
  try {
    return await InferenceSession.create(bytes, {
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      graphOptimizationLevel: 'all',
      // Only errors: onnxruntime warns about constants it can fold away, which is what they are for.
      logSeverityLevel: 3,
    });
  } catch (cause) {
    throw new UserError(`onnxruntime cannot load this graph: ${(cause as Error).message}`, { cause });
  }
}

class OnnxExecutable implements Executable {
  readonly program: Program;
  readonly #session: InferenceSession;
  #closed = false;

  constructor(program: Program, session: InferenceSession) {
    this.program = program;
    this.#session = session;
  }

  bind(buffers: Buffers): Run {
    checkBuffers(this.program, buffers);
    const tensors = (names: readonly Named[]) =>
      Object.fromEntries(names.map(({ name, value }) => [name, this.#tensor(buffers[name]!, value)]));
    const feeds = tensors(this.program.inputs);
    const fetches = tensors(this.program.outputs);
    const bounds = indexBounds(this.program);
    return async () => {
      if (this.#closed) throw new UserError('this executable is closed');
      checkIndices(bounds, buffers);
      try {
        await this.#session.run(feeds, fetches);
      } catch (cause) {
        throw new UserError(`onnxruntime failed: ${(cause as Error).message}`, { cause });
      }
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#session.release();
  }

  #tensor(buffer: Numbers, value: number): Tensor {
    const { dtype, shape } = this.program.types[value]!;
    return new Tensor(dtype, buffer as Float32Array, shape);
  }
}
