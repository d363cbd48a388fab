import { UserError } from '../base/error.ts';
import { maxTensorBytes, type TensorKernel, tensorMemory } from '../kernel/tensor.ts';
import {
  type Backend,
  type Buffers,
  checkBuffers,
  checkIndices,
  checkProgram,
  type Executable,
  indexBounds,
  type Numbers,
  type Run,
} from '../tensor/backend.ts';
import type { Program } from '../tensor/program.ts';
import { planArena } from './arena.ts';
import { type Library, loadLibrary, OneDnnError } from './library.ts';
import { lower } from './lowering.ts';
import { type Call, Recorder, type Stored } from './recorder.ts';

/** Runs programs on x86 processors with oneDNN. */
export const onednn: Backend = {
  name: 'onednn',
  async compile(program, { threads = 1 } = {}) {
    checkProgram(program);
    return new OneDnnExecutable(await loadLibrary(), program, threads);
  },
};

/** A memory object of the library for bound memory: its address is set before each run. */
interface BoundMemory {
  readonly handle: number;
  readonly name: string;
  readonly start: number;
}

class OneDnnExecutable implements Executable {
  readonly program: Program;
  readonly #library: Library;
  readonly #threads: number;
  readonly #calls: readonly Call[];
  /** For each call: what to do here, or the library's primitive with its arguments. */
  readonly #steps: readonly (() => void)[];
  readonly #memories: number[] = [];
  readonly #bound: BoundMemory[] = [];
  /** The addresses that the library has now, one for each of `#bound`. */
  readonly #addresses: Float64Array;
  /** The memory of the run that is going on. */
  #current: Buffers = {};
  /** Kept for as long as the library has their addresses. */
  readonly #alive: unknown[] = [];
  #closed = false;

  constructor(library: Library, program: Program, threads: number) {
    this.program = program;
    this.#library = library;
    this.#threads = threads;
    library.setThreads(threads);
    const recorder = new Recorder(library);
    let kernel: TensorKernel | undefined;
    lower(program, recorder, () => kernel!);
    this.#calls = recorder.calls;
    const { bytes, offsets } = planArena(recorder.calls);
    if (bytes > maxTensorBytes)
      throw new UserError(`this program needs ${(bytes / 2 ** 30).toFixed(1)} GB besides its inputs and outputs`, {
        hint: 'at most 4 GB are possible with oneDNN: use smaller batches, or --backend onnx',
      });
    const arena = tensorMemory(bytes);
    kernel = arena.kernel;
    const { buffer } = arena.memory;
    const base = library.address(new Uint8Array(buffer));
    for (const [place, offset] of offsets)
      if (place.kind === 'arena' && place.initial) new Float32Array(buffer, offset).set(place.initial);

    const known = new Map<string, number>();
    const memoryOf = ({ format, place, start = 0 }: Stored): number => {
      const where = place.kind === 'arena' ? offsets.get(place)! : place.name;
      const key = `${where} ${start} ${format.toString('latin1')}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      const address = place.kind === 'arena' ? base + offsets.get(place)! + start : 0;
      const handle = library.handle('dnnl_memory_create', format, library.engine, address);
      known.set(key, handle);
      this.#memories.push(handle);
      if (place.kind === 'bound') this.#bound.push({ handle, name: place.name, start });
      return handle;
    };
    const offset = ({ place, start = 0 }: Stored) => offsets.get(place)! + start;
    const view = (stored: Stored): (() => Numbers) => {
      const { place } = stored;
      if (place.kind === 'bound') return () => this.#current[place.name]!;
      const length = recorder.formats.bytes(stored.format) / 4;
      const array = new Float32Array(buffer, offset(stored), length);
      return () => array;
    };
    this.#alive.push(buffer);
    this.#steps = recorder.calls.map((call) => {
      if ('script' in call) return call.script({ view, offset });
      const args = Buffer.alloc(16 * call.args.length);
      call.args.forEach(([argument, stored], i) => {
        args.writeInt32LE(argument, 16 * i);
        args.writeBigUInt64LE(BigInt(memoryOf(stored)), 16 * i + 8);
      });
      this.#alive.push(args);
      const [execute, { stream }] = [library.raw.dnnl_primitive_execute, library];
      const { primitive, op } = call;
      const [count, address] = [call.args.length, library.address(args)];
      return () => {
        const status = execute(primitive, stream, count, address) as number;
        if (status !== 0) throw new OneDnnError(op, status);
      };
    });
    this.#addresses = new Float64Array(this.#bound.length);
  }

  bind(buffers: Buffers): Run {
    checkBuffers(this.program, buffers, { shared: true });
    const bounds = indexBounds(this.program);
    const addresses = Float64Array.from(
      this.#bound,
      ({ name, start }) => this.#library.address(buffers[name]!) + start,
    );
    return async () => {
      if (this.#closed) throw new UserError('this executable is closed');
      checkIndices(bounds, buffers);
      this.#run(buffers, addresses);
    };
  }

  #run(buffers: Buffers, addresses: Float64Array): void {
    const { raw, stream, setThreads } = this.#library;
    this.#current = buffers;
    const set = raw.dnnl_memory_set_data_handle;
    for (let i = 0; i < addresses.length; i++)
      if (addresses[i] !== this.#addresses[i]) {
        set(this.#bound[i]!.handle, addresses[i]);
        this.#addresses[i] = addresses[i]!;
      }
    setThreads(this.#threads);
    for (const step of this.#steps) step();
    raw.dnnl_stream_wait(stream);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const primitives = new Set(this.#calls.flatMap((call) => ('script' in call ? [] : [call.primitive])));
    for (const primitive of primitives) this.#library.call('dnnl_primitive_destroy', primitive);
    for (const memory of this.#memories) this.#library.call('dnnl_memory_destroy', memory);
    this.#alive.length = 0;
  }
}
