import type { Graph, Name } from '../graph.ts';
import { elementType } from '../schema.ts';
import type { Lowerings } from './rule.ts';

/** [size, size]: −∞ for what comes after a row's own place, else 0. */
function later(graph: Graph, size: number): Name {
  const values = new Float32Array(size * size);
  for (let row = 0; row < size; row++) values.fill(Number.NEGATIVE_INFINITY, row * size + row + 1, (row + 1) * size);
  return graph.constant('float32', [size, size], values);
}

/** Shapes, reductions, products, tables and the loss. */
export const structure: Lowerings<
  | 'reshape'
  | 'transpose'
  | 'broadcast'
  | 'concat'
  | 'slice'
  | 'split'
  | 'pad'
  | 'sum'
  | 'squaredNorm'
  | 'matmul'
  | 'batchMatmul'
  | 'softmax'
  | 'softmaxGrad'
  | 'embedding'
  | 'embeddingGrad'
  | 'softmaxCrossEntropy'
  | 'softmaxCrossEntropyGrad'
  | 'topKCorrect'
> = {
  reshape: (graph, { inputs: [x], attributes: { shape } }) => [graph.reshape(x.name, shape)],
  transpose: (graph, { inputs: [x], attributes: { permutation } }) => [graph.transpose(x.name, permutation)],
  broadcast: (graph, { inputs: [x], attributes: { shape } }) => [graph.op('Expand', [x.name, graph.ints(shape)])],
  concat: (graph, { inputs, attributes: { axis } }) => [
    graph.concat(
      inputs.map(({ name }) => name),
      axis,
    ),
  ],
  slice: (graph, { inputs: [x], attributes: { axis, start, size } }) => [
    graph.slice(x.name, axis, start, start + size),
  ],
  split: (graph, { inputs: [x], attributes: { axis, sizes } }) =>
    graph.ops('Split', sizes.length, [x.name, graph.ints(sizes)], { axis }),
  pad: (graph, { inputs: [x], attributes: { axis, before, after } }) => {
    const zeros = x.shape.map(() => 0);
    return [graph.op('Pad', [x.name, graph.ints([...zeros.with(axis, before), ...zeros.with(axis, after)])])];
  },

  sum: (graph, { inputs: [x], attributes: { axes, keep } }) => [graph.sum(x.name, axes, keep)],
  squaredNorm: (graph, { inputs: [x] }) => [graph.op('ReduceSumSquare', [x.name], { keepdims: 0 })],

  matmul: (graph, { inputs: [a, b, bias], attributes: { transposeA, transposeB } }) => [
    graph.op('Gemm', bias ? [a.name, b.name, bias.name] : [a.name, b.name], {
      transA: transposeA ? 1 : 0,
      transB: transposeB ? 1 : 0,
    }),
  ],

  batchMatmul: (graph, { inputs: [a, b], attributes: { transposeA, transposeB } }) => {
    const rank = a.shape.length;
    if (!graph.portable)
      return [graph.op('com.microsoft:FusedMatMul', [a.name, b.name], { transA: +transposeA, transB: +transposeB })];
    const turned = (name: Name, turn: boolean) => {
      const axes = [...a.shape.keys()];
      return turn ? graph.transpose(name, [...axes.slice(0, -2), rank - 1, rank - 2]) : name;
    };
    return [graph.op('MatMul', [turned(a.name, transposeA), turned(b.name, transposeB)])];
  },
  softmax: (graph, { inputs: [x], attributes: { causal } }) => {
    const seen = causal ? graph.op('Add', [x.name, later(graph, x.shape.at(-1)!)]) : x.name;
    return [graph.op('Softmax', [seen], { axis: -1 })];
  },
  // What a causal softmax does not see has y = 0.
  softmaxGrad: (graph, { inputs: [dy, y] }) => {
    const dot = graph.sum(graph.op('Mul', [dy.name, y.name]), [y.shape.length - 1], true);
    return [graph.op('Mul', [y.name, graph.op('Sub', [dy.name, dot])])];
  },

  embedding: (graph, { inputs: [table, indices] }) => [graph.op('Gather', [table.name, indices.name])],
  embeddingGrad: (graph, { inputs: [dy, indices], shapes: [shape] }) => {
    const wide = graph.op('Cast', [indices.name], { to: elementType.int64 });
    const zeros = graph.op('Expand', [graph.float(0), graph.ints(shape)]);
    const rows = graph.reshape(wide, [-1, 1]);
    return [graph.op('ScatterND', [zeros, rows, graph.reshape(dy.name, [-1, shape[1]!])], { reduction: 'add' })];
  },

  softmaxCrossEntropy: (graph, { inputs: [logits, labels] }) => {
    const logProbabilities = graph.op('LogSoftmax', [logits.name], { axis: 1 });
    const chosen = graph.op('GatherElements', [logProbabilities, graph.reshape(labels.name, [-1, 1])], { axis: 1 });
    return [graph.reshape(graph.op('Neg', [chosen]), [-1]), logProbabilities];
  },
  // (p − onehot)·dloss without the one-hot matrix, which would be as large as the logits.
  softmaxCrossEntropyGrad: (graph, { inputs: [dloss, logProbabilities, labels] }) => {
    const column = graph.reshape(dloss.name, [-1, 1]);
    const scaled = graph.op('Mul', [graph.op('Exp', [logProbabilities.name]), column]);
    const at = graph.reshape(labels.name, [-1, 1]);
    return [graph.op('ScatterElements', [scaled, at, graph.op('Neg', [column])], { axis: 1, reduction: 'add' })];
  },
  topKCorrect: (graph, { inputs: [logits, labels], attributes: { k } }) => {
    const best =
      k === 1
        ? graph.op('ArgMax', [logits.name], { axis: 1, keepdims: 1 })
        : graph.ops('TopK', 2, [logits.name, graph.ints([k])], { axis: 1 })[1]!;
    const wanted = graph.reshape(graph.op('Cast', [labels.name], { to: elementType.int64 }), [-1, 1]);
    const hits = graph.op('Cast', [graph.op('Equal', [best, wanted])], { to: elementType.float32 });
    return [graph.sum(hits, [1])];
  },
};
