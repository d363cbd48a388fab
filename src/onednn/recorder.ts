import { sizeOf } from '../base/shape.ts';
import type { Numbers } from '../tensor/backend.ts';
import type { Shape } from '../tensor/program.ts';
import { type Argument, argument, inputCountQuery, type Query, scratchpadMode, sourceArgument } from './constants.ts';
import type { Activation, Algorithm, ChainedOp, OperationKind, Operations } from './dialect.ts';
import type { Format } from './format.ts';
import { Formats } from './formats.ts';
import type { Library } from './library.ts';

/** Where a tensor is: in the arena, at an offset that is decided when all calls are known, or in memory that is bound. */
export type Place =
  | { readonly kind: 'arena'; readonly bytes: number; readonly initial?: Float32Array }
  | { readonly kind: 'bound'; readonly name: string };

export interface Stored {
  readonly format: Format;
  readonly place: Place;
  /** Where in its place it begins, in bytes. */
  readonly start?: number;
}

/** What scripts work with: memory as it is at the time of the call. */
export interface Access {
  /** All elements of a tensor in plain format. */
  view(stored: Stored): () => Numbers;
  /** The address within the arena. */
  offset(stored: Stored): number;
}

export interface PrimitiveCall {
  readonly op: string;
  readonly primitive: number;
  readonly args: readonly (readonly [number, Stored])[];
}
/** What is done here rather than in the library. */
interface ScriptCall {
  readonly op: string;
  readonly uses: readonly Stored[];
  readonly script: (access: Access) => () => void;
}
export type Call = PrimitiveCall | ScriptCall;

export const usesOf = (call: Call): readonly Stored[] =>
  'script' in call ? call.uses : call.args.map(([, stored]) => stored);

/** An operation that is applied to a result before it is written. */
export type PostOp = ChainedOp<Stored>;

export type Arguments = Readonly<Partial<Record<Argument, Stored>>>;

/** A primitive's description, which knows the formats it wants. */
export interface Described {
  readonly handle: number;
  readonly posts: readonly PostOp[];
  /** The primitive, once it is used. */
  primitive?: number;
}

/** Grows the list of calls. Descriptions and formats live until it is closed, primitives until the executable is. */
export class Recorder {
  readonly library: Library;
  readonly formats: Formats;
  readonly calls: Call[] = [];
  readonly #descriptions: number[] = [];
  readonly #constants = new Map<string, Stored>();

  constructor(library: Library) {
    this.library = library;
    this.formats = new Formats(library);
  }

  describe<K extends OperationKind>(
    kind: K,
    operation: Operations[K],
    { posts = [], hint }: { posts?: readonly PostOp[]; hint?: Described | undefined } = {},
  ): Described {
    return this.#described(posts, (attributes) =>
      this.library.dialect.describe(kind, operation, attributes, hint?.handle),
    );
  }

  #described(posts: readonly PostOp[], create: (attributes: number) => number): Described {
    const { library } = this;
    const attributes = library.handle('dnnl_primitive_attr_create');
    const chain = posts.length > 0 ? library.handle('dnnl_post_ops_create') : 0;
    try {
      library.call('dnnl_primitive_attr_set_scratchpad_mode', attributes, scratchpadMode.user);
      for (const post of posts) library.dialect.append(chain, post);
      if (chain !== 0) library.call('dnnl_primitive_attr_set_post_ops', attributes, chain);
      const handle = create(attributes);
      this.#descriptions.push(handle);
      return { handle, posts };
    } finally {
      if (chain !== 0) library.call('dnnl_post_ops_destroy', chain);
      library.call('dnnl_primitive_attr_destroy', attributes);
    }
  }

  wanted({ handle }: Described, what: Query): Format {
    return this.formats.wanted(handle, what);
  }

  /** How many tensors the primitive reads. */
  inputCount({ handle }: Described): number {
    const count = new Int32Array(1);
    this.library.call('dnnl_primitive_desc_query', handle, inputCountQuery, 0, count);
    return count[0]!;
  }

  /** Appends a call; scratch memory is added as the primitive asks for it. */
  execute(op: string, described: Described, args: Arguments, more: readonly (readonly [number, Stored])[] = []): void {
    described.primitive ??= this.library.handle('dnnl_primitive_create', described.handle);
    const scratch = this.wanted(described, 'scratchpad');
    const bytes = this.formats.bytes(scratch);
    this.calls.push({
      op,
      primitive: described.primitive,
      args: [
        ...Object.entries(args).map(([name, stored]) => [argument[name as Argument], stored!] as const),
        ...more,
        ...described.posts.flatMap((post, i) =>
          post.kind === 'binary' ? [[this.library.dialect.postArgument(i), post.operand] as const] : [],
        ),
        ...(bytes > 0 ? [[argument.scratchpad, { format: scratch, place: { kind: 'arena', bytes } }] as const] : []),
      ],
    });
  }

  script(op: string, uses: readonly Stored[], script: ScriptCall['script']): void {
    this.calls.push({ op, uses, script });
  }

  /** New memory. */
  arena(format: Format): Stored {
    return { format, place: { kind: 'arena', bytes: this.formats.bytes(format) } };
  }

  plain(shape: Shape): Stored {
    return this.arena(this.formats.plain(shape));
  }

  /** Memory that holds one value everywhere and is never written again. */
  constant(shape: Shape, value: number): Stored {
    const key = `${value} [${shape}]`;
    const known = this.#constants.get(key);
    if (known !== undefined) return known;
    const stored = this.literal(shape, new Float32Array(sizeOf(shape)).fill(value));
    this.#constants.set(key, stored);
    return stored;
  }

  /** The same for any values. */
  literal(shape: Shape, values: ArrayLike<number>): Stored {
    const initial = Float32Array.from(values);
    return { format: this.formats.plain(shape), place: { kind: 'arena', bytes: initial.byteLength, initial } };
  }

  /** The same memory seen with another shape or another order. */
  as(stored: Stored, format: Format): Stored {
    return { ...stored, format };
  }

  /** A tensor that begins some elements further on. */
  from(stored: Stored, elements: number, format: Format): Stored {
    return { format, place: stored.place, start: (stored.start ?? 0) + 4 * elements };
  }

  copy(from: Stored, to: Stored, posts: readonly PostOp[] = []): void {
    const { engine, handle } = this.library;
    const [src, dst] = [from.format.description, to.format.description];
    const described = this.#described(posts, (attributes) =>
      handle('dnnl_reorder_primitive_desc_create', src, engine, dst, engine, attributes),
    );
    this.execute('reorder', described, { src: from, dst: to });
  }

  binary(algorithm: Algorithm, a: Stored, b: Stored, dst: Stored, posts: readonly PostOp[] = []): void {
    const operation = { algorithm, a: a.format, b: b.format, dst: dst.format };
    this.execute('binary', this.describe('binary', operation, { posts }), { src: a, src1: b, dst });
  }

  /** Σ scale_i · source_i, all in one format. */
  combine(sources: readonly (readonly [Stored, number])[], dst: Stored): void {
    const described = this.describe('sum', {
      sources: sources.map(([{ format }]) => format),
      scales: sources.map(([, scale]) => scale),
      dst: dst.format,
    });
    this.execute(
      'sum',
      described,
      { dst },
      sources.map(([source], i) => [sourceArgument(i), source] as const),
    );
  }

  concat(sources: readonly Stored[], axis: number, dst: Stored): void {
    const formats = sources.map(({ format }) => format);
    const described = this.describe('concat', { sources: formats, axis, dst: dst.format });
    this.execute(
      'concat',
      described,
      { dst },
      sources.map((source, i) => [sourceArgument(i), source] as const),
    );
  }

  activation(algorithm: Activation, src: Stored, dst: Stored): void {
    this.execute('eltwise', this.describe('eltwise', { algorithm, data: src.format }), { src, dst });
  }

  /** dst = a · b (+ bias), formats may be strided. */
  matmul(a: Stored, b: Stored, dst: Stored, bias?: Stored, posts: readonly PostOp[] = []): void {
    const operation = { src: a.format, weights: b.format, bias: bias?.format, dst: dst.format };
    const described = this.describe('matmul', operation, { posts });
    this.execute('matmul', described, { src: a, weights: b, dst, ...(bias && { bias }) });
  }

  /** Sums over leading or trailing elements of [rows, columns]. */
  sumRows(x: Stored, rows: number, columns: number, dst: Stored): void {
    const { formats } = this;
    this.matmul(
      this.constant([1, rows], 1),
      this.as(x, formats.plain([rows, columns])),
      this.as(dst, formats.plain([1, columns])),
    );
  }

  sumColumns(x: Stored, rows: number, columns: number, dst: Stored): void {
    const { formats } = this;
    const [src, out] = [this.as(x, formats.plain([rows, columns])), this.as(dst, formats.plain([rows, 1]))];
    // The library refuses to sum over a single element.
    if (columns === 1) {
      this.copy(src, out);
      return;
    }
    const described = this.describe('reduction', { src: src.format, dst: out.format });
    this.execute('reduction', described, { src, dst: out });
  }

  /** Descriptions and formats are needed no more. */
  close(): void {
    for (const handle of this.#descriptions.splice(0)) this.library.call('dnnl_primitive_desc_destroy', handle);
    this.formats.close();
  }
}
