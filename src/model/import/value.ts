import { sizeOf } from '../../base/shape.ts';
import type { OnnxAttribute, OnnxNode } from '../../onnx/file.ts';
import type { Constant } from '../../onnx/values.ts';
import { full, literal } from '../../tensor/operations.ts';
import type { Shape } from '../../tensor/program.ts';
import type { Tensor } from '../../tensor/trace.ts';
import type { Context } from '../context.ts';

/** What a name of the file stands for while its graph is traced. */
export type ImportedValue =
  /** Computed here: shapes, places, masks. */
  | { readonly kind: 'known'; readonly constant: Constant }
  | { readonly kind: 'tensor'; readonly tensor: Tensor }
  /** Tokens [time, batch]; `turned` if the file has them as [batch, time]. */
  | { readonly kind: 'tokens'; readonly tensor: Tensor; readonly turned: boolean }
  /** On the way to x·(1 + erf(x/√2))/2, which is one op here. */
  | { readonly kind: 'erf'; readonly x: Tensor; readonly stage: 'erf' | 'plus one' | 'half' | 'times x' }
  /** Scores for a softmax, of which some are hidden. */
  | { readonly kind: 'masked'; readonly tensor: Tensor; readonly hidden: Constant };

export const known = (constant: Constant): ImportedValue => ({ kind: 'known', constant });
export const traced = (tensor: Tensor): ImportedValue => ({ kind: 'tensor', tensor });

/** What is wrong with a node; whoever walks the graph knows which one it is. */
export class Unsupported extends Error {
  readonly hint: string | undefined;
  constructor(message: string, hint?: string) {
    super(message);
    this.hint = hint;
  }
}

export function need(condition: boolean, message: string, hint?: string): asserts condition {
  if (!condition) throw new Unsupported(message, hint);
}

/** Numbers that are computed here stay few: shapes, masks and places. */
export const maxFolded = 2 ** 22;

export function constantOf(kind: Constant['kind'], dims: Shape, at: (index: number) => number): Constant {
  const size = sizeOf(dims);
  need(size <= maxFolded && dims.length <= 12, `a constant of ${size} elements is too large`);
  return { kind, dims, data: Float64Array.from({ length: size }, (_, i) => at(i)) };
}

export const ints = (values: readonly number[]): Constant => constantOf('int', [values.length], (i) => values[i]!);

export const shapeOf = (value: ImportedValue): Shape => {
  if (value.kind === 'known') return value.constant.dims;
  if (value.kind === 'tokens') return value.turned ? value.tensor.shape.toReversed() : value.tensor.shape;
  return value.kind === 'erf' ? value.x.shape : value.tensor.shape;
};

/** An axis counted from either end. */
export function axisIn(axis: number, rank: number): number {
  const at = axis < 0 ? axis + rank : axis;
  need(Number.isInteger(at) && at >= 0 && at < rank, `there is no axis ${axis} among ${rank}`);
  return at;
}

/** One node with what it is given. */
export class ImportedUse {
  readonly node: OnnxNode;
  readonly inputs: readonly (ImportedValue | undefined)[];
  readonly context: Context;
  /** Any tensor of the program. */
  readonly like: Tensor;
  readonly opset: number;
  /** Whether its result is that of the file. */
  readonly isLast: boolean;
  /** The shape of the result as the file says, or as it is for another batch than that which the file was exported with. */
  readonly rebatched: (now: Shape, target: () => Shape) => Shape;

  constructor(fields: Pick<ImportedUse, 'node' | 'inputs' | 'context' | 'like' | 'opset' | 'isLast' | 'rebatched'>) {
    this.node = fields.node;
    this.inputs = fields.inputs;
    this.context = fields.context;
    this.like = fields.like;
    this.opset = fields.opset;
    this.isLast = fields.isLast;
    this.rebatched = fields.rebatched;
  }

  has(i: number): boolean {
    return this.inputs[i] !== undefined;
  }

  value(i: number): ImportedValue {
    const value = this.inputs[i];
    need(value !== undefined, `input ${i} is missing`);
    return value;
  }

  shape(i: number): Shape {
    return shapeOf(this.value(i));
  }

  tensor(i: number): Tensor {
    return this.asTensor(this.value(i), i);
  }

  asTensor(value: ImportedValue, i: number): Tensor {
    if (value.kind === 'tensor') return value.tensor;
    need(value.kind !== 'tokens', 'tokens can only be looked up in a table (nn.Embedding)');
    need(value.kind !== 'erf', 'erf is known only as part of gelu');
    need(value.kind !== 'masked', 'scores that are masked with −∞ can only go into a softmax');
    const { kind, dims, data } = value.constant;
    need(kind === 'float', `input ${i} must be floating-point numbers`);
    need(data.length <= 2 ** 20, `a constant of ${data.length} elements is too large`);
    need(data.every(Number.isFinite), `input ${i} is a constant with infinite values`);
    return data.length === 1 ? full(this.like, dims, data[0]!) : literal(this.like, dims, [...data]);
  }

  constant(i: number): Constant {
    const value = this.value(i);
    need(value.kind === 'known', `input ${i} must be a constant, or follow from shapes`);
    return value.constant;
  }

  /** Whole numbers from an attribute or, in later opsets, from an input. */
  list(attribute: string, i: number): readonly number[] | undefined {
    if (this.has(i)) return [...this.constant(i).data];
    const given = this.node.attributes.get(attribute);
    return given === undefined ? undefined : this.#numbers(attribute, given);
  }

  ints(attribute: string): readonly number[] | undefined {
    const given = this.node.attributes.get(attribute);
    return given === undefined ? undefined : this.#numbers(attribute, given);
  }

  #numbers(attribute: string, given: OnnxAttribute): readonly number[] {
    need(Array.isArray(given), `its attribute ${attribute} must be a list`);
    return given as readonly number[];
  }

  number(attribute: string, otherwise: number): number {
    const given = this.node.attributes.get(attribute) ?? otherwise;
    need(typeof given === 'number' && Number.isFinite(given), `its attribute ${attribute} must be a number`);
    return given;
  }

  text(attribute: string): string | undefined {
    const given = this.node.attributes.get(attribute);
    return typeof given === 'string' ? given : undefined;
  }

  axis(otherwise: number, rank: number): number {
    return axisIn(this.number('axis', otherwise), rank);
  }

  /** The axes of a reduction; if none is named, all of them, unless the file says none. */
  reduced(rank: number): readonly number[] {
    const axes = this.list('axes', 1) ?? [];
    if (axes.length > 0 || this.number('noop_with_empty_axes', 0) === 1) return axes.map((axis) => axisIn(axis, rank));
    return Array.from({ length: rank }, (_, axis) => axis);
  }
}

export type ImportRule = (use: ImportedUse) => readonly ImportedValue[];
