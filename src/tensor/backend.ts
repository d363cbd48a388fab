import { UserError } from '../base/error.ts';
import { sizeOf } from '../base/shape.ts';
import { printType } from './print.ts';
import type { Program, TensorType, Value } from './program.ts';
import { typesOf } from './shape.ts';
import { wholeInputs } from './whole.ts';

/** The seam between programs and what runs them: onnx/ implements it, another backend only adds a folder. */
export interface Backend {
  readonly name: string;
  /** Whether shared memory can be bound, and other memory before every run at little cost: rows of replicas need no copy then. */
  readonly direct: boolean;
  compile(program: Program, options?: CompileOptions): Promise<Executable>;
}

export interface CompileOptions {
  /** Threads of one run; 1 unless given, which is deterministic and leaves the other cores to other replicas. */
  readonly threads?: number;
}

export type Numbers = Float32Array | Int32Array;
/** Memory by input or output name; views into larger rows are read and written in place. */
export type Buffers = Readonly<Record<string, Numbers>>;

export interface Executable {
  readonly program: Program;
  /**
   * Ties memory to every input and output, once, so that a run copies nothing. Inputs and outputs must not overlap:
   * a backend may write an output before it has read every input. Memory may come in parts, each name in one of them; a
   * direct backend looks at the same part only once.
   */
  bind(...parts: readonly Buffers[]): BoundRun;
  close(): Promise<void>;
}

/** One execution on the memory that was bound: done when it returns, unless that is a promise. */
export type BoundRun = () => Promise<void> | undefined;

/** Throws on an unknown op or a node whose types are not what its op yields: programs may come from elsewhere. */
export function checkProgram(program: Program): void {
  for (const { op, inputs, outputs, attributes } of program.nodes) {
    const type = (value: Value) => program.types[value]!;
    const wanted = typesOf(op, inputs.map(type), attributes).map(printType).join(', ');
    const given = outputs.map(type).map(printType).join(', ');
    if (wanted !== given) throw new UserError(`${op}: yields ${wanted}, but the program says ${given}`);
  }
}

interface CheckOptions {
  /** Whether shared memory may be bound. */
  readonly shared?: boolean;
}

/** Throws unless there is memory of the right type and size for every input and output, without overlap. */
export function checkBuffers(program: Program, buffers: Buffers, options: CheckOptions = {}): void {
  checkPart(program, buffers, options);
  checkComplete(program, (name) => buffers[name] !== undefined);
  checkOverlap(program, buffers);
}

/** The same for some of the memory: names, types and sizes. */
export function checkPart(program: Program, buffers: Buffers, { shared = false }: CheckOptions = {}): void {
  const types = new Map(
    [...program.inputs, ...program.outputs].map(({ name, value }) => [name, program.types[value]!]),
  );
  for (const [name, buffer] of Object.entries(buffers)) {
    const type = types.get(name);
    if (type === undefined)
      throw new UserError(`"${name}" is neither an input nor an output`, {
        hint: `there are: ${[...types.keys()].join(', ')}`,
      });
    if (buffer !== undefined) checkBuffer(name, type, buffer, shared);
  }
}

/** Throws unless every input and output has memory. */
export function checkComplete({ inputs, outputs, types }: Program, isBound: (name: string) => boolean): void {
  for (const { name, value } of [...inputs, ...outputs])
    if (!isBound(name)) throw new UserError(`nothing is bound to ${name}: ${printType(types[value]!)}`);
}

function checkBuffer(name: string, type: TensorType, buffer: Numbers, shared: boolean): void {
  const dtype = buffer instanceof Float32Array ? 'float32' : 'int32';
  if (dtype !== type.dtype) throw new UserError(`${name} is ${printType(type)}, got memory of type ${dtype}`);
  if (buffer.length !== sizeOf(type.shape))
    throw new UserError(`${name} is ${printType(type)} = ${sizeOf(type.shape)} elements, got ${buffer.length}`);
  if (!shared && buffer.buffer instanceof SharedArrayBuffer)
    throw new UserError(`${name}: shared memory cannot be bound`, { hint: 'bind private memory and copy' });
}

/** Throws when an output shares memory with an input or another output. */
export function checkOverlap(program: Program, buffers: Buffers): void {
  const spans = (names: Program['inputs'], written: boolean) =>
    names.flatMap(({ name }) => {
      const memory = buffers[name];
      if (memory === undefined) return [];
      const { buffer, byteOffset, byteLength } = memory;
      return [{ name, written, buffer, start: byteOffset, end: byteOffset + byteLength }];
    });
  const sorted = [...spans(program.inputs, false), ...spans(program.outputs, true)].sort((a, b) => a.start - b.start);
  const furthest = new Map<unknown, (typeof sorted)[number]>();
  for (const span of sorted) {
    const before = furthest.get(span.buffer);
    if (before && span.start < before.end && (span.written || before.written))
      throw new UserError(`the memory of ${span.name} overlaps that of ${before.name}`, {
        hint: 'an output needs memory of its own',
      });
    if (!before || span.end > before.end) furthest.set(span.buffer, span);
  }
}

interface IndexBound {
  readonly name: string;
  readonly bound: number;
  readonly use: string;
}

/** The int32 inputs that name classes or rows of a table, and how many there are. */
export function indexBounds(program: Program): readonly IndexBound[] {
  const source = new Map(program.inputs.map(({ name, value }) => [value, name]));
  const bounds: IndexBound[] = [];
  for (const { op, inputs, outputs } of program.nodes) {
    if (op === 'reshape' && source.has(inputs[0]!)) source.set(outputs[0]!, source.get(inputs[0]!)!);
    for (const { input, axis, what } of wholeInputs[op]) {
      const name = source.get(inputs[input]!);
      if (name === undefined || axis === undefined) continue;
      bounds.push({ name, bound: program.types[inputs[0]!]!.shape[axis]!, use: `${op}: ${what}` });
    }
  }
  return bounds;
}

/** Throws on a label or token that no class or row has. */
export function checkIndices(bounds: readonly IndexBound[], memoryOf: (name: string) => Numbers): void {
  for (const { name, bound, use } of bounds) {
    const memory = memoryOf(name);
    for (let i = 0; i < memory.length; i++)
      if (!(memory[i]! >= 0 && memory[i]! < bound))
        throw new UserError(`${use} must be from 0 to ${bound - 1}, but ${name}[${i}] is ${memory[i]}`);
  }
}
