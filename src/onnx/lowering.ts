import type { OpKind, Program, Value } from '../tensor/program.ts';
import { Graph, type Name } from './graph.ts';
import { elementwise } from './lower/elementwise.ts';
import { recurrent } from './lower/lstm.ts';
import { norms } from './lower/norm.ts';
import type { Lowerings, Use } from './lower/rule.ts';
import { structure } from './lower/structure.ts';
import { windows } from './lower/window.ts';
import { elementType, encode, type ValueInfoProto } from './schema.ts';

const lowerings: Lowerings<OpKind> = { ...elementwise, ...structure, ...windows, ...norms, ...recurrent };

/** The ONNX file of a program: inputs and outputs keep their names. */
export function toOnnx(program: Program): Uint8Array {
  const graph = new Graph();
  const names = new Map<Value, Name>(program.inputs.map(({ name, value }) => [value, name]));
  const shape = (value: Value) => program.types[value]!.shape;
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
  const outputs = program.outputs.map(({ name, value }) => ({ name, value: names.get(value)! }));
  const { nodes, constants, domains } = graph.finish(outputs);
  const info = ({ name, value }: { name: Name; value: Value }): ValueInfoProto => ({
    name,
    type: {
      tensor_type: {
        elem_type: elementType[program.types[value]!.dtype],
        shape: { dim: shape(value).map((size) => ({ dim_value: size })) },
      },
    },
  });
  return encode({
    ir_version: 10,
    producer_name: 'dbench',
    opset_import: domains,
    graph: {
      name: 'program',
      node: nodes,
      initializer: constants,
      input: program.inputs.map(info),
      output: program.outputs.map(info),
    },
  });
}
