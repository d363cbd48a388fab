import { sizeOf } from '../base/shape.ts';
import type { Node, OpKind, Program, Value } from '../tensor/program.ts';

/** One thing to lower: a node, or several that one primitive computes together. */
export type FuseTask =
  | { readonly kind: 'node'; readonly node: Node }
  /** Batch norm, and the ReLU that alone reads its result. */
  | { readonly kind: 'normRelu'; readonly norm: Node<'batchNorm' | 'batchNormInference'>; readonly relu: Node<'relu'> }
  /** The gradients of both. */
  | {
      readonly kind: 'normReluGrad';
      readonly norm: Node<'batchNormGrad'>;
      readonly relu: Node<'reluGrad'>;
    }
  /** A convolution's gradients by its weight and by its bias. */
  | { readonly kind: 'convGradBoth'; readonly weight: Node<'convGradWeight'>; readonly bias: Node<'sum'> }
  /** A binary op or a matrix product, and what is done to its result element by element. */
  | { readonly kind: 'chain'; readonly head: Node; readonly links: readonly Link[] }
  /** Σ factor · value over tensors of one shape. */
  | { readonly kind: 'combination'; readonly value: Value; readonly terms: Terms };

export interface Link {
  readonly node: Node;
  /** The other operand of a binary op. */
  readonly operand: Value | undefined;
  /** The operand is the first one. */
  readonly reversed: boolean;
}

type Terms = ReadonlyMap<Value, number>;

const binaryOps: readonly OpKind[] = ['add', 'sub', 'mul', 'div', 'minimum', 'maximum'];
const activations: readonly OpKind[] = ['relu', 'tanh', 'sigmoid', 'gelu', 'sqrt'];
/** A sum reads no more than so many tensors. */
const maxTerms = 16;
const maxLinks = 16;

/** The tasks of a program, in an order that respects what depends on what. */
export function fuse(program: Program): readonly FuseTask[] {
  return new Fusion(program).tasks();
}

class Fusion {
  readonly #program: Program;
  readonly #producer = new Map<Value, Node>();
  readonly #consumers = new Map<Value, Node[]>();
  readonly #outputs: ReadonlySet<Value>;
  readonly #position = new Map<Node, number>();
  /** Nodes that a task of another node takes along. */
  readonly #taken = new Set<Node>();
  /** What is lowered in a node's place. */
  readonly #instead = new Map<Node, FuseTask>();

  constructor(program: Program) {
    this.#program = program;
    this.#outputs = new Set(program.outputs.map(({ value }) => value));
    program.nodes.forEach((node, at) => {
      this.#position.set(node, at);
      for (const value of node.outputs) this.#producer.set(value, node);
      for (const value of node.inputs) this.#consumers.set(value, [...(this.#consumers.get(value) ?? []), node]);
    });
  }

  tasks(): readonly FuseTask[] {
    this.#norms();
    this.#convolutions();
    this.#combinations();
    this.#chains();
    return this.#program.nodes
      .filter((node) => !this.#taken.has(node))
      .map((node) => this.#instead.get(node) ?? { kind: 'node', node });
  }

  /** The one node that reads a value once, if there is nobody else. */
  #onlyReader(value: Value): Node | undefined {
    const readers = this.#consumers.get(value) ?? [];
    return readers.length === 1 && !this.#outputs.has(value) ? readers[0] : undefined;
  }

  #free(node: Node): boolean {
    return !this.#taken.has(node) && !this.#instead.has(node);
  }

  #shape(value: Value): string {
    return String(this.#program.types[value]!.shape);
  }

  #size(value: Value): number {
    return sizeOf(this.#program.types[value]!.shape);
  }

  #norms(): void {
    for (const node of this.#program.nodes) {
      if (node.op === 'batchNorm' || node.op === 'batchNormInference') {
        const relu = this.#onlyReader(node.outputs[0]!);
        if (relu?.op !== 'relu') continue;
        this.#instead.set(node, { kind: 'normRelu', norm: node as never, relu: relu as never });
        this.#taken.add(relu);
      }
      if (node.op === 'batchNormGrad') {
        const relu = this.#producer.get(node.inputs[0]!);
        if (relu?.op !== 'reluGrad' || this.#onlyReader(node.inputs[0]!) === undefined) continue;
        // Only where the ReLU left its mask: it was fused, with the norm of the same x and statistics.
        const forward = this.#producer.get(relu.inputs[1]!);
        const norm = forward && this.#producer.get(forward.inputs[0]!);
        const [, x, , mean, variance] = node.inputs;
        if (forward === undefined || norm === undefined || !this.#taken.has(forward) || norm.op !== 'batchNorm')
          continue;
        if (norm.inputs[0] !== x || norm.outputs[1] !== mean || norm.outputs[2] !== variance) continue;
        this.#instead.set(node, { kind: 'normReluGrad', norm: node as never, relu: relu as never });
        this.#taken.add(relu);
      }
    }
  }

  #convolutions(): void {
    for (const node of this.#program.nodes) {
      if (node.op !== 'convGradWeight') continue;
      const bias = this.#consumers
        .get(node.inputs[0]!)!
        .find(
          (other) =>
            other.op === 'sum' &&
            String((other as Node<'sum'>).attributes.axes) === '0,2,3' &&
            !(other as Node<'sum'>).attributes.keep &&
            this.#free(other) &&
            this.#position.get(other)! > this.#position.get(node)!,
        );
      if (bias === undefined) continue;
      this.#instead.set(node, { kind: 'convGradBoth', weight: node as never, bias: bias as never });
      this.#taken.add(bias);
    }
  }

  #constant(value: Value): number | undefined {
    const node = this.#producer.get(value);
    return node?.op === 'constant' && this.#size(value) === 1 ? (node as Node<'constant'>).attributes.value : undefined;
  }

  #combinations(): void {
    const forms = new Map<Value, { readonly terms: Terms; readonly inner: readonly Node[] }>();
    const formOf = (value: Value, factor: number) => {
      const inner = this.#onlyReader(value) === undefined ? undefined : forms.get(value);
      if (inner === undefined) return { terms: new Map([[value, factor]]), inner: [] };
      return {
        terms: new Map([...inner.terms].map(([leaf, own]) => [leaf, own * factor])),
        inner: [...inner.inner, this.#producer.get(value)!],
      };
    };
    for (const node of this.#program.nodes) {
      const parts = this.#summands(node);
      if (parts === undefined) continue;
      const found = parts.map(([value, factor]) => formOf(value, factor));
      const terms = new Map<Value, number>();
      for (const part of found)
        for (const [leaf, factor] of part.terms) terms.set(leaf, (terms.get(leaf) ?? 0) + factor);
      const form =
        terms.size <= maxTerms
          ? { terms, inner: found.flatMap(({ inner }) => inner) }
          : { terms: new Map(parts), inner: [] };
      forms.set(node.outputs[0]!, form);
    }
    for (const node of this.#program.nodes.toReversed()) {
      const form = forms.get(node.outputs[0]!);
      if (form === undefined || !this.#free(node)) continue;
      const weighted = [...form.terms.values()].some((factor) => Math.abs(factor) !== 1);
      // Two that are only added or subtracted are a binary op, which can carry more.
      if (form.terms.size < 2 || (form.terms.size === 2 && !weighted)) continue;
      this.#instead.set(node, { kind: 'combination', value: node.outputs[0]!, terms: form.terms });
      for (const inner of form.inner) this.#taken.add(inner);
    }
  }

  /** What a node adds up, if it is nothing but a weighted sum of tensors of its own shape. */
  #summands({ op, inputs, outputs }: Node): readonly (readonly [Value, number])[] | undefined {
    const [a, b] = inputs as [Value, Value];
    const whole = this.#shape(outputs[0]!);
    if (this.#size(outputs[0]!) === 1) return undefined;
    if ((op === 'add' || op === 'sub') && this.#shape(a) === whole && this.#shape(b) === whole)
      return [
        [a, 1],
        [b, op === 'add' ? 1 : -1],
      ];
    if (op !== 'mul') return undefined;
    for (const [x, factor] of [
      [a, this.#constant(b)],
      [b, this.#constant(a)],
    ] as const)
      if (factor !== undefined && this.#shape(x) === whole) return [[x, factor]];
    return undefined;
  }

  #chains(): void {
    const tails = new Map<Value, { readonly head: Node; readonly links: readonly Link[]; readonly last: Node }>();
    for (const node of this.#program.nodes) {
      if (!this.#free(node) || this.#size(node.outputs[0]!) === 1) continue;
      const link = this.#link(node, (value) => tails.get(value)?.head.op);
      if (link !== undefined) {
        const before = tails.get(link.from)!;
        if (before.links.length < maxLinks) {
          tails.delete(link.from);
          this.#instead.delete(before.last);
          this.#taken.add(before.last);
          const chain = { head: before.head, links: [...before.links, link] };
          this.#instead.set(node, { kind: 'chain', ...chain });
          tails.set(node.outputs[0]!, { ...chain, last: node });
          continue;
        }
      }
      if (binaryOps.includes(node.op) || node.op === 'matmul') {
        this.#instead.set(node, { kind: 'chain', head: node, links: [] });
        tails.set(node.outputs[0]!, { head: node, links: [], last: node });
      }
    }
  }

  /** How a node may extend a chain, if one of its operands is the end of one that nobody else reads. */
  #link(node: Node, headOf: (tail: Value) => OpKind | undefined): (Link & { readonly from: Value }) | undefined {
    const binary = binaryOps.includes(node.op);
    if (!binary && !activations.includes(node.op)) return undefined;
    for (const [i, from] of node.inputs.entries()) {
      const head = headOf(from);
      if (head === undefined || this.#onlyReader(from) === undefined) continue;
      if (this.#shape(from) !== this.#shape(node.outputs[0]!)) continue;
      if (!binary) return { node, operand: undefined, reversed: false, from };
      const operand = node.inputs[1 - i]!;
      const fits = this.#shape(operand) === this.#shape(from) || this.#size(operand) === 1;
      // Products take activations only: what follows them in a model is that.
      if (head !== 'matmul' && fits && !(node.op === 'div' && i === 1))
        return { node, operand, reversed: i === 1, from };
    }
    return undefined;
  }
}
