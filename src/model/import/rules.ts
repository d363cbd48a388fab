import { sizeOf } from '../../base/shape.ts';
import * as op from '../../tensor/operations.ts';
import type { Shape } from '../../tensor/program.ts';
import type { Tensor } from '../../tensor/trace.ts';
import { elementwise } from './fold.ts';
import { add, concat, made, product, reshape, slice, transpose } from './rewrite.ts';
import { layerRules } from './rules-layer.ts';
import { targetShape } from './shapes.ts';
import { axisIn, type ImportedUse, type ImportedValue, type ImportRule, ints, known, need, traced } from './value.ts';

/** How each op of a file becomes ops of ours; constants were folded before. What is not here is refused. */

const unary =
  (f: (x: Tensor) => Tensor): ImportRule =>
  (use) => [traced(f(use.tensor(0)))];
const binary =
  (f: (a: Tensor, b: Tensor) => Tensor): ImportRule =>
  (use) => [traced(f(use.tensor(0), use.tensor(1)))];

/** A constant of one number. */
function number(value: ImportedValue | undefined): number | undefined {
  return value?.kind === 'known' && value.constant.data.length === 1 ? value.constant.data[0] : undefined;
}

const near = (a: number | undefined, b: number) => a !== undefined && Math.abs(a - b) < 1e-5;

/** The largest float32 number: as a bound, and beyond it, it bounds nothing. */
const largest = (2 - 2 ** -23) * 2 ** 127;

/** x between two bounds; what is beyond them is taken off, for moving x there and back would round it. */
function clip(x: Tensor, low: number, high: number): Tensor {
  const above = low === 0 ? op.relu(x) : x;
  const cut = high < largest ? op.sub(above, op.relu(op.sub(x, high))) : above;
  return low === 0 || low <= -largest ? cut : op.add(cut, op.relu(op.sub(low, x)));
}

/** Scores with −∞ added or put in some places: kept apart until the softmax. */
function masked(
  use: ImportedUse,
  scores: ImportedValue,
  hidden: ImportedValue & { kind: 'known' },
): readonly ImportedValue[] {
  return [{ kind: 'masked', tensor: use.asTensor(scores, 0), hidden: hidden.constant }];
}

/** Far enough below for its power of e to be nothing. */
const isNever = (value: number) => value <= -1e4;

const where: ImportRule = (use) => {
  const condition = use.constant(0);
  const [a, b] = [use.value(1), use.value(2)];
  const [never, other, flip] = isNever(number(a) ?? 0) ? [a, b, false] : [b, a, true];
  if (isNever(number(never) ?? 0) && other.kind === 'tensor') {
    const hidden = flip ? elementwise('bool', (value) => +(value === 0), condition) : condition;
    return masked(use, other, { kind: 'known', constant: hidden });
  }
  const share = use.asTensor(known({ ...condition, kind: 'float' }), 0);
  const rest = use.asTensor(known(elementwise('float', (value) => +(value === 0), condition)), 0);
  return [traced(op.add(op.mul(use.tensor(1), share), op.mul(use.tensor(2), rest)))];
};

const sum: ImportRule = (use) => {
  const [a, b] = [use.value(0), use.value(1)];
  for (const [x, constant] of [
    [a, b],
    [b, a],
  ] as const) {
    if (x.kind === 'erf' && x.stage === 'erf' && number(constant) === 1) return [{ ...x, stage: 'plus one' }];
    if (constant.kind === 'known' && constant.constant.data.some(isNever) && x.kind === 'tensor') {
      need(
        constant.constant.data.every((value) => isNever(value) || value === 0),
        'a mask must be 0 or −∞ everywhere',
      );
      const hidden = elementwise('bool', (value) => +isNever(value!), constant.constant);
      return masked(use, x, { kind: 'known', constant: hidden });
    }
  }
  return [traced(add(use.tensor(0), use.tensor(1)))];
};

const times: ImportRule = (use) => {
  const [a, b] = [use.value(0), use.value(1)];
  for (const [x, other] of [
    [a, b],
    [b, a],
  ] as const) {
    if (x.kind !== 'erf') continue;
    if (x.stage === 'times x' && near(number(other), 0.5)) return [traced(op.gelu(x.x))];
    if (x.stage === 'plus one' && near(number(other), 0.5)) return [{ ...x, stage: 'half' }];
    if (x.stage !== 'plus one' && x.stage !== 'half') continue;
    const factor = use.asTensor(other, 0);
    if (factor.value === x.x.value) return [x.stage === 'half' ? traced(op.gelu(x.x)) : { ...x, stage: 'times x' }];
    if (scaled(factor, 0.5)?.value === x.x.value) return [traced(op.gelu(x.x))];
  }
  return [traced(op.mul(use.tensor(0), use.tensor(1)))];
};

/** What was multiplied by a number to give this. */
function scaled(x: Tensor, factor: number): Tensor | undefined {
  const [product, quotient] = [made(x, 'mul'), made(x, 'div')];
  const constant = (tensor: Tensor) => made(tensor, 'constant')?.attributes.value;
  if (quotient && near(constant(quotient.inputs[1]!), 1 / factor)) return quotient.inputs[0];
  if (product && near(constant(product.inputs[1]!), factor)) return product.inputs[0];
  return product && near(constant(product.inputs[0]!), factor) ? product.inputs[1] : undefined;
}

const erf: ImportRule = (use) => {
  const x = scaled(use.tensor(0), Math.SQRT1_2);
  need(x !== undefined, 'erf is known only as part of gelu');
  return [{ kind: 'erf', x, stage: 'erf' }];
};

const softmax: ImportRule = (use) => {
  const value = use.value(0);
  const rank = use.shape(0).length;
  need(use.axis(-1, rank) === rank - 1, 'a softmax over another axis than the last');
  if (value.kind !== 'masked') return [traced(op.softmax(use.tensor(0)))];
  const { tensor, hidden } = value;
  const [rows, columns] = tensor.shape.slice(-2) as [number, number];
  const isCausal =
    rows === columns &&
    hidden.data.length === rows * columns &&
    hidden.data.every((value, i) => (value !== 0) === i % columns > Math.floor(i / columns));
  if (isCausal) return [traced(op.softmax(tensor, true))];
  const far = elementwise('float', (value) => (value !== 0 ? -1e30 : 0), hidden);
  return [traced(op.softmax(op.add(tensor, use.asTensor(known(far), 1))))];
};

const reduce =
  (f: typeof op.mean): ImportRule =>
  (use) => {
    const x = use.tensor(0);
    return [traced(f(x, use.reduced(x.shape.length), use.number('keepdims', 1) === 1))];
  };

/** The rows, or whole pieces, that constant places name. */
function picked(use: ImportedUse, x: Tensor): Tensor {
  const { dims, data } = use.constant(1);
  const axis = use.axis(0, x.shape.length);
  need(data.length >= 1 && data.length <= 4096, `a choice of ${data.length} places`);
  const places = [...data].map((place) => axisIn(place, x.shape[axis]!));
  const pieces = places.map((place) => slice(x, axis, place, 1));
  const shape = [...x.shape.slice(0, axis), ...dims, ...x.shape.slice(axis + 1)];
  return reshape(concat(pieces, axis), shape);
}

const gather: ImportRule = (use) => {
  const places = use.value(1);
  const table = use.tensor(0);
  if (places.kind !== 'tokens') return [traced(picked(use, table))];
  need(table.shape.length === 2 && use.axis(0, 2) === 0, 'tokens can only be looked up in the rows of a table');
  const rows = op.embedding(table, places.tensor);
  return [traced(places.turned ? transpose(rows, [1, 0, 2]) : rows)];
};

const cut: ImportRule = (use) => {
  let x = use.tensor(0);
  const [starts, ends] = [use.constant(1).data, use.constant(2).data];
  const axes = use.has(3) ? use.constant(3).data : starts.map((_, i) => i);
  starts.forEach((from, i) => {
    need(!use.has(4) || use.constant(4).data[i] === 1, 'a slice that leaves elements out');
    const axis = axisIn(axes[i]!, x.shape.length);
    const size = x.shape[axis]!;
    const clipped = (at: number) => Math.max(0, Math.min(at < 0 ? at + size : at, size));
    const [start, end] = [clipped(from), clipped(ends[i]!)];
    need(end > start, `nothing is left of axis ${axis}`);
    x = slice(x, axis, start, end - start);
  });
  return [traced(x)];
};

const split: ImportRule = (use) => {
  const x = use.tensor(0);
  const axis = use.axis(0, x.shape.length);
  const count = use.node.outputs.length;
  const equal = Math.ceil(x.shape[axis]! / count);
  const sizes =
    use.list('split', 1) ?? Array.from({ length: count }, (_, i) => Math.min(equal, x.shape[axis]! - i * equal));
  need(sizes.length === count, `${count} parts, but ${sizes.length} sizes`);
  return op.split(x, axis, sizes).map(traced);
};

/** One axis after the other; zeros only. */
const pad: ImportRule = (use) => {
  need((use.text('mode') ?? 'constant') === 'constant', `padding in mode ${use.text('mode')}`);
  need(!use.has(2) || use.constant(2).data.every((value) => value === 0), 'padding with other values than 0');
  const x = use.tensor(0);
  const sizes = [...use.constant(1).data];
  const axes = use.has(3) ? [...use.constant(3).data] : [...x.shape.keys()];
  need(sizes.length === 2 * axes.length && sizes.every((size) => size >= 0), `padding by [${sizes}]`);
  const padded = axes.reduce((y, axis, i) => {
    const [before, after] = [sizes[i]!, sizes[axes.length + i]!];
    return before + after > 0 ? op.pad(y, axisIn(axis, x.shape.length), before, after) : y;
  }, x);
  return [traced(padded)];
};

const power: ImportRule = (use) => {
  const [x, exponent] = [use.tensor(0), number(use.value(1))];
  if (exponent === 1) return [traced(x)];
  if (exponent === 2) return [traced(op.mul(x, x))];
  if (exponent === 3) return [traced(op.mul(op.mul(x, x), x))];
  need(exponent === 0.5, 'powers other than 0.5, 1, 2 and 3');
  return [traced(op.sqrt(x))];
};

const turn: ImportRule = (use) => {
  const value = use.value(0);
  const { length } = use.shape(0);
  const permutation = use.ints('perm') ?? [...use.shape(0).keys()].reverse();
  need(
    String([...permutation].sort((a, b) => a - b)) === String([...use.shape(0).keys()]),
    `[${permutation}] is no order of ${length} axes`,
  );
  if (value.kind === 'tokens') return [{ ...value, turned: permutation[0] === 1 ? !value.turned : value.turned }];
  return [traced(transpose(use.tensor(0), permutation))];
};

function reshaping(target: (use: ImportedUse, shape: Shape) => Shape): ImportRule {
  return (use) => {
    const x = use.tensor(0);
    const shape = use.rebatched(x.shape, () => target(use, x.shape));
    need(sizeOf(shape) === sizeOf(x.shape), `${sizeOf(x.shape)} elements do not fill [${shape}]`);
    return [traced(reshape(x, shape))];
  };
}

const matmul: ImportRule = (use) => {
  const [a, b] = [use.tensor(0), use.tensor(1)];
  need(a.shape.length >= 2 && b.shape.length >= 2, 'a product with a vector');
  if (b.shape.length === 2) return [traced(product(a, b))];
  const batch = a.shape.length > b.shape.length ? a.shape.slice(0, -2) : b.shape.slice(0, -2);
  const whole = (x: Tensor) => op.broadcast(x, [...batch, ...x.shape.slice(-2)]);
  return [traced(product(whole(a), whole(b)))];
};

export const rules: Readonly<Record<string, ImportRule>> = {
  ...layerRules,
  Add: sum,
  Sub: binary(op.sub),
  Mul: times,
  Div: binary(op.div),
  Neg: unary((x) => op.mul(x, -1)),
  Reciprocal: unary((x) => op.div(1, x)),
  Sqrt: unary(op.sqrt),
  Pow: power,
  Relu: unary(op.relu),
  Tanh: unary(op.tanh),
  Sigmoid: unary(op.sigmoid),
  Erf: erf,
  LeakyRelu: (use) => {
    const x = use.tensor(0);
    return [traced(op.sub(op.relu(x), op.mul(op.relu(op.mul(x, -1)), use.number('alpha', 0.01))))];
  },
  Clip: (use) => {
    const bound = (i: number, otherwise: number) => {
      const data = use.has(i) ? use.constant(i).data : [otherwise];
      need(data.length === 1, 'a bound that is not one number');
      return data[0]!;
    };
    return [traced(clip(use.tensor(0), bound(1, -largest), bound(2, largest)))];
  },
  HardSigmoid: (use) => {
    const scaled = op.add(op.mul(use.tensor(0), use.number('alpha', 0.2)), use.number('beta', 0.5));
    return [traced(clip(scaled, 0, 1))];
  },
  HardSwish: unary((x) => op.mul(x, op.mul(clip(op.add(x, 3), 0, 6), 1 / 6))),
  Identity: (use) => [use.value(0)],
  Cast: (use) => {
    const [value, to] = [use.value(0), use.number('to', 1)];
    need(
      value.kind === 'tokens' ? to === 6 || to === 7 : to === 1 || to === 11,
      'a cast between numbers of other kinds',
    );
    return [value];
  },
  Shape: (use) => {
    const shape = use.shape(0);
    const at = (name: string, otherwise: number) => {
      const given = use.number(name, otherwise);
      return Math.max(0, Math.min(given < 0 ? given + shape.length : given, shape.length));
    };
    return [known(ints(shape.slice(at('start', 0), at('end', shape.length))))];
  },
  Size: (use) => [known({ ...ints([sizeOf(use.shape(0))]), dims: [] })],
  Where: where,
  Softmax: softmax,
  // The loss takes it again, which changes nothing; elsewhere there is no op for it.
  LogSoftmax: (use) => {
    need(use.isLast, 'a log-softmax before the end', 'use log_softmax for the logits alone, or leave it to the loss');
    const rank = use.shape(0).length;
    need(use.axis(-1, rank) === rank - 1, 'a softmax over another axis than the last');
    return [use.value(0)];
  },
  ReduceMean: reduce(op.mean),
  ReduceSum: reduce(op.sum),
  GlobalAveragePool: unary((x) => op.mean(x, [...x.shape.keys()].slice(2), true)),
  Gather: gather,
  Slice: cut,
  Split: split,
  Concat: (use) => {
    const tensors = use.inputs.map((_, i) => use.tensor(i));
    return [traced(concat(tensors, use.axis(0, tensors[0]?.shape.length ?? 0)))];
  },
  Pad: pad,
  Transpose: turn,
  Reshape: reshaping((use, shape) => targetShape(shape, [...use.constant(1).data], use.number('allowzero', 0) === 1)),
  Flatten: (use) => {
    const { shape } = use.tensor(0);
    const axis = use.number('axis', 1);
    const at = axis < 0 ? axis + shape.length : axis;
    need(at >= 0 && at <= shape.length, `there is no axis ${axis}`);
    return [traced(reshape(use.tensor(0), [sizeOf(shape.slice(0, at)), sizeOf(shape.slice(at))]))];
  },
  Squeeze: (use) => {
    const { shape } = use.tensor(0);
    const gone = use.list('axes', 1)?.map((axis) => axisIn(axis, shape.length));
    const left = shape.filter((size, axis) => (gone ? !gone.includes(axis) : size !== 1));
    need(sizeOf(left) === sizeOf(shape), 'axes that are not of size 1');
    return [traced(reshape(use.tensor(0), left))];
  },
  Unsqueeze: (use) => {
    const { shape } = use.tensor(0);
    const axes = use.list('axes', 1) ?? [];
    const rank = shape.length + axes.length;
    const added = axes.map((axis) => axisIn(axis, rank));
    const rest = [...shape];
    const wider = Array.from({ length: rank }, (_, axis) => (added.includes(axis) ? 1 : rest.shift()!));
    return [traced(reshape(use.tensor(0), wider))];
  },
  Expand: (use) => {
    const x = use.tensor(0);
    const wanted = use.rebatched(x.shape, () => [...use.constant(1).data]);
    const rank = Math.max(wanted.length, x.shape.length);
    const shape = Array.from({ length: rank }, (_, i) =>
      Math.max(wanted[i - rank + wanted.length] ?? 1, x.shape[i - rank + x.shape.length] ?? 1),
    );
    return [traced(op.broadcast(x, shape))];
  },
  MatMul: matmul,
  Gemm: (use) => {
    need(use.number('alpha', 1) === 1 && use.number('beta', 1) === 1, 'a product with factors alpha or beta');
    const [a, b] = [use.tensor(0), use.tensor(1)];
    const [transposeA, transposeB] = [use.number('transA', 0) === 1, use.number('transB', 0) === 1];
    const bias = use.has(2) ? use.tensor(2) : undefined;
    if (bias === undefined || bias.shape.length === 1)
      return [traced(op.matmul(a, b, { transposeA, transposeB, bias }))];
    return [traced(op.add(op.matmul(a, b, { transposeA, transposeB }), bias))];
  },
};
