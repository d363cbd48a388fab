import { collected } from '../base/memory.ts';
import { adviseLargePages } from '../base/pages.ts';
import { type Memory, WebAssembly } from './webassembly.ts';

/** Replica rows in memory that all workers of a process share. */

const pageBytes = 65536;
const lineFloats = 16;
/** The end of 32-bit addresses; kernels add scratch memory of their own behind the rows. */
const maxPages = 65536;
const defaultMemoryBytes = 3 * 2 ** 30;

/** Columns [first, end) of every matrix, in one WebAssembly memory. */
export interface Shard {
  readonly first: number;
  readonly end: number;
  readonly strideBytes: number;
  /** Where row 0 of each matrix begins. */
  readonly offset: Readonly<Record<string, number>>;
}

/**
 * Matrices of equally long rows. Plain data: a worker that receives it by message sees the same rows.
 * A memory ends at 4 GB, so the columns are cut into as many shards as it takes; a kernel can only combine rows of one memory.
 */
export interface RowMemory {
  readonly columns: number;
  /** Rows of each matrix. */
  readonly rows: Readonly<Record<string, number>>;
  readonly shards: readonly Shard[];
  readonly memories: readonly Memory[];
}

/** A row's room: whole cache lines, an odd number of them, so that neighbouring rows do not compete for the same cache sets. */
function strideFloats(columns: number): number {
  const lines = Math.ceil(columns / lineFloats);
  return (lines + 1 - (lines % 2)) * lineFloats;
}

/** @param options.memoryBytes the most that rows take in one memory */
export function allocateRows(
  columns: number,
  rows: Readonly<Record<string, number>>,
  { memoryBytes = defaultMemoryBytes }: { readonly memoryBytes?: number } = {},
): RowMemory {
  const total = Object.values(rows).reduce((sum, count) => sum + count, 0);
  if (columns < 1 || total < 1)
    throw new RangeError(`rows need at least one column and one row, got ${columns} and ${total}`);
  // Whole lines, so that every shard begins on a lane boundary of the sums.
  const most = Math.floor(memoryBytes / (4 * total * lineFloats) - 1) * lineFloats;
  if (most < lineFloats) throw new RangeError(`${total} rows do not fit a memory of ${memoryBytes} bytes`);
  const count = Math.ceil(columns / most);
  const width = Math.ceil(columns / count / lineFloats) * lineFloats;
  const shards: Shard[] = [];
  const memories: Memory[] = [];
  for (let first = 0; first < columns; first += width) {
    const end = Math.min(columns, first + width);
    const strideBytes = 4 * strideFloats(end - first);
    const offset: Record<string, number> = {};
    let at = 0;
    for (const [name, n] of Object.entries(rows)) {
      offset[name] = at;
      at += n * strideBytes;
    }
    shards.push({ first, end, strideBytes, offset });
    const size = { initial: Math.ceil(at / pageBytes), maximum: maxPages, shared: true };
    const memory = collected(() => new WebAssembly.Memory(size));
    adviseLargePages(memory.buffer);
    memories.push(memory);
  }
  return { columns, rows: { ...rows }, shards, memories };
}

/** The most that rows of one thread take in one memory. */
const privateBytes = 2 ** 30;

/** Rows of zeros that no other thread sees, as far apart as those that are shared. */
export function allocatePrivateRows(columns: number, count: number): Float32Array[] {
  const strideBytes = 4 * strideFloats(columns);
  const together = Math.max(1, Math.floor(privateBytes / strideBytes));
  const rows: Float32Array[] = [];
  while (rows.length < count) {
    const here = Math.min(together, count - rows.length);
    const pages = Math.ceil((here * strideBytes) / pageBytes);
    const { buffer } = collected(() => new WebAssembly.Memory({ initial: pages, maximum: pages, shared: false }));
    adviseLargePages(buffer);
    for (let row = 0; row < here; row++) rows.push(new Float32Array(buffer as ArrayBuffer, row * strideBytes, columns));
  }
  return rows;
}

export type FloatView = Float32Array<ArrayBufferLike>;

/** One matrix of a RowMemory, or several that follow each other. */
export class Rows {
  readonly memory: RowMemory;
  readonly name: string;
  readonly count: number;
  readonly columns: number;
  /** What its first row is called. */
  readonly first: number;
  readonly #views: readonly FloatView[];
  readonly #wraps: boolean;

  /**
   * @param options.first the number of its first row: a process that keeps replicas 8 to 15 calls its rows so
   * @param options.wraps there is a row for every number: behind the last one comes row 0
   * @param options.through the last of several matrices taken as one
   */
  constructor(
    memory: RowMemory,
    name: string,
    { first = 0, through = name, wraps = false }: { first?: number; through?: string; wraps?: boolean } = {},
  ) {
    const names = Object.keys(memory.rows);
    for (const wanted of [name, through])
      if (!names.includes(wanted)) throw new RangeError(`no matrix "${wanted}"; there are: ${names.join(', ')}`);
    const count = names
      .slice(names.indexOf(name), names.indexOf(through) + 1)
      .reduce((sum, each) => sum + memory.rows[each]!, 0);
    this.memory = memory;
    this.name = name;
    this.count = count;
    this.columns = memory.columns;
    this.first = first;
    this.#wraps = wraps;
    this.#views = memory.shards.map(
      ({ offset, strideBytes }, s) =>
        new Float32Array(memory.memories[s]!.buffer, offset[name], (count * strideBytes) / 4),
    );
  }

  /** The parts of row i in place, one a shard. */
  views(i: number): FloatView[] {
    return this.memory.shards.map(({ first, end, strideBytes }, s) => {
      const at = (this.place(i) * strideBytes) / 4;
      return this.#views[s]!.subarray(at, at + end - first);
    });
  }

  /** Row i in place, where it is in one piece. */
  view(i: number): FloatView {
    const views = this.views(i);
    if (views.length !== 1)
      throw new RangeError(`row ${i} of "${this.name}" is in ${views.length} shards; use read and write`);
    return views[0]!;
  }

  read(i: number, out: FloatView): void {
    this.views(i).forEach((view, s) => {
      out.set(view, this.memory.shards[s]!.first);
    });
  }

  write(i: number, values: FloatView): void {
    if (values.length !== this.columns)
      throw new RangeError(`a row of "${this.name}" has ${this.columns} values, got ${values.length}`);
    this.views(i).forEach((view, s) => {
      const { first, end } = this.memory.shards[s]!;
      view.set(values.subarray(first, end));
    });
  }

  /** Where row i is, counted from 0. */
  place(i: number): number {
    const place = this.#wraps && i < this.first ? i - this.first + this.count : i - this.first;
    if (!(place >= 0 && place < this.count))
      throw new RangeError(`"${this.name}" has rows ${this.first} to ${this.first + this.count - 1}, asked for ${i}`);
    return place;
  }
}
