import { type Mixing, stopsOf } from '../topology/mixing.ts';
import { type Block, blocksOf, type Members, partsOf } from './blocks.ts';

/**
 * A sum over replicas as a list of instructions for assembly/mix.ts, each a few 32-bit words. Operands are rows of the input, or
 * ~node for the sum of a block in scratch memory. A pure function of W: no path is chosen by speed, place or size of a row.
 */
export interface MixProgram {
  readonly code: Int32Array;
  /** Rows of the input it reads and of the output it writes: at least so many. */
  readonly inputs: number;
  readonly outputs: number;
  /** Sums in scratch memory at any one time. */
  readonly nodes: number;
  /** The most operands of one instruction. */
  readonly operands: number;
  /** Rows and sums that are read again later, at any one time: with few of them columns need no narrow blocks. */
  readonly live: number;
  /** Every output row is the same: the input may be overwritten by it. */
  readonly constant: boolean;
}

/** Numbers as in assembly/mix.ts. */
const [PAIR, QUAD, OCT, AVERAGE, WEIGHTED, REPEAT, DIFFERENCE] = [1, 2, 3, 4, 5, 6, 7];

/**
 * Output rows walked together when each is the one before shifted by a replica: they share most of what they read.
 * The processor follows about 14 streams of rows at once; beyond that this is slower, not faster.
 */
const groupStreams = 14;

interface Node {
  readonly parts: readonly Block[];
  uses: number;
  slot: number;
}

interface Row {
  readonly out: number;
  readonly blocks: readonly Block[];
  /** Of each block (all of size 1 then); undefined for the average of all replicas in them. */
  readonly weights: Float32Array | undefined;
  readonly factor: number;
  /** The replica that the others are compared with, for a sum of differences. */
  readonly own?: number;
}

const word = new Int32Array(1);
const float = new Float32Array(word.buffer);
function bitsOf(value: number): number {
  float[0] = value;
  return word[0]!;
}

const keyOf = ({ first, size }: Block) => `${first}+${size}`;

const withWeights = (operands: readonly number[], weights: Float32Array) =>
  operands.flatMap((operand, i) => [operand, bitsOf(weights[i]!)]);

/** The instruction for `group` rows of which this is the first. */
function sumCode({ out, weights, factor }: Row, group: number, operands: readonly number[]): number[] {
  if (weights !== undefined) return [WEIGHTED!, out, group, operands.length, ...withWeights(operands, weights)];
  const high = Math.fround(factor);
  return [AVERAGE!, out, group, operands.length, bitsOf(high), bitsOf(factor - high), ...operands];
}

class Compiler {
  readonly #code: number[] = [];
  readonly #nodes = new Map<string, Node>();
  readonly #free: number[] = [];
  /** Operations in which each operand is read, to see how much must stay in cache. */
  readonly #reads = new Map<string, [first: number, last: number]>();
  readonly #rowOf: Map<string, number>;
  #slots = 0;
  #operands = 8;
  #time = 0;

  constructor(held: readonly Block[]) {
    this.#rowOf = new Map(held.map((block, row) => [keyOf(block), row]));
  }

  /** Counts a use of the block and, at the first, of what it is made of. */
  #claim(block: Block): void {
    const key = keyOf(block);
    if (this.#rowOf.has(key)) return;
    if (block.size === 1) throw new RangeError(`the input holds no row of replica ${block.first}`);
    const node = this.#nodes.get(key);
    if (node !== undefined) {
      node.uses += 1;
      return;
    }
    const parts = partsOf(block);
    this.#nodes.set(key, { parts, uses: 1, slot: -1 });
    for (const part of parts) this.#claim(part);
  }

  #read(key: string): void {
    const seen = this.#reads.get(key);
    if (seen === undefined) this.#reads.set(key, [this.#time, this.#time]);
    else seen[1] = this.#time;
  }

  /** The operand for a block, computed now if nobody needed it before. */
  #operand(block: Block): number {
    const key = keyOf(block);
    const row = this.#rowOf.get(key);
    if (row !== undefined) {
      this.#read(key);
      return row;
    }
    const node = this.#nodes.get(key)!;
    if (node.slot < 0) this.#emit(block, node);
    this.#read(key);
    return ~node.slot;
  }

  /** Gives back the scratch memory of sums that nobody needs any more. */
  #release(blocks: readonly Block[]): void {
    for (const block of blocks) {
      const node = this.#nodes.get(keyOf(block));
      if (node === undefined) continue;
      node.uses -= 1;
      if (node.uses === 0) this.#free.push(node.slot);
    }
  }

  #allocate(node: Node): number {
    node.slot = this.#free.pop() ?? this.#slots++;
    return node.slot;
  }

  #emit(block: Block, node: Node): void {
    const eight = this.#eightRows(block, node);
    if (eight !== undefined) {
      for (let row = 0; row < 8; row++) this.#read(keyOf({ first: block.first + row, size: 1 }));
      this.#time += 1;
      this.#code.push(OCT!, this.#allocate(node), eight);
      return;
    }
    const operands = node.parts.map((part) => this.#operand(part));
    this.#time += 1;
    // The sum may not overwrite what it is made of: the slot comes before the release.
    this.#code.push(operands.length === 4 ? QUAD! : PAIR!, this.#allocate(node), ...operands);
    this.#release(node.parts);
  }

  /** The first of eight adjacent rows that make up the block, if nobody else needs its halves: one instruction instead of three. */
  #eightRows(block: Block, node: Node): number | undefined {
    if (block.size !== 8) return undefined;
    const lone = (part: Block) => this.#nodes.get(keyOf(part))?.uses === 1 && this.#nodes.get(keyOf(part))?.slot === -1;
    if (!node.parts.every(lone)) return undefined;
    const rows = node.parts.flatMap(partsOf).map((single) => this.#rowOf.get(keyOf(single)));
    return rows.every((row, i) => row !== undefined && row === rows[0]! + i) ? rows[0] : undefined;
  }

  /** How many of rows[at …] are rows[at] shifted by 1, 2, … in what they read and write. */
  #shifted(rows: readonly Row[], at: number): number {
    const head = rows[at]!;
    if (head.own !== undefined) return 1;
    const source = (row: Row) => row.blocks.map((block) => this.#rowOf.get(keyOf(block)));
    const first = source(head);
    if (first.includes(undefined)) return 1;
    // Streams of a group of g: its outputs, and one per row it reads.
    const streams = (group: number) =>
      group + new Set(first.flatMap((row) => Array.from({ length: group }, (_, g) => row! + g))).size;
    let group = 1;
    while (at + group < rows.length && streams(group + 1) <= groupStreams) {
      const next = rows[at + group]!;
      const same =
        next.out === head.out + group &&
        next.factor === head.factor &&
        next.blocks.length === first.length &&
        source(next).every((row, i) => row === first[i]! + group) &&
        (head.weights === undefined
          ? next.weights === undefined
          : next.weights !== undefined && head.weights.every((weight, i) => weight === next.weights![i]));
      if (!same) break;
      group += 1;
    }
    return group;
  }

  #emitRows(rows: readonly Row[], at: number, repeats: readonly boolean[]): number {
    const { out, blocks, weights, own } = rows[at]!;
    const shifted = this.#shifted(rows, at);
    // What is repeated is the first row of the instruction before: the row that it is must be one by itself.
    const group = shifted > 1 && repeats[at + shifted] ? shifted - 1 : shifted;
    const operands = blocks.map((block) => this.#operand(block));
    for (let g = 1; g < group; g++) for (const block of rows[at + g]!.blocks) this.#operand(block);
    this.#time += 1;
    this.#operands = Math.max(this.#operands, operands.length);
    if (own !== undefined) {
      const row = this.#operand({ first: own, size: 1 });
      this.#code.push(DIFFERENCE!, out, row, operands.length, ...withWeights(operands, weights!));
    } else this.#code.push(...sumCode(rows[at]!, group, operands));
    this.#release(blocks);
    return group;
  }

  compile(rows: readonly Row[]): MixProgram {
    const isRepeat = (row: Row, before: Row | undefined) =>
      before !== undefined &&
      row.out === before.out + 1 &&
      row.weights === undefined &&
      before.weights === undefined &&
      row.factor === before.factor &&
      row.blocks.length === before.blocks.length &&
      row.blocks.every((block, i) => keyOf(block) === keyOf(before.blocks[i]!));
    const repeats = rows.map((row, i) => isRepeat(row, rows[i - 1]));
    rows.forEach(({ blocks }, i) => {
      if (!repeats[i]) for (const block of blocks) this.#claim(block);
    });
    for (let at = 0; at < rows.length; ) {
      if (repeats[at]) {
        let end = at + 1;
        while (repeats[end]) end++;
        this.#code.push(REPEAT!, rows[at]!.out, end - at);
        at = end;
      } else at += this.#emitRows(rows, at, repeats);
    }
    return {
      code: Int32Array.from(this.#code),
      inputs: Math.max(0, ...this.#rowOf.values()) + 1,
      outputs: Math.max(...rows.map((row) => row.out)) + 1,
      nodes: this.#slots,
      operands: this.#operands,
      live: this.#mostLive(),
      constant: repeats.every((repeat, i) => repeat || i === 0),
    };
  }

  #mostLive(): number {
    const change = new Int32Array(this.#time + 2);
    for (const [first, last] of this.#reads.values()) {
      change[first]! += 1;
      change[last + 1]! -= 1;
    }
    let live = 0;
    return change.reduce((most, step) => Math.max(most, (live += step)), 0);
  }
}

/** Weights as float32. What rounding takes from the neighbours' goes to the own one, so that rows sum to what they should. */
function rounded(mixing: Mixing, i: number): Float32Array {
  const [from, to] = [mixing.start[i]!, stopsOf(mixing)[i]!];
  const row = mixing.weight.subarray(from, to);
  const out = Float32Array.from(row);
  const own = mixing.source.subarray(from, to).indexOf(i);
  if (own >= 0) out[own] = row.reduce((sum, w, e) => sum + w - (e === own ? 0 : out[e]!), 0);
  return out;
}

/** W as written by another rule may differ from 1/count in the last bits of a float64: that is the same average. */
const isShare = (weight: number, count: number) => Math.abs(weight * count - 1) < 1e-12;
const isAverage = (weights: Float64Array) => weights.every((weight) => isShare(weight, weights.length));

export interface MixScope {
  /** Output rows [first, end); all unless given. */
  readonly rows?: readonly [first: number, end: number];
  /** What row h of the input holds; replica h unless given. A rank that keeps only some rows says which. */
  readonly held?: readonly Block[];
  /** Where the first of `rows` goes in the output; to its own number unless given. */
  readonly out?: number;
}

const everyone = (n: number): Block[] => Array.from({ length: n }, (_, first) => ({ first, size: 1 }));

/** Rows of equal weights are averages of a set of replicas (see blocks.ts), others Σ W_ij x_j in ascending j. */
function rowOf(mixing: Mixing, i: number, out: number): Row {
  const [from, to] = [mixing.start[i]!, stopsOf(mixing)[i]!];
  const sources = mixing.source.subarray(from, to);
  if (isAverage(mixing.weight.subarray(from, to)))
    return { out, blocks: blocksOf(sources), weights: undefined, factor: 1 / sources.length };
  const blocks = Array.from(sources, (first) => ({ first, size: 1 }));
  return { out, blocks, weights: rounded(mixing, i), factor: 1 };
}

/** out_i = Σ_j W_ij x_j */
export function mixingProgram(
  mixing: Mixing,
  { rows: [first, end] = [0, mixing.n], held, out = first }: MixScope = {},
): MixProgram {
  const rows = Array.from({ length: end - first }, (_, r) => rowOf(mixing, first + r, out + r));
  return new Compiler(held ?? everyone(mixing.n)).compile(rows);
}

/** The same for one row, into row 0 of the output; only if no sum of blocks is needed, as in runs of fewer than eight. */
export function rowCode(mixing: Mixing, i: number): Int32Array {
  const row = rowOf(mixing, i, 0);
  if (row.blocks.some(({ size }) => size > 1)) throw new RangeError(`row ${i} is made of sums of blocks`);
  return Int32Array.from(
    sumCode(
      row,
      1,
      row.blocks.map(({ first }) => first),
    ),
  );
}

/**
 * out_i = Σ_j W_ij (x_j − x_i), in ascending j: W x − x without the rounding that would let the mean drift in rows that add it up. Every pair
 * of replicas is computed by itself, however many there are.
 */
export function differenceProgram(
  mixing: Mixing,
  { rows: [first, end] = [0, mixing.n], held, out = first }: MixScope = {},
): MixProgram {
  const { n, start, source, weight } = mixing;
  const stop = stopsOf(mixing);
  const rows = Array.from({ length: end - first }, (_, r): Row => {
    const own = first + r;
    const entries = Array.from({ length: stop[own]! - start[own]! }, (_, e) => start[own]! + e);
    const others = entries.filter((e) => source[e] !== own);
    return {
      out: out + r,
      blocks: others.map((e) => ({ first: source[e]!, size: 1 })),
      weights: Float32Array.from(others, (e) => weight[e]!),
      factor: 1,
      own,
    };
  });
  return new Compiler(held ?? everyone(n)).compile(rows);
}

/** Whether every row of W is the plain average of all replicas: mixing is then one mean. */
export function isMean(mixing: Mixing): boolean {
  const { n, start, weight } = mixing;
  return stopsOf(mixing).every((stop, i) => stop - start[i]! === n) && weight.every((each) => isShare(each, n));
}

/** Output row 0 = (1/n) Σ_i x_i over n members, with the bits that a row of a complete topology has. */
export function meanProgram(members: Members, held?: readonly Block[]): MixProgram {
  const n = typeof members === 'number' ? members : members.length;
  const row: Row = { out: 0, blocks: blocksOf(members), weights: undefined, factor: 1 / n };
  return new Compiler(held ?? everyone(n)).compile([row]);
}

/** Output row b = the sum of the replicas in blocks[b]: what a rank contributes to a mean (see partialBlocks). */
export function sumProgram(blocks: readonly Block[], held: readonly Block[]): MixProgram {
  return new Compiler(held).compile(
    blocks.map((block, out) => ({ out, blocks: [block], weights: undefined, factor: 1 })),
  );
}
