import { UserError } from '../base/error.ts';
import { printType } from './print.ts';
import type {
  Attributes,
  DType,
  Inputs,
  Named,
  Node,
  OpKind,
  Outputs,
  Program,
  Shape,
  TensorType,
  Value,
} from './program.ts';
import { typesOf } from './shape.ts';

/** A value of a program being traced: what the functions of operations.ts take and give. */
export interface Tensor {
  readonly trace: Trace;
  readonly value: Value;
  readonly dtype: DType;
  readonly shape: Shape;
}

/** A program while it grows. Equal nodes are made once: every op is a pure function of its inputs. */
export class Trace {
  readonly #types: TensorType[] = [];
  readonly #inputs: Named[] = [];
  readonly #nodes: Node[] = [];
  readonly #made = new Map<string, readonly Tensor[]>();
  #salts = 0;

  get nodes(): readonly Node[] {
    return this.#nodes;
  }

  input(name: string, type: TensorType): Tensor {
    if (this.#inputs.some((input) => input.name === name)) throw new UserError(`two inputs are named "${name}"`);
    if (!type.shape.every((size) => Number.isSafeInteger(size) && size >= 1))
      throw new UserError(`input ${name}: every size must be a whole number from 1: ${printType(type)}`);
    const tensor = this.#tensor(type);
    this.#inputs.push({ name, value: tensor.value });
    return tensor;
  }

  emit<K extends OpKind>(op: K, inputs: Inputs<K, Tensor>, attributes: Attributes<K>): Outputs<K, Tensor> {
    const given = (inputs as readonly (Tensor | undefined)[]).filter((tensor) => tensor !== undefined);
    if (given.some((tensor) => tensor.trace !== this)) throw new UserError(`${op}: a tensor of another program`);
    const key = JSON.stringify([op, given.map((tensor) => tensor.value), attributes]);
    let outputs = this.#made.get(key);
    if (outputs === undefined) {
      outputs = typesOf(op, given, attributes).map((type) => this.#tensor(type));
      const values = (tensors: readonly Tensor[]) => tensors.map(({ value }) => value);
      this.#nodes.push({ op, attributes, inputs: values(given), outputs: values(outputs) });
      this.#made.set(key, outputs);
    }
    return outputs as Outputs<K, Tensor>;
  }

  tensor(value: Value): Tensor {
    return { trace: this, value, ...this.#types[value]! };
  }

  /** A number for each thing that must differ from its like, such as dropout masks. */
  salt(): number {
    return this.#salts++;
  }

  /** The nodes that the outputs need, values numbered in order of appearance; inputs stay even when nothing reads them. */
  program(outputs: Readonly<Record<string, Tensor>>): Program {
    const named = Object.entries(outputs);
    const needed = new Set(named.map(([, tensor]) => tensor.value));
    const nodes = this.#nodes
      .toReversed()
      .filter((node) => {
        if (!node.outputs.some((value) => needed.has(value))) return false;
        for (const value of node.inputs) needed.add(value);
        return true;
      })
      .reverse();
    const order = [...this.#inputs.map(({ value }) => value), ...nodes.flatMap((node) => node.outputs)];
    const renamed = new Map(order.map((value, index) => [value, index]));
    const rename = (value: Value) => renamed.get(value)!;
    return {
      types: order.map((value) => this.#types[value]!),
      inputs: this.#inputs.map(({ name, value }) => ({ name, value: rename(value) })),
      nodes: nodes.map((node) => ({
        ...node,
        inputs: node.inputs.map(rename),
        outputs: node.outputs.map(rename),
      })),
      outputs: named.map(([name, tensor]) => ({ name, value: rename(tensor.value) })),
    };
  }

  #tensor(type: TensorType): Tensor {
    this.#types.push(type);
    return this.tensor(this.#types.length - 1);
  }
}

/** The program of a function: `trace((t) => ({ y: relu(t.input('x', f32(2, 3))) }))`. */
export function trace(build: (trace: Trace) => Readonly<Record<string, Tensor>>): Program {
  const growing = new Trace();
  return growing.program(build(growing));
}
