import type { Mixing } from '../topology/mixing.ts';
import { privateWasm, sharedWasm } from './binary.ts';
import type { Block } from './blocks.ts';
import type { RowMemory, Rows } from './memory.ts';
import { meanProgram, mixingProgram, type Program, type Scope, sumProgram } from './program.ts';
import { type Memory, WebAssembly } from './webassembly.ts';

/** What assembly/ exports; addresses and lengths in bytes unless they are columns. */
interface Exports {
  mix(...args: number[]): void;
  copy(out: number, from: number, bytes: number): void;
  scale(y: number, factor: number, bytes: number): void;
  axpy(y: number, factor: number, x: number, bytes: number): void;
  squares(x: number, from: number, to: number, lanes: number): void;
  differences(x: number, y: number, from: number, to: number, lanes: number): void;
  products(x: number, y: number, from: number, to: number, lanes: number): void;
}

/** Columns [first, end) of the whole rows. */
export type ColumnRange = readonly [first: number, end: number];

const compile = (base64: string) => new WebAssembly.Module(Buffer.from(base64, 'base64'));
const modules = { shared: compile(sharedWasm), private: compile(privateWasm) };

const pageBytes = 65536;
const lineBytes = 64;
const roundUp = (bytes: number, unit: number) => Math.ceil(bytes / unit) * unit;

/**
 * Whole rows are mixed at once, for the processor reads ahead best in long stretches, unless those that are needed again later
 * exceed what a third-level cache may hold; then blocks of columns, as long as these rows fit a second-level cache.
 */
const wholeRowsBytes = 32 * 2 ** 20;
const blocksBytes = 2 * 2 ** 20;
const leastBlockBytes = 2048;

interface Loaded {
  readonly program: Program;
  readonly start: number;
  readonly table: number;
  readonly nodes: number;
  readonly nodeStride: number;
  readonly blockBytes: number;
}

/** The passes on one memory of a RowMemory, with scratch memory that no other kernel uses. */
class ShardKernel {
  readonly exports: Exports;
  readonly lanes: number;
  readonly lanesView: Float64Array;
  readonly #memory: Memory;
  readonly #shared: boolean;
  #scratch = { start: 0, bytes: 0 };
  #loaded: Loaded | undefined;

  constructor(memory: Memory, shared: boolean) {
    this.#memory = memory;
    this.#shared = shared;
    this.exports = new WebAssembly.Instance(shared ? modules.shared : modules.private, { env: { memory } })
      .exports as Exports;
    // A shared memory grows by a page that is this kernel's alone; a private one has its first page for it.
    this.lanes = shared ? memory.grow(1) * pageBytes : 0;
    this.lanesView = new Float64Array(memory.buffer, this.lanes, 8);
  }

  #reserve(bytes: number): number {
    if (!this.#shared) throw new Error('private memory has no room to mix rows: allocate it shared');
    if (bytes > this.#scratch.bytes) {
      const pages = Math.ceil((bytes * 1.5) / pageBytes);
      // What was reserved before is given up; sizes grow geometrically, so that is at most twice what is in use.
      this.#scratch = { start: this.#memory.grow(pages) * pageBytes, bytes: pages * pageBytes };
    }
    return this.#scratch.start;
  }

  /** Copies a program into scratch memory, unless it is there from the last call. */
  load(program: Program, rowBytes: number): Loaded {
    if (this.#loaded?.program === program) return this.#loaded;
    const fitting = Math.floor(blocksBytes / program.live / lineBytes) * lineBytes;
    const whole = program.live * rowBytes <= wholeRowsBytes;
    const blockBytes = whole ? rowBytes : Math.min(rowBytes, Math.max(leastBlockBytes, fitting));
    // An odd number of lines, as for rows.
    const nodeStride = blockBytes + (blockBytes % (2 * lineBytes) === 0 ? lineBytes : 2 * lineBytes);
    const codeBytes = roundUp(program.code.byteLength, lineBytes);
    const tableBytes = roundUp(8 * program.operands, lineBytes);
    const start = this.#reserve(codeBytes + tableBytes + program.nodes * nodeStride);
    new Int32Array(this.#memory.buffer, start, program.code.length).set(program.code);
    const table = start + codeBytes;
    this.#loaded = { program, start, table, nodes: table + tableBytes, nodeStride, blockBytes };
    return this.#loaded;
  }
}

/**
 * SIMD passes over replica rows. One a worker; all kernels on the same RowMemory may run at once as long as they write different
 * rows or columns. Results never depend on how rows or columns are divided among workers.
 */
export class Kernel {
  readonly memory: RowMemory;
  readonly #shards: readonly ShardKernel[];
  readonly #programs = new WeakMap<Mixing, Map<string, Program>>();
  readonly #means = new Map<number, Program>();

  constructor(memory: RowMemory) {
    this.memory = memory;
    this.#shards = memory.memories.map((each) => new ShardKernel(each, memory.shared));
  }

  /**
   * out_i = Σ_j W_ij x_j for the rows and columns in scope. Workers share the work by columns (no sum is computed twice) or by rows.
   * Input and output are different matrices.
   */
  mix(
    mixing: Mixing,
    input: Rows,
    output: Rows,
    scope: Pick<Scope, 'rows'> & { readonly columns?: ColumnRange } = {},
  ): void {
    const key = scope.rows?.join() ?? '';
    let known = this.#programs.get(mixing);
    if (known === undefined) this.#programs.set(mixing, (known = new Map()));
    let program = known.get(key);
    if (program === undefined) known.set(key, (program = mixingProgram(mixing, scope)));
    this.run(program, input, output, scope.columns);
  }

  /** Row 0 of the output = the mean of the first n rows of the input, with the bits of a complete topology. */
  mean(input: Rows, output: Rows, n = input.count, columns?: ColumnRange): void {
    let program = this.#means.get(n);
    if (program === undefined) this.#means.set(n, (program = meanProgram(n)));
    this.run(program, input, output, columns);
  }

  /** Row b of the output = the sum of blocks[b]; `held` says what the input's rows are. */
  sums(blocks: readonly Block[], held: readonly Block[], input: Rows, output: Rows): void {
    this.run(sumProgram(blocks, held), input, output);
  }

  run(program: Program, input: Rows, output: Rows, [first, end]: ColumnRange = [0, this.memory.columns]): void {
    this.#check(input);
    this.#check(output);
    if (input.count < program.inputs || output.count < program.outputs)
      throw new RangeError(
        `mixing reads ${program.inputs} rows and writes ${program.outputs}; "${input.name}" has ${input.count}, "${output.name}" ${output.count}`,
      );
    if (input.name === output.name && !program.constant)
      throw new RangeError(`"${input.name}" cannot be mixed in place`);
    if (first % 16 !== 0 || (end % 16 !== 0 && end !== this.memory.columns))
      throw new RangeError(`columns [${first}, ${end}) must begin and end at multiples of 16`);
    this.memory.shards.forEach((shard, s) => {
      const from = 4 * (Math.max(first, shard.first) - shard.first);
      const to = roundUp(4 * (Math.min(end, shard.end) - shard.first), lineBytes);
      if (from >= to) return;
      const kernel = this.#shards[s]!;
      const { start, table, nodes, nodeStride, blockBytes } = kernel.load(program, shard.strideBytes);
      const [x, y] = [shard.offset[input.name]!, shard.offset[output.name]!];
      const programEnd = start + program.code.byteLength;
      const { strideBytes: stride } = shard;
      for (let at = from; at < to; at += blockBytes) {
        const bytes = Math.min(blockBytes, to - at);
        kernel.exports.mix(start, programEnd, x + at, stride, y + at, stride, bytes, nodes, nodeStride, table);
      }
    });
  }

  /** y_i ← x_j. */
  copy(y: Rows, i: number, x: Rows, j: number): void {
    this.#rows(y, i, x, j, (kernel, to, from, bytes) => kernel.copy(to, from, bytes));
  }

  /** y_i ← factor · y_i, factor as float32. */
  scale(y: Rows, i: number, factor: number): void {
    this.#rows(y, i, y, i, (kernel, to, _, bytes) => kernel.scale(to, factor, bytes));
  }

  /** y_i ← y_i + factor · x_j, factor as float32. */
  axpy(y: Rows, i: number, factor: number, x: Rows, j: number): void {
    this.#rows(y, i, x, j, (kernel, to, from, bytes) => kernel.axpy(to, factor, from, bytes));
  }

  /** ‖x_i‖², in float64. */
  squaredNorm(x: Rows, i: number): number {
    return this.#sum(x, i, x, i, 0, x.columns, (kernel, at, _, from, to, lanes) => kernel.squares(at, from, to, lanes));
  }

  /** ‖x_i − y_j‖², in float64. */
  squaredDistance(x: Rows, i: number, y: Rows, j: number): number {
    return this.#sum(x, i, y, j, 0, x.columns, (kernel, ...args) => kernel.differences(...args));
  }

  /** ⟨x_i, y_j⟩, in float64. */
  dot(x: Rows, i: number, y: Rows, j: number): number {
    return this.#sum(x, i, y, j, 0, x.columns, (kernel, ...args) => kernel.products(...args));
  }

  /** L2 norm of each tensor of row i; tensor t has the columns offsets[t] … offsets[t+1]−1. */
  norms(x: Rows, i: number, offsets: ArrayLike<number>, out: Float64Array): void {
    for (let t = 0; t + 1 < offsets.length; t++)
      out[t] = Math.sqrt(
        this.#sum(x, i, x, i, offsets[t]!, offsets[t + 1]!, (kernel, at, _, from, to, lanes) =>
          kernel.squares(at, from, to, lanes),
        ),
      );
  }

  /** out[i] = ‖x_i − m_0‖² for the rows [first, end): with m the mean these make up the consensus distance. */
  squaredDistances(x: Rows, m: Rows, out: Float64Array, first = 0, end = x.count): void {
    for (let i = first; i < end; i++) out[i] = this.squaredDistance(x, i, m, 0);
  }

  #check(rows: Rows): void {
    if (rows.memory !== this.memory) throw new RangeError(`"${rows.name}" is in another memory than this kernel`);
  }

  #address(rows: Rows, i: number, s: number): number {
    const { offset, strideBytes } = this.memory.shards[s]!;
    return offset[rows.name]! + rows.place(i) * strideBytes;
  }

  #rows(
    y: Rows,
    i: number,
    x: Rows,
    j: number,
    pass: (kernel: Exports, to: number, from: number, bytes: number) => void,
  ): void {
    this.#check(y);
    this.#check(x);
    this.memory.shards.forEach(({ strideBytes }, s) => {
      pass(this.#shards[s]!.exports, this.#address(y, i, s), this.#address(x, j, s), strideBytes);
    });
  }

  #sum(
    x: Rows,
    i: number,
    y: Rows,
    j: number,
    first: number,
    end: number,
    pass: (kernel: Exports, x: number, y: number, from: number, to: number, lanes: number) => void,
  ): number {
    this.#check(x);
    this.#check(y);
    if (!(first >= 0 && first <= end && end <= x.columns))
      throw new RangeError(`columns [${first}, ${end}) of rows with ${x.columns}`);
    const total = new Float64Array(8);
    this.memory.shards.forEach((shard, s) => {
      const from = Math.max(first, shard.first) - shard.first;
      const to = Math.min(end, shard.end) - shard.first;
      if (from >= to) return;
      const { exports, lanes, lanesView } = this.#shards[s]!;
      lanesView.set(total);
      pass(exports, this.#address(x, i, s), this.#address(y, j, s), from, to, lanes);
      total.set(lanesView);
    });
    const [a, b, c, d, e, f, g, h] = total as unknown as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return a + b + (c + d) + (e + f + (g + h));
  }
}

/** Ξ² = (1/n) Σ_i ‖x̄ − x_i‖², from the squared distances of all replicas, added in ascending order. */
export function squaredConsensusDistance(distances: Float64Array): number {
  let sum = 0;
  for (const distance of distances) sum += distance;
  return sum / distances.length;
}

/** Columns of worker w of `workers`: equal shares that begin and end on whole cache lines. */
export function columnShare(columns: number, w: number, workers: number): ColumnRange {
  const lines = Math.ceil(columns / 16);
  const at = (k: number) => Math.min(columns, Math.floor((lines * k) / workers) * 16);
  return [at(w), at(w + 1)];
}
