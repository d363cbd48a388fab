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
import { blockProbe, halt, toOnnx } from './lowering.ts';

const compiler = (name: string, block: () => Promise<number>): Backend => ({
  name,
  async compile(program, options = {}) {
    checkProgram(program);
    return new OnnxExecutable(
      program,
      await openSession(toOnnx(program, { block: await block(), halting: true }), options),
    );
  },
});

/** Runs programs on the CPU with onnxruntime. */
export const onnx = compiler('onnx', blockSize);

/** The same with nothing but the ops that run everywhere: what an exported file does. */
export const portableOnnx = compiler('portable onnx', async () => 1);

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

let probed: Promise<number> | undefined;

/** Channels in a block of onnxruntime's fast convolutions: 16 with AVX-512, 8 with AVX2, 1 where there are none. */
function blockSize(): Promise<number> {
  probed ??= probe().catch(() => 1);
  return probed;
}

/** Where the second pixel of the first channel lands in the blocked layout tells the size of a block. */
async function probe(): Promise<number> {
  const session = await openSession(blockProbe());
  const image = new Tensor(
    'float32',
    Float32Array.from({ length: 32 }, (_, i) => i),
    [1, 16, 1, 2],
  );
  const { y } = await session.run({ x: image });
  await session.release();
  const at = (y!.data as Float32Array).indexOf(1);
  return at === 8 || at === 16 ? at : 1;
}

/**
 * After a run onnxruntime-node copies every output into new memory for the object it returns, although all of them were
 * already written to the memory that was bound: for parameters and momentum a sixth of an mlp's step. Our graphs therefore
 * have a first output of a type that it cannot convert; it gives up there with this message, when everything is done.
 * A version that can convert it would only be slower again.
 */
const halted = 'Non tensor type is temporarily not supported.';

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
    const fetches = { [halt]: null, ...tensors(this.program.outputs) };
    const bounds = indexBounds(this.program);
    return async () => {
      if (this.#closed) throw new UserError('this executable is closed');
      checkIndices(bounds, buffers);
      try {
        await this.#session.run(feeds, fetches);
      } catch (cause) {
        if ((cause as Error).message === halted) return;
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
