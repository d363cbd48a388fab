import type { Attributes, Inputs, OpKind, Outputs, Shape } from '../../tensor/program.ts';
import type { Graph, Name } from '../graph.ts';

export interface Operand {
  readonly name: Name;
  readonly shape: Shape;
}

export interface Use<K extends OpKind> {
  readonly inputs: Inputs<K, Operand>;
  readonly attributes: Attributes<K>;
  /** The shapes the outputs must have. */
  readonly shapes: Outputs<K, Shape>;
}

/** How an op becomes ONNX nodes; gives the names of its outputs. */
export type Lowering<K extends OpKind> = (graph: Graph, use: Use<K>) => Outputs<K, Name>;

/** The lowerings of some ops; lowering.ts joins them into the table over all. */
export type Lowerings<K extends OpKind> = { readonly [Kind in K]: Lowering<Kind> };
