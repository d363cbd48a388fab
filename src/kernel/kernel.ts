import type { Mixing } from '../topology/mixing.ts';
import { sharedWasm } from './binary.ts';
import type { RowMemory, Rows } from './memory.ts';
import { differenceProgram, type MixProgram, meanProgram, mixingProgram, rowCode } from './program.ts';
import { type Memory, WebAssembly } from './webassembly.ts';

/** What assembly/ exports; addresses and lengths in bytes unless they are columns. */
interface Exports {
  mix(...args: number[]): void;
  copy(out: number, from: number, bytes: number): void;
  meet(x: number, y: number, bytes: number): void;
  round(out: number, x: number, bytes: number, block: number, levels: number): void;
  squares(x: number, from: number, to: number, lanes: number): void;
  differences(x: number, y: number, from: number, to: number, lanes: number): void;
  roundedDifferences(x: number, y: number, from: number, to: number, lanes: number): void;
}

/** Columns [first, end) of the whole rows. */
export type ColumnRange = readonly [first: number, end: number];

/** W x, or W x − x as a sum of differences. */
export type MixForm = 'sum' | 'difference';
export const programOf = { sum: mixingProgram, difference: differenceProgram } as const;

const module = new WebAssembly.Module(Buffer.from(sharedWasm, 'base64'));

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
  readonly program: MixProgram;
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
  #scratch = { start: 0, bytes: 0 };
  #loaded: Loaded | undefined;

  constructor(memory: Memory) {
    this.#memory = memory;
    this.exports = new WebAssembly.Instance(module, { env: { memory } }).exports as Exports;
    // The memory grows by a page that is this kernel's alone.
    this.lanes = memory.grow(1) * pageBytes;
    this.lanesView = new Float64Array(memory.buffer, this.lanes, 8);
  }

  /** One instruction, in the rest of that page: from `inputs`, with this stride, into the row at `out`. */
  runRow(code: Int32Array, inputs: number, stride: number, out: number): void {
    const start = this.lanes + lineBytes;
    const table = start + roundUp(code.byteLength, lineBytes);
    if (table + 2 * code.byteLength > this.lanes + pageBytes) throw new RangeError('too many replicas for one row');
    new Int32Array(this.#memory.buffer, start, code.length).set(code);
    this.exports.mix(start, start + code.byteLength, inputs, stride, out, stride, stride, 0, 0, table);
  }

  #reserve(bytes: number): number {
    if (bytes > this.#scratch.bytes) {
      const pages = Math.ceil((bytes * 1.5) / pageBytes);
      // What was reserved before is given up; sizes grow geometrically, so that is at most twice what is in use.
      this.#scratch = { start: this.#memory.grow(pages) * pageBytes, bytes: pages * pageBytes };
    }
    return this.#scratch.start;
  }

  /** Copies a program into scratch memory, unless it is there from the last call. */
  load(program: MixProgram, rowBytes: number): Loaded {
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
  readonly #programs = { sum: new WeakMap<Mixing, MixProgram>(), difference: new WeakMap<Mixing, MixProgram>() };
  readonly #rowCodes = new WeakMap<Mixing, (Int32Array | undefined)[]>();
  readonly #means = new Map<number, MixProgram>();

  constructor(memory: RowMemory) {
    this.memory = memory;
    this.#shards = memory.memories.map((each) => new ShardKernel(each));
  }

  /** out_i = Σ_j W_ij x_j, or Σ_j W_ij (x_j − x_i). Workers share the work by columns: no sum is computed twice. */
  mix(mixing: Mixing, input: Rows, output: Rows, columns?: ColumnRange, form: MixForm = 'sum'): void {
    const programs = this.#programs[form];
    let program = programs.get(mixing);
    if (program === undefined) programs.set(mixing, (program = programOf[form](mixing)));
    this.run(program, input, output, columns);
  }

  /** Row `at` of the output = Σ_j W_ij x_j with the bits of `mix`, of a replica that hears fewer than seven others. */
  mixRow(mixing: Mixing, i: number, input: Rows, output: Rows, at: number): void {
    this.#check(input);
    this.#check(output);
    if (input.name === output.name) throw new RangeError(`"${input.name}" cannot be mixed in place`);
    if (input.count < mixing.n)
      throw new RangeError(`mixing reads ${mixing.n} rows; "${input.name}" has ${input.count}`);
    let codes = this.#rowCodes.get(mixing);
    if (codes === undefined) this.#rowCodes.set(mixing, (codes = new Array(mixing.n)));
    const code = (codes[i] ??= rowCode(mixing, i));
    this.memory.shards.forEach(({ offset, strideBytes }, s) => {
      this.#shards[s]!.runRow(code, offset[input.name]!, strideBytes, this.#address(output, at, s));
    });
  }

  /** Row 0 of the output = the mean of all rows of the input, with the bits of a complete topology. */
  mean(input: Rows, output: Rows, columns?: ColumnRange): void {
    let program = this.#means.get(input.count);
    if (program === undefined) this.#means.set(input.count, (program = meanProgram(input.count)));
    this.run(program, input, output, columns);
  }

  /** Input and output are different matrices, unless all rows of the output are the same. */
  run(program: MixProgram, input: Rows, output: Rows, [first, end]: ColumnRange = [0, this.memory.columns]): void {
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
    this.#check(y);
    this.#check(x);
    this.memory.shards.forEach(({ strideBytes }, s) => {
      this.#shards[s]!.exports.copy(this.#address(y, i, s), this.#address(x, j, s), strideBytes);
    });
  }

  /** x_i, y_j ← (x_i + y_j)/2. */
  meet(x: Rows, i: number, y: Rows, j: number): void {
    this.#check(x);
    this.#check(y);
    this.memory.shards.forEach(({ strideBytes }, s) => {
      this.#shards[s]!.exports.meet(this.#address(x, i, s), this.#address(y, j, s), strideBytes);
    });
  }

  /** y_i ← x_i, each number the next multiple of the largest of its block of columns / levels; of rows in one piece. */
  round(y: Rows, i: number, x: Rows, { block, levels }: { readonly block: number; readonly levels: number }): void {
    this.#check(y);
    this.#check(x);
    if (this.#shards.length > 1) throw new RangeError(`rows of "${x.name}" are in ${this.#shards.length} shards`);
    const [out, from] = [this.#address(y, i, 0), this.#address(x, i, 0)];
    this.#shards[0]!.exports.round(out, from, 4 * x.columns, 4 * block, levels);
  }

  /** ‖x_i − y_j‖², in float64. */
  squaredDistance(x: Rows, i: number, y: Rows, j: number): number {
    return this.#sum(x, i, y, j, 0, x.columns, (kernel, ...args) => kernel.differences(...args));
  }

  /** ‖x_i − x_j‖ with the bits of the norm of a row that holds the difference. */
  gap(x: Rows, i: number, j: number): number {
    return Math.sqrt(this.#sum(x, i, x, j, 0, x.columns, (kernel, ...args) => kernel.roundedDifferences(...args)));
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

  #check(rows: Rows): void {
    if (rows.memory !== this.memory) throw new RangeError(`"${rows.name}" is in another memory than this kernel`);
  }

  #address(rows: Rows, i: number, s: number): number {
    const { offset, strideBytes } = this.memory.shards[s]!;
    return offset[rows.name]! + rows.place(i) * strideBytes;
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
    const pair = (lane: number) => total[lane]! + total[lane + 1]!;
    return pair(0) + pair(2) + (pair(4) + pair(6));
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
