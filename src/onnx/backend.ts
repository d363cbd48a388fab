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
import { blockProbe, halt, type LoweringOptions, toOnnx } from './lowering.ts';

const compiler = (name: string, adapt: () => Promise<LoweringOptions>): Backend => ({
  name,
  async compile(program, options = {}) {
    checkProgram(program);
    return new OnnxExecutable(program, await openSession(toOnnx(program, await adapt()), options));
  },
});

/** Runs programs on the CPU with onnxruntime. */
export const onnx = compiler('onnx', thisMachine);

/** The same with nothing but the ops that run everywhere: what an exported file does. */
export const portableOnnx = compiler('portable onnx', async () => ({}));

/** A session on the bytes of an ONNX file; a UserError when onnxruntime refuses them. */
export async function openSession(bytes: Uint8Array, { threads = 1 }: CompileOptions = {}): Promise<InferenceSession> {
  try {
    return await InferenceSession.create(bytes, {
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      // The lowering leaves nothing to gain: all levels run at the same speed, but loading takes three times as long.
      graphOptimizationLevel: 'disabled',
      // A memory plan of the whole graph would be kept beside the memory of the first run: twice as much, and no faster.
      enableMemPattern: false,
      logSeverityLevel: 3,
    });
  } catch (cause) {
    throw new UserError(`onnxruntime cannot load this graph: ${(cause as Error).message}`, { cause });
  }
}

/**
 * After a run onnxruntime-node copies every output into new memory for the object it returns, although all of them were
 * already written to the memory that was bound: for parameters and momentum a sixth of an mlp's step. Our graphs therefore
 * have a first output of a type that it cannot convert; it gives up there with this message, when everything is done.
 */
const halted = 'Non tensor type is temporarily not supported.';

const halting = (session: InferenceSession, fetches: Tensors) =>
  session.outputNames.includes(halt) ? { [halt]: null, ...fetches } : fetches;

async function runHalting(session: InferenceSession, feeds: Tensors, fetches: Fetches): Promise<void> {
  try {
    await session.run(feeds, fetches);
  } catch (cause) {
    if ((cause as Error).message !== halted) throw cause;
  }
}

let probed: Promise<LoweringOptions> | undefined;

/** What the installed onnxruntime can do on this machine, tried out once. */
function thisMachine(): Promise<LoweringOptions> {
  probed ??= probe().catch(() => ({ portable: false }));
  return probed;
}

/**
 * Brings an image into the layout of the fast convolutions. Where the second pixel of the first channel lands tells the
 * size of a block: 16 with AVX-512, 8 with AVX2. That it lands at all tells that halting leaves the outputs written.
 */
async function probe(): Promise<LoweringOptions> {
  const session = await openSession(blockProbe());
  const image = Float32Array.from({ length: 32 }, (_, i) => i);
  const blocks = new Float32Array(32);
  const tensor = (data: Float32Array) => new Tensor('float32', data, [1, 16, 1, 2]);
  await runHalting(session, { x: tensor(image) }, halting(session, { y: tensor(blocks) }));
  await session.release();
  const at = blocks.indexOf(1);
  return at === 8 || at === 16 ? { portable: false, block: at, halting: true } : { portable: false };
}

type Tensors = Readonly<Record<string, Tensor>>;
type Fetches = Readonly<Record<string, Tensor | null>>;

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
    const fetches = halting(this.#session, tensors(this.program.outputs));
    const bounds = indexBounds(this.program);
    return async () => {
      if (this.#closed) throw new UserError('this executable is closed');
      checkIndices(bounds, buffers);
      try {
        await runHalting(this.#session, feeds, fetches);
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
