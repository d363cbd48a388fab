import { sizeOf } from '../../base/shape.ts';
import type { Constant } from '../../onnx/values.ts';
import type { Shape } from '../../tensor/program.ts';
import { targetShape } from './shapes.ts';
import { axisIn, constantOf, type ImportedUse, need } from './value.ts';

/** Ops on constants: how exporters write shapes, places and masks. */
type Fold = (use: ImportedUse, ...inputs: Constant[]) => Constant;

/** Of a flat index, the flat index in a tensor of other sizes, whose axes of size 1 repeat. */
function place(index: number, from: Shape, to: Shape): number {
  let [rest, at, stride] = [index, 0, 1];
  for (let axis = from.length - 1; axis >= 0; axis--) {
    const own = axis - from.length + to.length;
    const position = rest % from[axis]!;
    rest = Math.floor(rest / from[axis]!);
    if (own < 0) continue;
    if (to[own] !== 1) at += position * stride;
    stride *= to[own]!;
  }
  return at;
}

function common(...shapes: readonly Shape[]): Shape {
  return shapes.reduce((a, b) => {
    const rank = Math.max(a.length, b.length);
    return Array.from({ length: rank }, (_, axis) => {
      const [left, right] = [a[axis - rank + a.length] ?? 1, b[axis - rank + b.length] ?? 1];
      need(left === right || left === 1 || right === 1, `the shapes [${a}] and [${b}] do not broadcast`);
      return left === 1 ? right : left;
    });
  });
}

export function elementwise(
  kind: Constant['kind'],
  f: (...values: number[]) => number,
  ...inputs: readonly Constant[]
): Constant {
  const dims = common(...inputs.map((input) => input.dims));
  return constantOf(kind, dims, (i) => f(...inputs.map((input) => input.data[place(i, dims, input.dims)]!)));
}

const arithmetic =
  (f: (a: number, b: number, isWhole: boolean) => number): Fold =>
  (_, a, b) =>
    elementwise(a!.kind, (x, y) => f(x!, y!, a!.kind === 'int'), a!, b!);
const comparison =
  (f: (a: number, b: number) => boolean): Fold =>
  (_, a, b) =>
    elementwise('bool', (x, y) => +f(x!, y!), a!, b!);
const unary =
  (f: (x: number) => number): Fold =>
  (_, x) =>
    elementwise(x!.kind, (value) => f(value!), x!);

/** Elements picked by a function from positions to positions. */
function picked(x: Constant, dims: Shape, from: (position: number[]) => readonly number[]): Constant {
  return constantOf(x.kind, dims, (index) => {
    const position = dims.map(() => 0);
    for (let axis = dims.length - 1, rest = index; axis >= 0; axis--) {
      position[axis] = rest % dims[axis]!;
      rest = Math.floor(rest / dims[axis]!);
    }
    return x.data[from(position).reduce((flat, p, axis) => flat * x.dims[axis]! + p, 0)]!;
  });
}

const reshaped = (x: Constant, dims: Shape): Constant => {
  need(sizeOf(dims) === x.data.length, `${x.data.length} elements do not fill [${dims}]`);
  return { ...x, dims };
};

const element = { 1: 'float', 6: 'int', 7: 'int', 9: 'bool', 10: 'float', 11: 'float' } as const;

/** All elements to one. */
const reduced =
  (f: (before: number, value: number) => number, start: number): Fold =>
  (use, x) => {
    const { kind, dims, data } = x!;
    need(use.reduced(dims.length).length === dims.length, 'a constant that is reduced along some of its axes');
    return constantOf(kind, use.number('keepdims', 1) === 1 ? dims.map(() => 1) : [], () => [...data].reduce(f, start));
  };

/** Inputs that an op cannot do without, if they are more than one. */
export const leastInputs: Readonly<Record<string, number>> = {
  ...{ Add: 2, Sub: 2, Mul: 2, Div: 2, Mod: 2, Pow: 2, And: 2, Or: 2, Equal: 2 },
  ...{ Less: 2, LessOrEqual: 2, Greater: 2, GreaterOrEqual: 2 },
  ...{ Reshape: 2, Unsqueeze: 2, Expand: 2, Gather: 2, Where: 3, Range: 3, Slice: 3 },
};

export const folds: Readonly<Record<string, Fold>> = {
  Add: arithmetic((a, b) => a + b),
  Sub: arithmetic((a, b) => a - b),
  Mul: arithmetic((a, b) => a * b),
  Div: arithmetic((a, b, isWhole) => {
    need(!isWhole || b !== 0, 'a division by zero');
    return isWhole ? Math.trunc(a / b) : a / b;
  }),
  Mod: (use, a, b) => {
    need(use.number('fmod', 0) === 0, 'a remainder with the sign of what is divided');
    return elementwise(a!.kind, (x, y) => (y === 0 ? 0 : x! - y! * Math.floor(x! / y!)), a!, b!);
  },
  Pow: arithmetic((a, b) => a ** b),
  Min: (_, ...inputs) => elementwise(inputs[0]!.kind, Math.min, ...inputs),
  Max: (_, ...inputs) => elementwise(inputs[0]!.kind, Math.max, ...inputs),
  Equal: comparison((a, b) => a === b),
  Less: comparison((a, b) => a < b),
  LessOrEqual: comparison((a, b) => a <= b),
  Greater: comparison((a, b) => a > b),
  GreaterOrEqual: comparison((a, b) => a >= b),
  And: comparison((a, b) => a !== 0 && b !== 0),
  Or: comparison((a, b) => a !== 0 || b !== 0),
  Not: (_, x) => elementwise('bool', (value) => +(value === 0), x!),
  Neg: unary((x) => -x),
  Sqrt: unary(Math.sqrt),
  Floor: unary(Math.floor),
  Ceil: unary(Math.ceil),
  Exp: unary(Math.exp),
  Identity: (_, x) => x!,
  Where: (_, condition, a, b) => elementwise(a!.kind, (c, x, y) => (c !== 0 ? x! : y!), condition!, a!, b!),
  Cast: (use, x) => {
    const kind = element[use.number('to', 1) as keyof typeof element];
    need(kind !== undefined, 'a cast to an element type that is not known');
    const to = { float: (v: number) => v, int: Math.trunc, bool: (v: number) => +(v !== 0) }[kind];
    return elementwise(kind, (value) => to(value!), x!);
  },
  Reshape: (use, x, shape) => reshaped(x!, targetShape(x!.dims, [...shape!.data], use.number('allowzero', 0) === 1)),
  Unsqueeze: (_, x, axes) => {
    const rank = x!.dims.length + axes!.data.length;
    const added = [...axes!.data].map((axis) => axisIn(axis, rank));
    const rest = [...x!.dims];
    return reshaped(
      x!,
      Array.from({ length: rank }, (_unused, axis) => (added.includes(axis) ? 1 : rest.shift()!)),
    );
  },
  Squeeze: (_, x, axes) => {
    const gone = axes && [...axes.data].map((axis) => axisIn(axis, x!.dims.length));
    return reshaped(
      x!,
      x!.dims.filter((size, axis) => (gone ? !gone.includes(axis) : size !== 1)),
    );
  },
  Transpose: (use, x) => {
    const perm = use.ints('perm') ?? x!.dims.map((_unused, axis) => axis).reverse();
    need(perm.length === x!.dims.length && new Set(perm).size === perm.length, `[${perm}] is no order of the axes`);
    const axes = perm.map((axis) => axisIn(axis, x!.dims.length));
    return picked(
      x!,
      axes.map((axis) => x!.dims[axis]!),
      (position) => x!.dims.map((_unused, axis) => position[axes.indexOf(axis)]!),
    );
  },
  Expand: (_, x, shape) => {
    const wanted = [...shape!.data];
    need(
      wanted.every((size) => Number.isSafeInteger(size) && size >= 0),
      `[${wanted}] is no shape`,
    );
    // One number all over, as an initial state of zeros, may have been written down for another batch.
    const [first] = x!.data;
    if (wanted.length === x!.dims.length && x!.data.every((value) => value === first))
      return constantOf(
        x!.kind,
        wanted.map((size, axis) => (size === 1 ? x!.dims[axis]! : size)),
        () => first!,
      );
    const dims = common(x!.dims, wanted);
    return constantOf(x!.kind, dims, (i) => x!.data[place(i, dims, x!.dims)]!);
  },
  ConstantOfShape: (use, shape) => {
    const value = use.node.attributes.get('value');
    const given = typeof value === 'object' && 'data' in value ? value : undefined;
    const dims = [...shape!.data];
    need(
      dims.every((size) => Number.isSafeInteger(size) && size >= 0),
      `[${dims}] is no shape`,
    );
    return constantOf(given?.kind ?? 'float', dims, () => given?.data[0] ?? 0);
  },
  Range: (_, start, limit, delta) => {
    const [from, to, by] = [start!.data[0]!, limit!.data[0]!, delta!.data[0]!];
    need(by !== 0, 'a range without steps');
    return constantOf(start!.kind, [Math.max(0, Math.ceil((to - from) / by))], (i) => from + i * by);
  },
  Gather: (use, x, indices) => {
    const axis = use.axis(0, x!.dims.length);
    const dims = [...x!.dims.slice(0, axis), ...indices!.dims, ...x!.dims.slice(axis + 1)];
    const count = indices!.dims.length;
    return picked(x!, dims, (position) => {
      const which = position.slice(axis, axis + count).reduce((flat, p, i) => flat * indices!.dims[i]! + p, 0);
      return [
        ...position.slice(0, axis),
        axisIn(indices!.data[which]!, x!.dims[axis]!),
        ...position.slice(axis + count),
      ];
    });
  },
  Concat: (use, ...inputs) => {
    const rank = inputs[0]!.dims.length;
    const axis = use.axis(0, rank);
    need(
      inputs.every(({ dims }) => String(dims.toSpliced(axis, 1)) === String(inputs[0]!.dims.toSpliced(axis, 1))),
      'shapes differ outside the axis that is joined',
    );
    const sizes = inputs.map(({ dims }) => dims[axis]!);
    const dims = inputs[0]!.dims.with(
      axis,
      sizes.reduce((sum, size) => sum + size, 0),
    );
    const after = sizeOf(dims.slice(axis + 1));
    return constantOf(inputs[0]!.kind, dims, (index) => {
      let at = Math.floor(index / after) % dims[axis]!;
      const before = Math.floor(index / (after * dims[axis]!));
      let which = 0;
      for (; at >= sizes[which]!; which++) at -= sizes[which]!;
      return inputs[which]!.data[(before * sizes[which]! + at) * after + (index % after)]!;
    });
  },
  Slice: (_, x, starts, ends, axes, steps) => {
    let result = x!;
    [...starts!.data].forEach((from, i) => {
      const axis = axisIn(axes ? axes.data[i]! : i, x!.dims.length);
      const [size, step] = [result.dims[axis]!, steps ? steps.data[i]! : 1];
      need(step === 1 || step === -1, `a slice with steps of ${step}`);
      const clip = (end: number, low: number) => Math.max(low, Math.min(end < 0 ? end + size : end, size));
      const first = step > 0 ? clip(from, 0) : Math.min(clip(from, -1), size - 1);
      const end = step > 0 ? clip(ends!.data[i]!, 0) : ends!.data[i]! < -size ? -1 : clip(ends!.data[i]!, -1);
      const count = Math.max(0, (end - first) * step);
      result = picked(result, result.dims.with(axis, count), (position) =>
        position.with(axis, first + step * position[axis]!),
      );
    });
    return result;
  },
  Trilu: (use, x, k) => {
    const [rows, columns] = x!.dims.slice(-2) as [number, number];
    need(x!.dims.length >= 2, 'a triangle needs two axes');
    const [shift, upper] = [k?.data[0] ?? 0, use.number('upper', 1) === 1];
    return constantOf(x!.kind, x!.dims, (i) => {
      const [row, column] = [Math.floor(i / columns) % rows, i % columns];
      return (upper ? column - row >= shift : column - row <= shift) ? x!.data[i]! : 0;
    });
  },
  ReduceProd: reduced((product, value) => product * value, 1),
  ReduceSum: reduced((sum, value) => sum + value, 0),
  CumSum: (use, x) => {
    need(x!.dims.length === 1, 'a running sum over more than one axis');
    need(use.number('exclusive', 0) === 0 && use.number('reverse', 0) === 0, 'a running sum from the end');
    let sum = 0;
    return constantOf(x!.kind, x!.dims, (i) => {
      sum += x!.data[i]!;
      return sum;
    });
  },
};
