import { sizeOf } from '../base/shape.ts';
import type { TensorKernel } from '../kernel/tensor.ts';
import type { Program, Shape, Value, Window } from '../tensor/program.ts';
import { type Format, rowMajor } from './format.ts';
import type { Described, Recorder, Stored } from './recorder.ts';

/** What a forward primitive leaves for its gradient. */
export interface Kept {
  readonly described: Described;
  readonly src: Stored;
  readonly workspace: Stored | undefined;
  /** Of a pooling. */
  readonly window?: Window;
}

/**
 * The values of a program while it is lowered. A value may be in memory in several formats: each is made once, when a primitive
 * first asks for it, so that layouts pass from layer to layer and a weight is reordered once per step.
 */
export class Scope {
  readonly recorder: Recorder;
  readonly program: Program;
  /** The passes over the arena's memory, which is there once all is lowered. */
  readonly kernel: () => TensorKernel;
  readonly #versions = new Map<Value, Stored[]>();
  readonly #outputs = new Map<Value, string>();
  /** Stored tensors whose elements are repeated or apart. */
  readonly #views = new WeakSet<Stored>();
  /** Forward primitives by the value they gave. */
  readonly kept = new Map<Value, Kept>();
  /** Forward convolutions and poolings by their shapes, which their gradients refer to. */
  readonly hints = new Map<string, Described>();

  constructor(recorder: Recorder, program: Program, kernel: () => TensorKernel) {
    this.recorder = recorder;
    this.program = program;
    this.kernel = kernel;
    for (const { name, value } of program.inputs)
      this.#versions.set(value, [{ format: this.#plain(value), place: { kind: 'bound', name } }]);
    for (const { name, value } of program.outputs)
      if (!this.#versions.has(value) && !this.#outputs.has(value)) this.#outputs.set(value, name);
  }

  #plain(value: Value): Format {
    return this.recorder.formats.plain(this.shape(value));
  }

  shape(value: Value): Shape {
    return this.program.types[value]!.shape;
  }

  size(value: Value): number {
    return sizeOf(this.shape(value));
  }

  /** Where a value is to be written: straight into its output where the format allows it. */
  target(value: Value, format: Format = this.#plain(value)): Stored {
    const name = this.#outputs.get(value);
    const direct = name !== undefined && this.recorder.formats.isPlain(format);
    const stored: Stored = direct ? { format, place: { kind: 'bound', name } } : this.recorder.arena(format);
    this.define(value, stored);
    return stored;
  }

  /** In the arena, for the kernels, which see no other memory. */
  arenaTarget(value: Value): Stored {
    const stored = this.recorder.arena(this.#plain(value));
    this.define(value, stored);
    return stored;
  }

  define(value: Value, stored: Stored): void {
    this.#versions.set(value, [stored]);
  }

  /** As it was computed; a view of other memory is copied first. */
  current(value: Value): Stored {
    const { formats } = this.recorder;
    const [first] = this.#versions.get(value)!;
    return this.#views.has(first!) ? this.read(value, formats.plain(this.shape(value))) : first!;
  }

  /** As it was computed, or undefined for a view. */
  layout(value: Value): Format | undefined {
    const [first] = this.#versions.get(value)!;
    return this.#views.has(first!) ? undefined : first!.format;
  }

  /** Defines a value as some or all elements of other memory, in another order: nothing is copied until someone asks. */
  defineView(value: Value, stored: Stored): void {
    this.#views.add(stored);
    this.define(value, stored);
  }

  /** The value in a format, which may have other axes than the value as long as the order of elements is the plain one. */
  read(value: Value, format: Format = this.#plain(value)): Stored {
    const { formats } = this.recorder;
    const versions = this.#versions.get(value)!;
    const known = versions.find((version) => formats.same(version.format, format));
    if (known !== undefined) return known;
    const { shape } = format;
    let from = versions.find((version) => String(version.format.shape) === String(shape));
    if (from === undefined) {
      const plain = this.read(value);
      from = this.recorder.as(plain, formats.plain(shape));
      if (formats.same(from.format, format)) return from;
    }
    const made = this.recorder.arena(format);
    this.recorder.copy(from, made);
    versions.push(made);
    return made;
  }

  /** In plain format and in the arena. */
  readArena(value: Value): Stored {
    const plain = this.read(value);
    if (plain.place.kind === 'arena') return plain;
    const versions = this.#versions.get(value)!;
    const known = versions.find(
      ({ format, place }) => place.kind === 'arena' && this.recorder.formats.same(format, plain.format),
    );
    if (known !== undefined) return known;
    const copy = this.recorder.arena(plain.format);
    this.recorder.copy(plain, copy);
    versions.push(copy);
    return copy;
  }

  /**
   * Elements from one row of a matrix to the next, for products that read it column by column. AVX2's, which do not bring matrices into an
   * order of their own first, take up to twice as long where rows are multiples of 2 KB apart and drive each other out of the nearest cache.
   */
  rowStride(columns: number): number {
    return columns % 512 === 0 && this.recorder.library.vectors === 'avx2' ? columns + 16 : columns;
  }

  /** The value repeated to a larger shape, as NumPy broadcasts; a view. */
  repeated(value: Value, shape: Shape): Stored {
    const own = this.shape(value);
    const extra = shape.length - own.length;
    const strides = rowMajor(own);
    const format = this.recorder.formats.strided(
      shape,
      shape.map((_, axis) => (axis < extra || own[axis - extra] === 1 ? 0 : strides[axis - extra]!)),
    );
    return this.recorder.as(this.read(value), format);
  }

  /** Copies to where outputs are expected what is not there yet. */
  finish(): void {
    for (const { name, value } of this.program.outputs) {
      const to: Stored = { format: this.#plain(value), place: { kind: 'bound', name } };
      const versions = this.#versions.get(value)!;
      if (versions.some(({ place }) => place.kind === 'bound' && place.name === name)) continue;
      if (this.program.types[value]!.dtype === 'int32') this.#copyInts(value, to);
      else this.recorder.copy(this.#source(value, to.format), to);
    }
  }

  #source(value: Value, format: Format): Stored {
    const versions = this.#versions.get(value)!;
    const shape = String(format.shape);
    return versions.find((version) => String(version.format.shape) === shape) ?? this.read(value);
  }

  #copyInts(value: Value, to: Stored): void {
    const from = this.read(value);
    this.recorder.script('copy', [from, to], ({ view }) => {
      const [source, target] = [view(from), view(to)];
      return () => target().set(source());
    });
  }
}
