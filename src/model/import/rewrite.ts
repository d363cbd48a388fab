import * as op from '../../tensor/operations.ts';
import type { Attributes, Node, OpKind, Shape } from '../../tensor/program.ts';
import type { Tensor, Trace } from '../../tensor/trace.ts';

/** Operations that look at how their operands were made: exporters turn, cut and join weights on the way to every layer. */

const seen = new WeakMap<Trace, { count: number; readonly makers: Map<number, Node> }>();

/** The node that made a tensor, if it is of this kind. */
export function made<K extends OpKind>(
  tensor: Tensor,
  kind: K,
): { readonly inputs: readonly Tensor[]; readonly attributes: Attributes<K> } | undefined {
  const { trace } = tensor;
  const index = seen.get(trace) ?? { count: 0, makers: new Map<number, Node>() };
  for (; index.count < trace.nodes.length; index.count++)
    for (const value of trace.nodes[index.count]!.outputs) index.makers.set(value, trace.nodes[index.count]!);
  seen.set(trace, index);
  const node = index.makers.get(tensor.value);
  if (node?.op !== kind) return undefined;
  return { inputs: node.inputs.map((value) => trace.tensor(value)), attributes: node.attributes as Attributes<K> };
}

const isOrder = (permutation: readonly number[]) => permutation.every((axis, i) => axis === i);

export function transpose(x: Tensor, permutation: readonly number[]): Tensor {
  const before = made(x, 'transpose');
  const whole = before ? permutation.map((axis) => before.attributes.permutation[axis]!) : permutation;
  const source = before ? before.inputs[0]! : x;
  return isOrder(whole) ? source : op.transpose(source, whole);
}

export function reshape(x: Tensor, shape: Shape): Tensor {
  const before = made(x, 'reshape');
  return op.reshape(before ? before.inputs[0]! : x, shape);
}

/** A part of the shape of x along one axis, from where it was cut or joined. */
export function slice(x: Tensor, axis: number, start: number, size: number): Tensor {
  if (start === 0 && size === x.shape[axis]) return x;
  const joined = made(x, 'concat');
  if (joined?.attributes.axis === axis) {
    let from = 0;
    for (const part of joined.inputs) {
      const end = from + part.shape[axis]!;
      if (start >= from && start + size <= end) return slice(part, axis, start - from, size);
      from = end;
    }
  }
  const cut = made(x, 'slice');
  if (cut?.attributes.axis === axis) return slice(cut.inputs[0]!, axis, cut.attributes.start + start, size);
  // [n, …] seen as [1, n, …]
  const seenAs = made(x, 'reshape');
  const source = seenAs?.inputs[0];
  if (source && axis > 0 && x.shape[0] === 1 && String(source.shape) === String(x.shape.slice(1)))
    return reshape(slice(source, axis - 1, start, size), x.shape.with(axis, size));
  return op.slice(x, axis, start, size);
}

/** Joins parts; those that follow on one another in one tensor are cut from it as one. */
export function concat(parts: readonly Tensor[], axis: number): Tensor {
  const merged: Tensor[] = [];
  for (const part of parts) {
    const before = merged.at(-1);
    const [a, b] = [before && made(before, 'slice'), made(part, 'slice')];
    const follows =
      a &&
      b &&
      a.inputs[0]!.value === b.inputs[0]!.value &&
      a.attributes.axis === axis &&
      b.attributes.axis === axis &&
      a.attributes.start + a.attributes.size === b.attributes.start;
    if (follows)
      merged.splice(-1, 1, slice(a.inputs[0]!, axis, a.attributes.start, a.attributes.size + b.attributes.size));
    else merged.push(part);
  }
  return op.concat(merged as [Tensor, ...Tensor[]], axis);
}

/** x, or what it is the transpose of in its last two axes. */
function turned(x: Tensor): { readonly source: Tensor; readonly isTurned: boolean } {
  const turn = made(x, 'transpose');
  const swapped = [...x.shape.keys()];
  swapped.push(...swapped.splice(-2).reverse());
  if (turn && String(turn.attributes.permutation) === String(swapped))
    return { source: turn.inputs[0]!, isTurned: true };
  return { source: x, isTurned: false };
}

/** A product of the last two axes; of x with any axes before by one matrix, or of two that share the axes before. */
export function product(a: Tensor, b: Tensor, bias?: Tensor): Tensor {
  const right = turned(b);
  if (b.shape.length === 2) {
    const rows = reshape(a, [a.shape.slice(0, -1).reduce((n, size) => n * size, 1), a.shape.at(-1)!]);
    const y = op.matmul(rows, right.source, { transposeB: right.isTurned, bias });
    return reshape(y, [...a.shape.slice(0, -1), b.shape[1]!]);
  }
  const left = turned(a);
  return op.batchMatmul(left.source, right.source, { transposeA: left.isTurned, transposeB: right.isTurned });
}

/** A sum; a bias that is added to a product becomes part of it. */
export function add(a: Tensor, b: Tensor): Tensor {
  for (const [y, bias] of [
    [a, b],
    [b, a],
  ] as const) {
    const { source } = { source: made(y, 'reshape')?.inputs[0] ?? y };
    const bare = made(source, 'matmul');
    if (bare?.inputs.length !== 2 || bias.shape.length !== 1 || bias.shape[0] !== y.shape.at(-1)) continue;
    if (source.shape[1] !== bias.shape[0]) continue;
    return reshape(op.matmul(bare.inputs[0]!, bare.inputs[1]!, { ...bare.attributes, bias }), y.shape);
  }
  return op.add(a, b);
}
