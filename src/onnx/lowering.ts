import { f32, type OpKind, type Program, type TensorType, type Value } from '../tensor/program.ts';
import { Graph, type Name } from './graph.ts';
import { elementwise } from './lower/elementwise.ts';
import { recurrent } from './lower/lstm.ts';
import { norms } from './lower/norm.ts';
import type { Lowerings, Use } from './lower/rule.ts';
import { structure } from './lower/structure.ts';
import { windows } from './lower/window.ts';
import { elementType, encode, type ValueInfoProto } from './schema.ts';

const lowerings: Lowerings<OpKind> = { ...elementwise, ...structure, ...windows, ...norms, ...recurrent };

export interface LoweringOptions {
  /** Keeps to standard ops, and to small files; true unless given. */
  readonly portable?: boolean;
  /** See `Graph.block`. */
  readonly block?: number;
  /** Adds the output `halt`, see backend.ts. */
  readonly halting?: boolean;
  /** Inputs that become part of the file, by name: what they are called there, and their numbers. */
  readonly weights?: Readonly<Record<string, { readonly name: string; readonly data: Float32Array }>>;
}

/** The name of the first output of a halting graph. */
export const halt = 'halt';

/** The ONNX file of a program: inputs and outputs keep their names. */
export function toOnnx(program: Program, options: LoweringOptions = {}): Uint8Array {
  const { portable = true, block = 1, halting = false, weights = {} } = options;
  const graph = new Graph(portable, block);
  const shape = (value: Value) => program.types[value]!.shape;
  const names = new Map<Value, Name>(
    program.inputs.map(({ name, value }) => {
      const weight = weights[name];
      return [value, weight === undefined ? name : graph.weight(weight.name, shape(value), weight.data)];
    }),
  );
  for (const node of program.nodes) {
    const lower = lowerings[node.op] as (graph: Graph, use: Use<OpKind>) => readonly Name[];
    const results = lower(graph, {
      inputs: node.inputs.map((value) => ({ name: names.get(value)!, shape: shape(value) })),
      attributes: node.attributes,
      shapes: node.outputs.map(shape),
    } as unknown as Use<OpKind>);
    node.outputs.forEach((value, i) => {
      names.set(value, results[i]!);
    });
  }
  const type = (value: Value) => program.types[value]!;
  // Every bound tensor costs microseconds a run, so what nothing reads is left out; a file that others run keeps it all.
  const read = new Set([
    ...program.nodes.flatMap(({ inputs }) => inputs),
    ...program.outputs.map(({ value }) => value),
  ]);
  return file(
    graph,
    program.inputs
      .filter(({ name, value }) => weights[name] === undefined && (portable || read.has(value)))
      .map(({ name, value }) => ({ name, type: type(value) })),
    program.outputs.map(({ name, value }) => ({ name, value: names.get(value)!, type: type(value) })),
    halting,
  );
}

interface Port {
  readonly name: string;
  readonly type: TensorType;
}

/** The bytes of a finished graph. */
function file(
  graph: Graph,
  inputs: readonly Port[],
  outputs: readonly (Port & { readonly value: Name })[],
  halting = false,
): Uint8Array {
  const sequence = { name: halt, value: graph.op('SequenceConstruct', [graph.float(0)]) };
  const { nodes, constants, domains } = graph.finish(halting ? [sequence, ...outputs] : outputs);
  const typeOf = ({ dtype, shape }: TensorType) => ({
    tensor_type: { elem_type: elementType[dtype], shape: { dim: shape.map((size) => ({ dim_value: size })) } },
  });
  const info = ({ name, type }: Port): ValueInfoProto => ({ name, type: typeOf(type) });
  const halted: ValueInfoProto = { name: halt, type: { sequence_type: { elem_type: typeOf(f32()) } } };
  return encode({
    ir_version: 10,
    producer_name: 'dbench',
    opset_import: domains,
    graph: {
      name: 'program',
      node: nodes,
      initializer: constants,
      input: inputs.map(info),
      output: [...(halting ? [halted] : []), ...outputs.map(info)],
    },
  });
}

/** A graph that only brings an image [1,16,1,2] into the blocked layout, to see which it is. */
export function blockProbe(): Uint8Array {
  const graph = new Graph(false);
  const y = graph.op('com.microsoft.nchwc:ReorderInput', ['x']);
  return file(graph, [{ name: 'x', type: f32(1, 16, 1, 2) }], [{ name: 'y', value: y, type: f32(1, 16, 1, 2) }], true);
}
