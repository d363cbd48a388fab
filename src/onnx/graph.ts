import type { Shape } from '../tensor/program.ts';
import {
  type AttributeProto,
  attributeType,
  type ElementType,
  elementType,
  type NodeProto,
  type TensorProto,
} from './schema.ts';

/** The name of a value in the graph. */
export type Name = string;

/** Whole numbers, lists of them and strings as they are; floats are marked, for 1 may be either. */
export type Attribute = number | readonly number[] | string | { readonly float: number };

/** Which version of which operator set the lowerings are written for. */
const domains: Readonly<Record<string, number>> = { '': 21, 'com.microsoft': 1, 'com.microsoft.nchwc': 1 };

/** An ONNX graph while it grows: nodes, constants and what is known about values. */
export class Graph {
  readonly #nodes: NodeProto[] = [];
  readonly #constants = new Map<Name, TensorProto>();
  readonly #parts = new Map<Name, readonly Name[]>();
  /** What a lowering leaves for a later one, such as the other layout of a value. */
  readonly #kept = new Map<string, Name>();
  /** Whether only standard ops may be used. */
  readonly portable: boolean;
  /** Channels in a block of onnxruntime's fast convolutions on this machine; 1 where there are none. */
  readonly block: number;

  constructor(portable: boolean, block = 1) {
    this.portable = portable;
    this.block = block;
  }

  /** Appends a node; `Domain:Op` for ops outside the standard set. */
  op(type: string, inputs: readonly Name[], attributes: Readonly<Record<string, Attribute>> = {}): Name {
    return this.ops(type, 1, inputs, attributes)[0]!;
  }

  /** Appends a node with several outputs. */
  ops(
    type: string,
    count: number,
    inputs: readonly Name[],
    attributes: Readonly<Record<string, Attribute>> = {},
  ): readonly Name[] {
    const [op, domain = ''] = type.split(':').reverse() as [string, string?];
    const name = `${op}_${this.#nodes.length}`;
    const outputs = Array.from({ length: count }, (_, i) => (count === 1 ? name : `${name}.${i}`));
    const attribute = Object.entries(attributes).map(([key, value]) => encodeAttribute(key, value));
    this.#nodes.push({ name, op_type: op, domain, input: inputs, output: outputs, attribute });
    return outputs;
  }

  /** int64, as shapes and axes are. */
  ints(values: readonly number[]): Name {
    return this.constant('int64', [values.length], BigInt64Array.from(values, BigInt));
  }

  float(value: number): Name {
    return this.constant('float32', [], Float32Array.of(value));
  }

  int(value: number): Name {
    return this.constant('int32', [], Int32Array.of(value));
  }

  /** A constant; equal ones are stored once. */
  constant(
    type: ElementType,
    dims: Shape,
    data: BigInt64Array | Float32Array | Float64Array | Int32Array | Uint32Array,
  ): Name {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const text = data.length <= 16 ? data.join('_') : Buffer.from(bytes).toString('base64');
    const key = `${type}[${dims}]:${text}`;
    const name = this.#kept.get(key) ?? `constant_${this.#constants.size}`;
    this.#kept.set(key, name);
    this.#constants.set(name, { name, dims, data_type: elementType[type], raw_data: bytes });
    return name;
  }

  /** Numbers of a trained model under a name of their own. */
  weight(name: Name, dims: Shape, data: Float32Array): Name {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    this.#constants.set(name, { name, dims, data_type: elementType.float32, raw_data: bytes });
    return name;
  }

  reshape(x: Name, shape: Shape): Name {
    return this.op('Reshape', [x, this.ints(shape)]);
  }

  transpose(x: Name, perm: readonly number[]): Name {
    return this.op('Transpose', [x], { perm });
  }

  slice(x: Name, axis: number, start: number, end: number): Name {
    return this.op('Slice', [x, this.ints([start]), this.ints([end]), this.ints([axis])]);
  }

  sum(x: Name, axes: readonly number[], keep = false): Name {
    return this.op('ReduceSum', [x, this.ints(axes)], { keepdims: keep ? 1 : 0 });
  }

  /** a · bᵀ over the last two axes, which are transposed in memory only if there is no op for it. */
  productWithTransposed(a: Name, b: Name, rank: number): Name {
    if (!this.portable) return this.op('com.microsoft:FusedMatMul', [a, b], { transB: 1 });
    const axes = Array.from({ length: rank }, (_, axis) => axis);
    return this.op('MatMul', [a, this.transpose(b, [...axes.slice(0, -2), rank - 1, rank - 2])]);
  }

  /** Joins parts, and remembers them for `split`. */
  concat(parts: readonly Name[], axis: number): Name {
    const whole = this.op('Concat', parts, { axis });
    this.#parts.set(`${whole}:${axis}`, parts);
    return whole;
  }

  /** Joins steps of time into one value, and remembers them for `partsOf`: nothing is joined if only they are read. */
  joined(parts: readonly Name[], finish: (whole: Name) => Name): Name {
    const whole = finish(this.op('Concat', parts, { axis: 0 }));
    this.#parts.set(whole, parts);
    return whole;
  }

  partsOf(whole: Name): readonly Name[] | undefined {
    return this.#parts.get(whole);
  }

  /** Equal parts along an axis: the very ones when the value was made by `concat`. */
  split(whole: Name, axis: number, count: number): readonly Name[] {
    const parts = this.#parts.get(`${whole}:${axis}`);
    if (parts?.length === count) return parts;
    return this.ops('Split', count, [whole], { axis, num_outputs: count });
  }

  /** Makes a value once for each key. */
  once(key: string, make: () => Name): Name {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const made = make();
    this.#kept.set(key, made);
    return made;
  }

  /** How many nodes there are: a number that no other node has seen. */
  get size(): number {
    return this.#nodes.length;
  }

  /** Names the outputs, drops what they do not need, and gives the parts of the file. */
  finish(outputs: readonly { readonly name: string; readonly value: Name }[]) {
    const renamed = new Map<Name, Name>();
    const copies: NodeProto[] = [];
    const produced = new Set(this.#nodes.flatMap(({ output }) => output));
    for (const { name, value } of outputs)
      if (produced.has(value) && !renamed.has(value)) renamed.set(value, name);
      else copies.push({ name, op_type: 'Identity', domain: '', input: [value], output: [name], attribute: [] });
    const rename = (name: Name) => renamed.get(name) ?? name;

    const needed = new Set(outputs.map(({ name }) => name));
    const nodes = [...this.#nodes, ...copies]
      .map((node) => ({ ...node, input: node.input.map(rename), output: node.output.map(rename) }))
      .reverse()
      .filter((node) => {
        if (!node.output.some((name) => needed.has(name))) return false;
        for (const name of node.input) needed.add(name);
        return true;
      })
      .map((node) => (optional.has(node.op_type) ? { ...node, output: trimmed(node.output, needed) } : node))
      .reverse();
    const used = new Set(nodes.map(({ domain }) => domain));
    return {
      nodes,
      constants: [...this.#constants.values()].filter(({ name }) => needed.has(name)),
      domains: Object.entries(domains)
        .filter(([domain]) => domain === '' || used.has(domain))
        .map(([domain, version]) => ({ domain, version })),
    };
  }
}

/** Ops whose outputs after the first are computed only when they are named. */
const optional: ReadonlySet<string> = new Set(['MaxPool', 'LayerNormalization']);

/** Without the trailing names that nobody reads. */
function trimmed(names: readonly Name[], needed: ReadonlySet<Name>): readonly Name[] {
  return names.slice(0, names.findLastIndex((name) => needed.has(name)) + 1);
}

function encodeAttribute(name: string, value: Attribute): AttributeProto {
  if (typeof value === 'number') return { name, type: attributeType.int, i: value };
  if (typeof value === 'string') return { name, type: attributeType.string, s: Buffer.from(value) };
  if ('float' in value) return { name, type: attributeType.float, f: value.float };
  return { name, type: attributeType.ints, ints: value };
}
