import { sizeOf } from '../../base/shape.ts';
import { dropBelow, lowbias, lowbias32, saltFactors } from '../../tensor/mask.ts';
import type { Graph, Name } from '../graph.ts';
import { elementType } from '../schema.ts';
import type { Lowerings, Operand } from './rule.ts';

type Unary = (graph: Graph, use: { readonly inputs: readonly [Operand] }) => [Name];
type Binary = (graph: Graph, use: { readonly inputs: readonly [Operand, Operand] }) => [Name];

const unary =
  (type: string): Unary =>
  (graph, { inputs: [x] }) => [graph.op(type, [x.name])];

const binary =
  (type: string): Binary =>
  (graph, { inputs: [a, b] }) => [graph.op(type, [a.name, b.name])];

export const elementwise: Lowerings<
  | 'constant'
  | 'literal'
  | 'add'
  | 'sub'
  | 'mul'
  | 'div'
  | 'minimum'
  | 'maximum'
  | 'sqrt'
  | 'relu'
  | 'reluGrad'
  | 'tanh'
  | 'tanhGrad'
  | 'sigmoid'
  | 'sigmoidGrad'
  | 'gelu'
  | 'geluGrad'
  | 'oneMinusPower'
  | 'dropoutMask'
> = {
  constant: (graph, { attributes: { value, shape } }) => [
    shape.length === 0 ? graph.float(value) : graph.op('Expand', [graph.float(value), graph.ints(shape)]),
  ],
  literal: (graph, { attributes: { values, shape } }) => [graph.constant('float32', shape, Float32Array.from(values))],
  add: binary('Add'),
  sub: binary('Sub'),
  mul: binary('Mul'),
  div: binary('Div'),
  minimum: binary('Min'),
  maximum: binary('Max'),
  sqrt: unary('Sqrt'),
  relu: unary('Relu'),
  // A step function in one pass over one operand: y·3e38 cut to [0, 1]. Comparing and selecting costs twice as much.
  reluGrad: (graph, { inputs: [dy, y] }) => [
    graph.op('Mul', [dy.name, graph.op('HardSigmoid', [y.name], { alpha: { float: 3e38 }, beta: { float: 0 } })]),
  ],
  tanh: unary('Tanh'),
  tanhGrad: (graph, { inputs: [dy, y] }) => [
    graph.op('Mul', [dy.name, graph.op('Sub', [graph.float(1), graph.op('Mul', [y.name, y.name])])]),
  ],
  sigmoid: unary('Sigmoid'),
  sigmoidGrad: (graph, { inputs: [dy, y] }) => [
    graph.op('Mul', [dy.name, graph.op('Sub', [y.name, graph.op('Mul', [y.name, y.name])])]),
  ],
  gelu: unary('Gelu'),
  geluGrad: (graph, { inputs: [dy, x] }) => {
    const erf = graph.op('Erf', [graph.op('Mul', [x.name, graph.float(Math.SQRT1_2)])]);
    const cdf = graph.op('Mul', [graph.op('Add', [erf, graph.float(1)]), graph.float(0.5)]);
    const square = graph.op('Mul', [x.name, x.name]);
    const density = graph.op('Mul', [
      graph.op('Exp', [graph.op('Mul', [square, graph.float(-0.5)])]),
      graph.float(1 / Math.sqrt(2 * Math.PI)),
    ]);
    return [graph.op('Mul', [dy.name, graph.op('Add', [cdf, graph.op('Mul', [x.name, density])])])];
  },
  oneMinusPower: (graph, { inputs: [x], attributes: { base } }) => {
    const exact = (value: number) => graph.constant('float64', [], Float64Array.of(value));
    const power = graph.op('Pow', [exact(base), graph.op('Cast', [x.name], { to: elementType.float64 })]);
    return [graph.op('Cast', [graph.op('Sub', [exact(1), power])], { to: elementType.float32 })];
  },
  dropoutMask: (graph, { inputs: [key], attributes: { rate, salt, shape } }) => {
    const [word0, word1] = graph.split(key.name, 0, 2) as [Name, Name];
    const salted = (word: Name, i: 0 | 1) => graph.op('Add', [word, graph.int(Math.imul(salt, saltFactors[i]))]);
    const a = salted(word0, 0);
    const b = graph.op('Mul', [salted(word1, 1), graph.int(2)]);
    const table = hashTable(graph, sizeOf(shape));
    const product = graph.op('Mul', [graph.op('Add', [table, a]), graph.op('BitwiseXor', [table, b])]);
    const kept = graph.op('GreaterOrEqual', [product, graph.int(dropBelow(rate))]);
    const mask = graph.op('Where', [kept, graph.float(1 / (1 - rate)), graph.float(0)]);
    return [graph.reshape(mask, shape)];
  },
};

/** lowbias32(0 … size−1) | 1: a constant, or in files computed by nodes that onnxruntime's optimizer folds to one. */
function hashTable(graph: Graph, size: number): Name {
  return graph.once(`hash table ${size}`, () => {
    if (!graph.portable)
      return graph.constant(
        'int32',
        [size],
        Int32Array.from({ length: size }, (_, i) => lowbias32(i) | 1),
      );
    const unsigned = (value: number) => graph.constant('uint32', [], Uint32Array.of(value));
    const cast = (x: Name, to: number) => graph.op('Cast', [x], { to });
    const mix = (x: Name, shift: number) =>
      graph.op('BitwiseXor', [x, graph.op('BitShift', [x, unsigned(shift)], { direction: 'RIGHT' })]);
    const times = (x: Name, factor: number) =>
      cast(graph.op('Mul', [cast(x, elementType.int32), graph.int(factor | 0)]), elementType.uint32);
    const [s0, s1, s2] = lowbias.shifts;
    const [f0, f1] = lowbias.factors;
    let x = cast(graph.op('Range', [graph.int(0), graph.int(size), graph.int(1)]), elementType.uint32);
    x = times(mix(x, s0), f0);
    x = times(mix(x, s1), f1);
    return cast(graph.op('BitwiseOr', [mix(x, s2), unsigned(1)]), elementType.int32);
  });
}
