import { evaluate, type Formula, namesIn } from '../base/formula.ts';
import type { Rows } from './memory.ts';
import { type Memory, WebAssembly } from './webassembly.ts';

/**
 * Elementwise formulas over rows as WebAssembly of their own: one pass over memory, four numbers at once, operation by operation as written, without
 * fused multiply-add. What does not depend on rows is computed in float64 first and then rounded.
 */

/** A formula as the machine sees it: rows and scalars by their place among the parameters. */
type Code =
  | { readonly row: number }
  | { readonly scalar: number }
  | { readonly op: string; readonly of: readonly Code[] };

interface Compiled {
  readonly rows: readonly string[];
  readonly scalars: readonly Formula[];
  readonly module: object;
}

/** Names of rows and the formula they stand in; instances are made for each memory. */
export class RowFormula {
  readonly #compiled: Compiled;
  readonly #instances = new Map<Memory, (...args: number[]) => void>();

  constructor(formula: Formula, isRow: (name: string) => boolean) {
    this.#compiled = compile(formula, isRow);
  }

  /** The rows that it reads. */
  get rows(): readonly string[] {
    return this.#compiled.rows;
  }

  /** out_i ← the formula of row i of the inputs, which may be the output themselves. */
  run(out: Rows, i: number, inputs: Readonly<Record<string, Rows>>, scalar: (name: string) => number): void {
    const { rows, scalars, module } = this.#compiled;
    const values = scalars.map((formula) => evaluate(formula, scalar));
    const { shards, memories } = out.memory;
    shards.forEach(({ offset, strideBytes }, s) => {
      const memory = memories[s]!;
      let pass = this.#instances.get(memory);
      if (pass === undefined) {
        const { exports } = new WebAssembly.Instance(module, { env: { memory } });
        this.#instances.set(memory, (pass = (exports as { pass: typeof pass }).pass!));
      }
      const address = (each: Rows) => offset[each.name]! + each.place(i) * strideBytes;
      pass(address(out), strideBytes, ...rows.map((name) => address(inputs[name]!)), ...values);
    });
  }
}

function compile(formula: Formula, isRow: (name: string) => boolean): Compiled {
  const rows: string[] = [];
  const scalars: Formula[] = [];
  const place = <T>(list: T[], value: T): number => (list.includes(value) ? list.indexOf(value) : list.push(value) - 1);
  const code = (part: Formula): Code => {
    if (!namesIn(part).some(isRow)) return { scalar: place(scalars, part) };
    if ('name' in part) return { row: place(rows, part.name) };
    const { op, of } = part as { op: string; of: readonly Formula[] };
    if (operation[op] === undefined) throw new RangeError(`"${op}" cannot be applied to rows`);
    return { op, of: of.map(code) };
  };
  const body = code(formula);
  return { rows, scalars, module: new WebAssembly.Module(encode(body, rows.length, scalars.length)) };
}

/** SIMD instructions on four float32 each. */
const operation: Readonly<Record<string, number>> = {
  '+': 0xe4,
  '-': 0xe5,
  '*': 0xe6,
  '/': 0xe7,
  min: 0xe8,
  max: 0xe9,
  abs: 0xe0,
  negative: 0xe1,
  sqrt: 0xe3,
};

/** Rows take whole cache lines, of 64 bytes: a turn of the loop is one of them (64 in signed LEB128). */
const lineBytes = [0xc0, 0x00];

const [i32, f32] = [0x7f, 0x7d];
const [localGet, localSet, i32Const, i32Add, i32LessUnsigned] = [0x20, 0x21, 0x41, 0x6a, 0x49];

/** An unsigned number in LEB128. */
function leb(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...leb(Math.floor(value / 128))];
}

const vector = (items: readonly (readonly number[])[]) => [...leb(items.length), ...items.flat()];
const sized = (bytes: readonly number[]) => [...leb(bytes.length), ...bytes];
const section = (id: number, content: readonly number[]) => [id, ...sized(content)];
const text = (name: string) => sized([...Buffer.from(name)]);
const simd = (instruction: number) => [0xfd, ...leb(instruction)];

/** A module with `pass(out, bytes, row…, scalar…)`, over an imported shared memory. */
function encode(body: Code, rows: number, scalars: number): Uint8Array {
  const [out, bytes, firstRow] = [0, 1, 2];
  const firstScalar = firstRow + rows;
  // The only other local counts the bytes that are done.
  const done = firstScalar + scalars;
  const address = (local: number) => [localGet, ...leb(local), localGet, ...leb(done), i32Add];
  const emit = (code: Code, at: number): number[] => {
    if ('row' in code) return [...address(firstRow + code.row), ...simd(0x00), 4, ...leb(at)];
    if ('scalar' in code) return [localGet, ...leb(firstScalar + code.scalar), ...simd(0x13)];
    return [...code.of.flatMap((part) => emit(part, at)), ...simd(operation[code.op]!)];
  };
  const line = [0, 16, 32, 48].flatMap((at) => [...address(out), ...emit(body, at), ...simd(0x0b), 4, ...leb(at)]);
  const next = [localGet, ...leb(done), i32Const, ...lineBytes, i32Add, localSet, ...leb(done)];
  const again = [localGet, ...leb(done), localGet, ...leb(bytes), i32LessUnsigned, 0x0d, 0];
  const loop = [0x03, 0x40, ...line, ...next, ...again, 0x0b, 0x0b];
  const parameters = [i32, i32, ...Array(rows).fill(i32), ...Array(scalars).fill(f32)].map((type) => [type]);
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, vector([[0x60, ...vector(parameters), ...vector([])]])),
    ...section(2, vector([[...text('env'), ...text('memory'), 0x02, 0x03, ...leb(1), ...leb(65536)]])),
    ...section(3, vector([[0]])),
    ...section(7, vector([[...text('pass'), 0x00, 0]])),
    ...section(10, vector([sized([...vector([[1, i32]]), ...loop])])),
  ]);
}
