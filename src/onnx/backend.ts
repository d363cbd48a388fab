import { UserError } from '../base/error.ts';
import {
  type Backend,
  type BoundRun,
  type Buffers,
  type CompileOptions,
  checkBuffers,
  checkIndices,
  checkProgram,
  type Executable,
  indexBounds,
  type Numbers,
} from '../tensor/backend.ts';
import type { Named, Program } from '../tensor/program.ts';
import { blockProbe, halt, type LoweringOptions, toOnnx } from './lowering.ts';
import { loadRuntime, RuntimeTensor, type RuntimeTensors, Session } from './runtime.ts';

/** Runs programs on the CPU with onnxruntime. */
export const onnx: Backend = {
  name: 'onnx',
  direct: false,
  async compile(program, options) {
    checkProgram(program);
    return new OnnxExecutable(program, await openSession(toOnnx(program, await thisMachine()), options));
  },
};

/** The same with nothing but the ops that run everywhere, optimized by onnxruntime: what users of an exported file get. */
export const portableOnnx: Backend = {
  name: 'portable onnx',
  direct: false,
  async compile(program, options) {
    checkProgram(program);
    return new OnnxExecutable(program, await openSession(toOnnx(program), { ...options, optimize: true }));
  },
};

interface SessionOptions extends CompileOptions {
  /** Whether onnxruntime shall rewrite the graph. Our own leave it nothing to gain, and load three times as fast without. */
  readonly optimize?: boolean;
}

/** A session on the bytes of an ONNX file; a UserError when onnxruntime refuses them. */
export async function openSession(bytes: Uint8Array, options: SessionOptions = {}): Promise<Session> {
  const { threads = 1, optimize = false } = options;
  loadRuntime();
  try {
    return await Session.open(bytes, {
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      executionMode: 'sequential',
      graphOptimizationLevel: optimize ? 'all' : 'disabled',
      // A memory plan of the whole graph would be kept beside the memory of the first run: twice as much, and no faster.
      enableMemPattern: false,
      logSeverityLevel: 3,
    });
  } catch (cause) {
    throw new UserError(`onnxruntime cannot load this graph: ${(cause as Error).message}`, { cause });
  }
}

/**
 * After a run onnxruntime copies every output into new memory for the object it returns, although all of them were
 * already written to the memory that was bound: for parameters and momentum a sixth of an mlp's step. Our graphs therefore
 * have a first output of a type that it cannot convert; it gives up there with this message, when everything is done.
 */
const halted = 'Non tensor type is temporarily not supported.';

/** A run that reads and writes the given tensors. */
function haltingRun(session: Session, feeds: RuntimeTensors, outputs: RuntimeTensors): BoundRun {
  const fetches = session.outputNames.includes(halt) ? { [halt]: null, ...outputs } : outputs;
  return async () => {
    try {
      await session.run(feeds, fetches);
    } catch (cause) {
      const { message } = cause as Error;
      if (message !== halted) throw new UserError(`onnxruntime failed: ${message}`, { cause });
    }
  };
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
  const tensor = (data: Float32Array) => new RuntimeTensor('float32', data, [1, 16, 1, 2]);
  await haltingRun(session, { x: tensor(image) }, { y: tensor(blocks) })();
  session.release();
  const at = blocks.indexOf(1);
  return at === 8 || at === 16 ? { portable: false, block: at, halting: true } : { portable: false };
}

class OnnxExecutable implements Executable {
  readonly program: Program;
  readonly #session: Session;
  #closed = false;

  constructor(program: Program, session: Session) {
    this.program = program;
    this.#session = session;
  }

  bind(...parts: readonly Buffers[]): BoundRun {
    const buffers: Buffers = Object.assign({}, ...parts);
    checkBuffers(this.program, buffers);
    const tensors = (names: readonly Named[]) =>
      Object.fromEntries(names.map(({ name, value }) => [name, this.#tensor(buffers[name]!, value)]));
    const inputs = this.program.inputs.filter(({ name }) => this.#session.inputNames.includes(name));
    const run = haltingRun(this.#session, tensors(inputs), tensors(this.program.outputs));
    const bounds = indexBounds(this.program);
    return async () => {
      if (this.#closed) throw new UserError('this executable is closed');
      checkIndices(bounds, (name) => buffers[name]!);
      await run();
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#session.release();
  }

  #tensor(buffer: Numbers, value: number): RuntimeTensor {
    const { dtype, shape } = this.program.types[value]!;
    return new RuntimeTensor(dtype, buffer, shape);
  }
}
