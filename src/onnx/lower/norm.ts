import { sizeOf } from '../../base/shape.ts';
import type { Shape } from '../../tensor/program.ts';
import type { Graph, Name } from '../graph.ts';
import type { Lowerings } from './rule.ts';

/** Axes other than the channel's. */
const others = (shape: Shape) => [...shape.keys()].filter((axis) => axis !== 1);

/** [c] as [1, c, 1, …] of the given rank. */
const perChannel = (graph: Graph, x: Name, shape: Shape) =>
  graph.reshape(
    x,
    shape.map((size, axis) => (axis === 1 ? size : 1)),
  );

const inverseDeviation = (graph: Graph, variance: Name, epsilon: number) =>
  graph.op('Reciprocal', [graph.op('Sqrt', [graph.op('Add', [variance, graph.float(epsilon)])])]);

/**
 * Zeros that belong to one node alone. Training-mode BatchNormalization writes its statistics over its running inputs, so
 * they must be neither constants nor shared, not even after onnxruntime has merged equal nodes.
 */
function ownZeros(graph: Graph, like: Name, node: number): Name {
  return graph.op('Mul', [graph.op('Sub', [like, like]), graph.float(node)]);
}

export const norms: Lowerings<
  'batchNorm' | 'batchNormGrad' | 'batchNormInference' | 'layerNorm' | 'layerNormGrad' | 'groupNorm' | 'groupNormGrad'
> = {
  batchNorm: (graph, { inputs: [x, scale, shift], attributes: { epsilon } }) => {
    const running = [ownZeros(graph, shift.name, graph.size), ownZeros(graph, scale.name, graph.size)];
    // With momentum 0 the "running" outputs are exactly the mean and the biased variance of the batch.
    const [y, mean, variance] = graph.ops('BatchNormalization', 3, [x.name, scale.name, shift.name, ...running], {
      training_mode: 1,
      momentum: { float: 0 },
      epsilon: { float: epsilon },
    });
    return [y!, mean!, variance!];
  },
  // With q = −(dscale·n + dshift)/m for normalised x = n: dx = scale·r·(dy + q), and q is itself a batch normalisation.
  batchNormGrad: (graph, { inputs: [dy, x, scale, mean, variance], attributes: { epsilon } }) => {
    const count = sizeOf(x.shape) / x.shape[1]!;
    const inverse = inverseDeviation(graph, variance.name, epsilon);
    const dshift = graph.sum(dy.name, others(x.shape));
    const centred = graph.op('Sub', [x.name, perChannel(graph, mean.name, x.shape)]);
    const products = graph.sum(graph.op('Mul', [dy.name, centred]), others(x.shape));
    const dscale = graph.op('Mul', [products, inverse]);
    const share = graph.float(-1 / count);
    const correction = graph.op(
      'BatchNormalization',
      [x.name, graph.op('Mul', [dscale, share]), graph.op('Mul', [dshift, share]), mean.name, variance.name],
      { epsilon: { float: epsilon } },
    );
    const factor = perChannel(graph, graph.op('Mul', [scale.name, inverse]), x.shape);
    return [graph.op('Mul', [graph.op('Add', [dy.name, correction]), factor]), dscale, dshift];
  },
  batchNormInference: (graph, { inputs, attributes: { epsilon } }) => [
    graph.op(
      'BatchNormalization',
      inputs.map(({ name }) => name),
      { epsilon: { float: epsilon } },
    ),
  ],

  layerNorm: (graph, { inputs, attributes: { epsilon } }) => {
    const names = inputs.map(({ name }) => name);
    const [y, mean, inverse] = graph.ops('LayerNormalization', 3, names, { axis: -1, epsilon: { float: epsilon } });
    return [y!, mean!, inverse!];
  },
  layerNormGrad: (graph, { inputs: [dy, x, scale, mean, inverse] }) => {
    const axis = x.shape.length - 1;
    const rows = [...x.shape.keys()].slice(0, -1);
    const normal = graph.op('Mul', [graph.op('Sub', [x.name, mean.name]), inverse.name]);
    const dscale = graph.sum(graph.op('Mul', [dy.name, normal]), rows);
    const dx = normalGrad(graph, graph.op('Mul', [dy.name, scale.name]), normal, inverse.name, [axis]);
    return [dx, dscale, graph.sum(dy.name, rows)];
  },

  groupNorm: (graph, { inputs: [x, scale, shift], attributes: { epsilon, groups }, shapes: [shape, statistics] }) => {
    // As a layer norm of each group, then the scale and shift of each channel.
    const rows = [statistics[0]! * groups, sizeOf(shape) / (statistics[0]! * groups)];
    const ones = graph.op('Expand', [graph.float(1), graph.ints([rows[1]!])]);
    const [normal, mean, inverse] = graph.ops('LayerNormalization', 3, [graph.reshape(x.name, rows), ones], {
      axis: -1,
      epsilon: { float: epsilon },
    }) as [Name, Name, Name];
    const scaled = graph.op('Mul', [graph.reshape(normal, shape), perChannel(graph, scale.name, shape)]);
    const y = graph.op('Add', [scaled, perChannel(graph, shift.name, shape)]);
    return [y, graph.reshape(mean, statistics), graph.reshape(inverse, statistics)];
  },
  groupNormGrad: (graph, { inputs: [dy, x, scale, mean, inverse] }) => {
    const [n, groups] = mean.shape as [number, number];
    const grouped = [n, groups, sizeOf(x.shape) / (n * groups)];
    const [m, r] = [mean, inverse].map(({ name }) => graph.reshape(name, [n, groups, 1])) as [Name, Name];
    const normal = graph.op('Mul', [graph.op('Sub', [graph.reshape(x.name, grouped), m]), r]);
    const dscale = graph.sum(graph.op('Mul', [dy.name, graph.reshape(normal, x.shape)]), others(x.shape));
    const scaled = graph.op('Mul', [dy.name, perChannel(graph, scale.name, x.shape)]);
    const dx = normalGrad(graph, graph.reshape(scaled, grouped), normal, r, [2]);
    return [graph.reshape(dx, x.shape), dscale, graph.sum(dy.name, others(x.shape))];
  },
};

/** r·(d − mean(d) − n·mean(d·n)) over the given axes. */
function normalGrad(graph: Graph, d: Name, normal: Name, inverse: Name, axes: readonly number[]): Name {
  const mean = (x: Name) => graph.op('ReduceMean', [x, graph.ints(axes)], { keepdims: 1 });
  const along = graph.op('Mul', [normal, mean(graph.op('Mul', [d, normal]))]);
  return graph.op('Mul', [graph.op('Sub', [graph.op('Sub', [d, mean(d)]), along]), inverse]);
}
