import { UserError } from '../base/error.ts';
import { maxTensorBytes, type TensorKernel, tensorMemory } from '../kernel/tensor.ts';
import {
  type Backend,
  type BoundRun,
  type Buffers,
  checkComplete,
  checkIndices,
  checkOverlap,
  checkPart,
  checkProgram,
  type Executable,
  indexBounds,
  type Numbers,
} from '../tensor/backend.ts';
import type { Program } from '../tensor/program.ts';
import { planArena } from './arena.ts';
import type { Format } from './format.ts';
import { type Library, loadLibrary, OneDnnError } from './library.ts';
import { lower } from './lowering.ts';
import { type Call, type PrimitiveCall, Recorder, type Stored } from './recorder.ts';

/** Runs programs on x86 processors with oneDNN. */
export const onednn: Backend = {
  name: 'onednn',
  direct: true,
  async compile(program, { threads = 1 } = {}) {
    checkProgram(program);
    const recorder = new Recorder(await loadLibrary());
    try {
      return new OneDnnExecutable(recorder, program, threads);
    } finally {
      recorder.close();
    }
  },
};

/** A memory object of the library for bound memory: its address is set before each run. */
interface BoundMemory {
  readonly handle: number;
  readonly name: string;
  readonly start: number;
}

/** Some of the memory of a run, looked at once. A replica binds several of these before every step, so that nothing that is done with them may make garbage. */
interface Part {
  /** Kept, for the library has their addresses. */
  readonly buffers: Buffers;
  /** Numbers of the inputs and outputs it has. */
  readonly names: Int32Array;
  /** Bound memory objects by their index, and the address of each. */
  readonly bound: Int32Array;
  readonly addresses: Float64Array;
  /** What is read or written here rather than by the library. */
  readonly scripted: readonly (readonly [string, Numbers])[];
  readonly hulls: readonly Hull[];
}

/** First and last byte in a buffer. */
interface Hull {
  readonly buffer: unknown;
  readonly first: number;
  readonly last: number;
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
  /** Memory that scripts see, by name, in the run that is going on. */
  readonly #scripted = new Map<string, Numbers>();
  /** Kept for as long as the library has their addresses. */
  readonly #alive: unknown[] = [];
  readonly #parts = new WeakMap<Buffers, Part>();
  readonly #names: ReadonlyMap<string, number>;
  /** The last check in which each name had memory. */
  readonly #seen: Float64Array;
  #checks = 0;
  readonly #indices: ReturnType<typeof indexBounds>;
  #closed = false;

  constructor(recorder: Recorder, program: Program, threads: number) {
    const { library, formats } = recorder;
    this.program = program;
    this.#library = library;
    this.#threads = threads;
    this.#indices = indexBounds(program);
    const names = new Set([...program.inputs, ...program.outputs].map(({ name }) => name));
    this.#names = new Map([...names].map((name, i) => [name, i]));
    this.#seen = new Float64Array(names.size);
    for (const { name } of this.#indices) this.#scripted.set(name, new Int32Array(0));
    library.setThreads(threads);
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
    this.#alive.push(buffer);
    const base = library.address(new Uint8Array(buffer));
    for (const [place, offset] of offsets)
      if (place.kind === 'arena' && place.initial) new Float32Array(buffer, offset).set(place.initial);

    const known = new Map<string, { readonly format: Format; readonly handle: number }[]>();
    const memoryOf = ({ format, place, start = 0 }: Stored): number => {
      const where = `${place.kind === 'arena' ? offsets.get(place)! : place.name} ${start}`;
      const here = known.get(where) ?? [];
      const before = here.find((memory) => formats.same(memory.format, format));
      if (before !== undefined) return before.handle;
      const address = place.kind === 'arena' ? base + offsets.get(place)! + start : 0;
      const handle = library.handle('dnnl_memory_create', format.description, library.engine, address);
      known.set(where, [...here, { format, handle }]);
      this.#memories.push(handle);
      if (place.kind === 'bound') this.#bound.push({ handle, name: place.name, start });
      return handle;
    };
    const offset = ({ place, start = 0 }: Stored) => offsets.get(place)! + start;
    const view = (stored: Stored): (() => Numbers) => {
      const { place } = stored;
      if (place.kind === 'bound') {
        const { name } = place;
        this.#scripted.set(name, new Int32Array(0));
        return () => this.#scripted.get(name)!;
      }
      const length = formats.bytes(stored.format) / 4;
      const array = new Float32Array(buffer, offset(stored), length);
      return () => array;
    };
    this.#steps = recorder.calls.map((call) =>
      'script' in call ? call.script({ view, offset }) : this.#primitive(call, memoryOf),
    );
    this.#addresses = new Float64Array(this.#bound.length);
  }

  #primitive({ op, primitive, args }: PrimitiveCall, memoryOf: (stored: Stored) => number): () => void {
    const table = Buffer.alloc(16 * args.length);
    args.forEach(([argument, stored], i) => {
      table.writeInt32LE(argument, 16 * i);
      table.writeBigUInt64LE(BigInt(memoryOf(stored)), 16 * i + 8);
    });
    this.#alive.push(table);
    const { raw, stream } = this.#library;
    const execute = raw.dnnl_primitive_execute;
    const [count, address] = [args.length, this.#library.address(table)];
    return () => {
      const status = execute(primitive, stream, count, address) as number;
      if (status !== 0) throw new OneDnnError(op, status);
    };
  }

  bind(...buffers: readonly Buffers[]): BoundRun {
    const parts = buffers.map((each) => this.#partOf(each));
    this.#check(parts);
    return () => {
      if (this.#closed) throw new UserError('this executable is closed');
      this.#run(parts);
    };
  }

  #check(parts: readonly Part[]): void {
    if (this.#isComplete(parts) && !mayOverlap(parts)) return;
    const all: Buffers = Object.assign({}, ...parts.map(({ buffers }) => buffers));
    checkComplete(this.program, (name) => all[name] !== undefined);
    checkOverlap(this.program, all);
  }

  #isComplete(parts: readonly Part[]): boolean {
    this.#checks += 1;
    let missing = this.#seen.length;
    for (const { names } of parts)
      for (let k = 0; k < names.length; k++) {
        if (this.#seen[names[k]!] !== this.#checks) missing -= 1;
        this.#seen[names[k]!] = this.#checks;
      }
    return missing === 0;
  }

  #partOf(buffers: Buffers): Part {
    const known = this.#parts.get(buffers);
    if (known !== undefined) return known;
    checkPart(this.program, buffers, { shared: true });
    checkOverlap(this.program, buffers);
    const given = Object.entries(buffers).filter(([, memory]) => memory !== undefined);
    const hulls = new Map<unknown, Hull>();
    for (const [, { buffer, byteOffset, byteLength }] of given) {
      const { first, last } = hulls.get(buffer) ?? { first: byteOffset, last: byteOffset };
      const end = byteOffset + byteLength;
      hulls.set(buffer, { buffer, first: Math.min(first, byteOffset), last: Math.max(last, end) });
    }
    const here = [...this.#bound.entries()].filter(([, { name }]) => buffers[name] !== undefined);
    const part: Part = {
      buffers,
      names: Int32Array.from(given, ([name]) => this.#names.get(name)!),
      bound: Int32Array.from(here, ([i]) => i),
      addresses: Float64Array.from(here, ([, { name, start }]) => this.#library.address(buffers[name]!) + start),
      scripted: given.filter(([name]) => this.#scripted.has(name)),
      hulls: [...hulls.values()],
    };
    this.#parts.set(buffers, part);
    return part;
  }

  #run(parts: readonly Part[]): void {
    const { raw, stream, setThreads } = this.#library;
    const set = raw.dnnl_memory_set_data_handle;
    for (const { bound, addresses, scripted } of parts) {
      for (let k = 0; k < bound.length; k++) {
        const [i, address] = [bound[k]!, addresses[k]!];
        if (address === this.#addresses[i]) continue;
        set(this.#bound[i]!.handle, address);
        this.#addresses[i] = address;
      }
      for (const [name, memory] of scripted) this.#scripted.set(name, memory);
    }
    checkIndices(this.#indices, (name) => this.#scripted.get(name)!);
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
    this.#scripted.clear();
  }
}

/** Whether any two parts have memory between each other's first and last byte. */
function mayOverlap(parts: readonly Part[]): boolean {
  for (let i = 1; i < parts.length; i++)
    for (let j = 0; j < i; j++)
      for (const one of parts[i]!.hulls)
        for (const other of parts[j]!.hulls)
          if (one.buffer === other.buffer && one.first < other.last && other.first < one.last) return true;
  return false;
}
