import type { Convolution, Pair, Shape, Window } from '../../tensor/program.ts';
import type { Graph, Name } from '../graph.ts';
import type { Lowerings } from './rule.ts';

const both = ([height, width]: Pair) => [height, width, height, width];

const convolution = ({ stride, padding, groups }: Convolution, weight: Shape) => ({
  strides: stride,
  pads: both(padding),
  group: groups,
  kernel_shape: weight.slice(2),
});

const pooling = ({ kernel, stride, padding }: Window) => ({
  kernel_shape: kernel,
  strides: stride,
  pads: both(padding),
});

/** What the windows leave over at the far end: a transposed convolution must be told. */
const remainder = (image: Shape, kernel: Pair, stride: Pair, padding: Pair) =>
  [0, 1].map((axis) => (image[axis + 2]! + 2 * padding[axis]! - kernel[axis]!) % stride[axis]!);

/** Every element under each place of the kernel: [n, c, h, w] → [n, c, kh·kw, oh·ow]. */
function unfold(graph: Graph, x: Name, [n, c]: Shape, { kernel, stride, padding }: Window, [oh, ow]: Pair): Name {
  const [ph, pw] = padding;
  const padded = ph + pw > 0 ? graph.op('Pad', [x, graph.ints([0, 0, ph, pw, 0, 0, ph, pw])]) : x;
  const places: Name[] = [];
  for (let i = 0; i < kernel[0]; i++)
    for (let j = 0; j < kernel[1]; j++) {
      const ends = [i + (oh - 1) * stride[0] + 1, j + (ow - 1) * stride[1] + 1];
      const place = graph.op('Slice', [
        padded,
        graph.ints([i, j]),
        graph.ints(ends),
        graph.ints([2, 3]),
        graph.ints(stride),
      ]);
      places.push(graph.reshape(place, [n!, c!, 1, oh * ow]));
    }
  return graph.concat(places, 2);
}

export const windows: Lowerings<
  'conv2d' | 'convGradInput' | 'convGradWeight' | 'maxPool' | 'maxPoolGrad' | 'avgPool' | 'avgPoolGrad'
> = {
  conv2d: (graph, { inputs: [x, weight, bias], attributes }) => [
    graph.op(
      'Conv',
      bias ? [x.name, weight.name, bias.name] : [x.name, weight.name],
      convolution(attributes, weight.shape),
    ),
  ],
  convGradInput: (graph, { inputs: [dy, weight], attributes }) => {
    const { stride, padding, shape } = attributes;
    const output_padding = remainder(shape, [weight.shape[2]!, weight.shape[3]!], stride, padding);
    return [
      graph.op('ConvTranspose', [dy.name, weight.name], { ...convolution(attributes, weight.shape), output_padding }),
    ];
  },
  // Per sample and group dy · columnsᵀ in one batched product, then the sum over samples.
  convGradWeight: (graph, { inputs: [dy, x], attributes }) => {
    const { stride, padding, groups, shape } = attributes;
    const [n, filters, oh, ow] = dy.shape as [number, number, number, number];
    const kernel: Pair = [shape[2]!, shape[3]!];
    const columns = unfold(graph, x.name, x.shape, { kernel, stride, padding }, [oh, ow]);
    const left = graph.reshape(dy.name, [n, groups, filters / groups, oh * ow]);
    const right = graph.reshape(columns, [n, groups, shape[1]! * kernel[0] * kernel[1], oh * ow]);
    const products = graph.op('com.microsoft:FusedMatMul', [left, right], { transB: 1 });
    return [graph.reshape(graph.sum(products, [0]), shape)];
  },

  maxPool: (graph, { inputs: [x], attributes }) => {
    const [y, indices] = graph.ops('MaxPool', 2, [x.name], pooling(attributes)) as [Name, Name];
    graph.once(`indices of ${y}`, () => indices);
    return [y];
  },
  // Windows may overlap, so the gradients are added at the places the maxima came from.
  maxPoolGrad: (graph, { inputs: [dy, x, y], attributes, shapes: [shape] }) => {
    const size = shape.reduce((product, axis) => product * axis, 1);
    const indices = graph.once(
      `indices of ${y.name}`,
      () => graph.ops('MaxPool', 2, [x.name], pooling(attributes))[1]!,
    );
    const zeros = graph.op('Expand', [graph.float(0), graph.ints([size])]);
    const flat = (name: Name) => graph.reshape(name, [-1]);
    const scattered = graph.op('ScatterElements', [zeros, flat(indices), flat(dy.name)], { axis: 0, reduction: 'add' });
    return [graph.reshape(scattered, shape)];
  },
  avgPool: (graph, { inputs: [x], attributes }) => [
    graph.op('AveragePool', [x.name], { ...pooling(attributes), count_include_pad: 1 }),
  ],
  avgPoolGrad: (graph, { inputs: [dy], attributes }) => {
    const { kernel, stride, padding, shape } = attributes;
    const [n, c, h, w] = shape as [number, number, number, number];
    const area = kernel[0] * kernel[1];
    const weight = graph.constant('float32', [1, 1, ...kernel], new Float32Array(area).fill(1 / area));
    const single = graph.reshape(dy.name, [n * c, 1, dy.shape[2]!, dy.shape[3]!]);
    const output_padding = remainder([n * c, 1, h, w], kernel, stride, padding);
    const dx = graph.op('ConvTranspose', [single, weight], { ...pooling(attributes), output_padding });
    return [graph.reshape(dx, shape)];
  },
};
