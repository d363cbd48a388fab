import { sizeOf } from '../base/shape.ts';
import { dropoutMask } from './mask.ts';
import type { Attributes, Inputs, OpKind, Program, Shape, Value } from './program.ts';
import { attentionReference } from './reference-attention.ts';
import { at, type Dense, dense, positionOf, type ReferenceRule } from './reference-dense.ts';
import { recurrentReference } from './reference-lstm.ts';
import { windowReference } from './reference-window.ts';

type Elementwise = (...values: number[]) => number;

const elementwise =
  (f: Elementwise) =>
  (inputs: readonly Dense[], _: unknown, [shape]: readonly [Shape]): [Dense] => [
    dense(shape, (index) => f(...inputs.map((input) => at(input, positionOf(index, shape))))),
  ];

/** erf by its series, and by its continued fraction where that cancels. */
export function erf(x: number): number {
  const z = Math.abs(x);
  if (z > 3) {
    let fraction = z;
    for (let k = 60; k >= 1; k--) fraction = z + k / 2 / fraction;
    return Math.sign(x) * (1 - Math.exp(-z * z) / (fraction * Math.sqrt(Math.PI)));
  }
  let [term, sum] = [z, z];
  for (let k = 1; k < 80; k++) {
    term *= (-z * z) / k;
    sum += term / (2 * k + 1);
  }
  return (Math.sign(x) * 2 * sum) / Math.sqrt(Math.PI);
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const normalCdf = (x: number) => (1 + erf(x / Math.SQRT2)) / 2;
const normalPdf = (x: number) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);

/** Adds every element of x into the output element that `target` names. */
function scatter(x: Dense, shape: Shape, target: (position: number[]) => readonly number[]): Dense {
  const y = dense(shape, () => 0);
  x.data.forEach((value, index) => {
    const to = target(positionOf(index, x.shape));
    y.data[shape.reduce((flat, size, axis) => flat * size + to[axis]!, 0)]! += value;
  });
  return y;
}

function matmul([a, b, bias]: Inputs<'matmul', Dense>, { transposeA, transposeB }: Attributes<'matmul'>, shape: Shape) {
  const inner = a.shape[transposeA ? 0 : 1]!;
  return dense(shape, (index) => {
    const [row, column] = positionOf(index, shape) as [number, number];
    let sum = bias ? bias.data[column]! : 0;
    for (let k = 0; k < inner; k++)
      sum += at(a, transposeA ? [k, row] : [row, k]) * at(b, transposeB ? [column, k] : [k, column]);
    return sum;
  });
}

const slice = (x: Dense, axis: number, start: number, shape: Shape) =>
  dense(shape, (index) => {
    const position = positionOf(index, shape);
    // `at` repeats axes of size 1, which is right here too: start is then 0.
    return at(x, position.with(axis, position[axis]! + start));
  });

/** Normalises the elements of x in the groups that `groupOf` tells apart, then scales and shifts by parameter. */
function normalise(
  [x, scale, shift]: readonly [Dense, Dense, Dense],
  epsilon: number,
  statistics: Shape,
  groupOf: (position: number[]) => number,
  parameterOf: (position: number[]) => number,
) {
  const groups = x.data.map((_, index) => groupOf(positionOf(index, x.shape)));
  const counts = dense(statistics, () => 0);
  const means = dense(statistics, () => 0);
  const variances = dense(statistics, () => 0);
  for (const group of groups) counts.data[group]! += 1;
  x.data.forEach((value, i) => {
    means.data[groups[i]!]! += value / counts.data[groups[i]!]!;
  });
  x.data.forEach((value, i) => {
    variances.data[groups[i]!]! += (value - means.data[groups[i]!]!) ** 2 / counts.data[groups[i]!]!;
  });
  const y = dense(x.shape, (index) => {
    const [group, parameter] = [groups[index]!, parameterOf(positionOf(index, x.shape))];
    const normal = (x.data[index]! - means.data[group]!) / Math.sqrt(variances.data[group]! + epsilon);
    return normal * scale.data[parameter]! + shift.data[parameter]!;
  });
  const inverse = dense(statistics, (group) => 1 / Math.sqrt(variances.data[group]! + epsilon));
  return { y, means, variances, inverse };
}

/** dx = r·(d − mean(d) − n·mean(d·n)) with d = dy·scale and n the normalised x, in each group. */
function normaliseGrad(
  [dy, x, scale, mean, inverse]: readonly [Dense, Dense, Dense, Dense, Dense],
  groupOf: (position: number[]) => number,
  parameterOf: (position: number[]) => number,
): [Dense, Dense, Dense] {
  const positions = [...x.data.keys()].map((index) => positionOf(index, x.shape));
  const groups = positions.map(groupOf);
  const parameters = positions.map(parameterOf);
  const normal = x.data.map((value, i) => (value - mean.data[groups[i]!]!) * inverse.data[groups[i]!]!);
  const [dscale, dshift] = [dense(scale.shape, () => 0), dense(scale.shape, () => 0)];
  const counts = dense(mean.shape, () => 0);
  const [sum, dot] = [dense(mean.shape, () => 0), dense(mean.shape, () => 0)];
  dy.data.forEach((gradient, i) => {
    const [group, parameter] = [groups[i]!, parameters[i]!];
    dscale.data[parameter]! += gradient * normal[i]!;
    dshift.data[parameter]! += gradient;
    counts.data[group]! += 1;
    sum.data[group]! += gradient * scale.data[parameter]!;
    dot.data[group]! += gradient * scale.data[parameter]! * normal[i]!;
  });
  const dx = dense(x.shape, (i) => {
    const group = groups[i]!;
    const d = dy.data[i]! * scale.data[parameters[i]!]!;
    const n = counts.data[group]!;
    return inverse.data[group]! * (d - sum.data[group]! / n - (normal[i]! * dot.data[group]!) / n);
  });
  return [dx, dscale, dshift];
}

const channel = (position: number[]) => position[1]!;
const last = (position: number[]) => position.at(-1)!;
const row = (shape: Shape) => (position: number[]) =>
  position.slice(0, -1).reduce((flat, p, i) => flat * shape[i]! + p, 0);
const group = (shape: Shape, groups: number) => (position: number[]) =>
  position[0]! * groups + Math.floor(position[1]! / (shape[1]! / groups));

export const referenceRules: { readonly [K in OpKind]: ReferenceRule<K> } = {
  ...windowReference,
  ...recurrentReference,
  ...attentionReference,
  constant: (_, { value, shape }) => [dense(shape, () => value)],
  literal: (_, { values, shape }) => [dense(shape, (i) => values[i]!)],

  add: elementwise((a, b) => a! + b!),
  sub: elementwise((a, b) => a! - b!),
  mul: elementwise((a, b) => a! * b!),
  div: elementwise((a, b) => a! / b!),
  minimum: elementwise(Math.min),
  maximum: elementwise(Math.max),
  sqrt: elementwise(Math.sqrt),
  relu: elementwise((x) => Math.max(0, x!)),
  reluGrad: elementwise((dy, y) => (y! > 0 ? dy! : 0)),
  tanh: elementwise(Math.tanh),
  tanhGrad: elementwise((dy, y) => dy! * (1 - y! * y!)),
  sigmoid: elementwise(sigmoid),
  sigmoidGrad: elementwise((dy, y) => dy! * y! * (1 - y!)),
  gelu: elementwise((x) => x! * normalCdf(x!)),
  geluGrad: elementwise((dy, x) => dy! * (normalCdf(x!) + x! * normalPdf(x!))),
  oneMinusPower: ([x], { base }) => [dense(x.shape, (i) => -Math.expm1(x.data[i]! * Math.log(base)))],

  reshape: ([x], { shape }) => [{ shape, data: x.data }],
  transpose: ([x], { permutation }, [shape]) => [
    scatter(x, shape, (position) => permutation.map((axis) => position[axis]!)),
  ],
  broadcast: elementwise((x) => x!),
  concat: (inputs, { axis }, [shape]) => {
    const starts = inputs.map((_, i) => inputs.slice(0, i).reduce((sum, input) => sum + input.shape[axis]!, 0));
    return [
      dense(shape, (index) => {
        const position = positionOf(index, shape);
        const part = starts.findLastIndex((start) => start <= position[axis]!);
        return at(inputs[part]!, position.with(axis, position[axis]! - starts[part]!));
      }),
    ];
  },
  slice: ([x], { axis, start }, [shape]) => [slice(x, axis, start, shape)],
  split: ([x], { axis, sizes }, shapes) =>
    shapes.map((shape, part) =>
      slice(
        x,
        axis,
        sizes.slice(0, part).reduce((sum, size) => sum + size, 0),
        shape,
      ),
    ),
  pad: ([x], { axis, before }, [shape]) => [
    scatter(x, shape, (position) => position.with(axis, position[axis]! + before)),
  ],

  sum: ([x], { axes, keep }, [shape]) => [
    scatter(x, shape, (position) =>
      keep
        ? position.map((p, axis) => (axes.includes(axis) ? 0 : p))
        : position.filter((_, axis) => !axes.includes(axis)),
    ),
  ],
  squaredNorm: ([x]) => [dense([], () => x.data.reduce((sum, value) => sum + value * value, 0))],

  matmul: (inputs, attributes, [shape]) => [matmul(inputs, attributes, shape)],

  batchNorm: (inputs, { epsilon }) => {
    const { y, means, variances } = normalise(inputs, epsilon, inputs[1].shape, channel, channel);
    return [y, means, variances];
  },
  batchNormGrad: ([dy, x, scale, mean, variance], { epsilon }) => {
    const inverse = dense(variance.shape, (i) => 1 / Math.sqrt(variance.data[i]! + epsilon));
    return normaliseGrad([dy, x, scale, mean, inverse], channel, channel);
  },
  batchNormInference: ([x, scale, shift, mean, variance], { epsilon }) => [
    dense(x.shape, (i) => {
      const c = channel(positionOf(i, x.shape));
      const normal = (x.data[i]! - mean.data[c]!) / Math.sqrt(variance.data[c]! + epsilon);
      return normal * scale.data[c]! + shift.data[c]!;
    }),
  ],
  layerNorm: (inputs, { epsilon }, [shape, statistics]) => {
    const { y, means, inverse } = normalise(inputs, epsilon, statistics, row(shape), last);
    return [y, means, inverse];
  },
  layerNormGrad: (inputs) => normaliseGrad(inputs, row(inputs[1].shape), last),
  groupNorm: (inputs, { epsilon, groups }, [shape, statistics]) => {
    const { y, means, inverse } = normalise(inputs, epsilon, statistics, group(shape, groups), channel);
    return [y, means, inverse];
  },
  groupNormGrad: (inputs) => normaliseGrad(inputs, group(inputs[1].shape, inputs[3].shape[1]!), channel),

  dropoutMask: ([key], { rate, salt, shape }) => [
    { shape, data: dropoutMask(Int32Array.from(key.data), salt, rate, sizeOf(shape)) },
  ],

  embedding: ([table, indices], _, [shape]) => [
    dense(
      shape,
      (i) => table.data[indices.data[Math.floor(i / table.shape[1]!)]! * table.shape[1]! + (i % table.shape[1]!)]!,
    ),
  ],
  embeddingGrad: ([dy, indices], _, [shape]) => {
    const width = shape[1]!;
    const dtable = dense(shape, () => 0);
    dy.data.forEach((gradient, i) => {
      dtable.data[indices.data[Math.floor(i / width)]! * width + (i % width)]! += gradient;
    });
    return [dtable];
  },

  softmaxCrossEntropy: ([logits, labels]) => {
    const classes = logits.shape[1]!;
    const rows = [...labels.data.keys()].map((r) => logits.data.subarray(r * classes, (r + 1) * classes));
    const logSums = rows.map((values) => {
      const largest = Math.max(...values);
      return largest + Math.log(values.reduce((sum, value) => sum + Math.exp(value - largest), 0));
    });
    const logProbabilities = dense(logits.shape, (i) => logits.data[i]! - logSums[Math.floor(i / classes)]!);
    return [dense(labels.shape, (r) => -logProbabilities.data[r * classes + labels.data[r]!]!), logProbabilities];
  },
  softmaxCrossEntropyGrad: ([dloss, logProbabilities, labels]) => {
    const classes = logProbabilities.shape[1]!;
    return [
      dense(logProbabilities.shape, (i) => {
        const r = Math.floor(i / classes);
        const label = labels.data[r] === i % classes ? 1 : 0;
        return (Math.exp(logProbabilities.data[i]!) - label) * dloss.data[r]!;
      }),
    ];
  },
  topKCorrect: ([logits, labels], { k }) => {
    const classes = logits.shape[1]!;
    return [
      dense(labels.shape, (r) => {
        const values = logits.data.subarray(r * classes, (r + 1) * classes);
        const order = [...values.keys()].sort((a, b) => values[b]! - values[a]! || a - b);
        return order.slice(0, k).includes(labels.data[r]!) ? 1 : 0;
      }),
    ];
  },
};

/** Runs a program slowly in float64: what every backend is compared with. */
export function interpret(
  program: Program,
  inputs: Readonly<Record<string, ArrayLike<number>>>,
): Record<string, Float64Array> {
  const values = new Map<Value, Dense>(
    program.inputs.map(({ name, value }) => [
      value,
      { shape: program.types[value]!.shape, data: Float64Array.from(inputs[name]!) },
    ]),
  );
  for (const node of program.nodes) {
    const rule = referenceRules[node.op] as (...call: unknown[]) => readonly Dense[];
    const shapes = node.outputs.map((value) => program.types[value]!.shape);
    rule(
      node.inputs.map((value) => values.get(value)!),
      node.attributes,
      shapes,
    ).forEach((result, i) => {
      values.set(node.outputs[i]!, result);
    });
  }
  return Object.fromEntries(program.outputs.map(({ name, value }) => [name, values.get(value)!.data]));
}
