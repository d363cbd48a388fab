import { sizeOf } from '../../base/shape.ts';
import type { Convolution, Pair, Shape, Window } from '../../tensor/program.ts';
import type { Graph, Name } from '../graph.ts';
import { elementType } from '../schema.ts';
import { blockedConv, blockedGradInput, blockedGradWeight } from './blocked.ts';
import { repeated } from './repeat.ts';
import type { Lowerings, Operand } from './rule.ts';

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

const blocked = (graph: Graph, { groups }: Convolution) => graph.block > 1 && groups === 1;

/** Every element under each place of the kernel: [n, c, h, w] → [n, c, kh·kw, oh·ow]. */
function unfold(graph: Graph, x: Name, [n, c]: Shape, { kernel, stride, padding }: Window, [oh, ow]: Pair): Name {
  const [ph, pw] = padding;
  const single = kernel[0] * kernel[1] === 1;
  if (single && stride[0] * stride[1] === 1 && ph + pw === 0) return x;
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

/** Whether the windows tile the image. */
const disjoint = ({ kernel, stride, padding }: Window, [, , height, width]: Shape) =>
  kernel[0] === stride[0] &&
  kernel[1] === stride[1] &&
  padding[0] + padding[1] === 0 &&
  height! % kernel[0] === 0 &&
  width! % kernel[1] === 0;

/**
 * Marks the elements that equal their maximum with numbers that fall from the first place of a window to its last; those
 * that have the largest mark of their window get the gradient. Much faster than MaxPool with indices and a scatter.
 */
function disjointMaxPoolGrad(graph: Graph, dy: Name, x: Operand, y: Name, window: Window): Name {
  const [kh, kw] = window.kernel;
  const [, , height, width] = x.shape as [number, number, number, number];
  const rank = (i: number) => kh * kw - (Math.floor(i / width) % kh) * kw - (i % kw);
  const ranks = graph.constant(
    'float32',
    [height, width],
    Float32Array.from({ length: height * width }, (_, i) => rank(i)),
  );
  const grow = (name: Name) => repeated(graph, name, window.kernel);
  const largest = graph.op('Cast', [graph.op('Equal', [x.name, grow(y)])], { to: elementType.float32 });
  const marks = graph.op('Mul', [largest, ranks]);
  const first = graph.op('MaxPool', [marks], pooling(window));
  return graph.op('Where', [graph.op('Equal', [marks, grow(first)]), grow(dy), graph.float(0)]);
}

export const windows: Lowerings<
  'conv2d' | 'convGradInput' | 'convGradWeight' | 'maxPool' | 'maxPoolGrad' | 'avgPool' | 'avgPoolGrad'
> = {
  conv2d: (graph, { inputs: [x, weight, bias], attributes }) => {
    if (blocked(graph, attributes)) return [blockedConv(graph, x, weight, bias, attributes)];
    const inputs = bias ? [x.name, weight.name, bias.name] : [x.name, weight.name];
    return [graph.op('Conv', inputs, convolution(attributes, weight.shape))];
  },
  convGradInput: (graph, { inputs: [dy, weight], attributes }) => {
    const { stride, padding, shape } = attributes;
    const fast = blocked(graph, attributes) ? blockedGradInput(graph, dy, weight, attributes, shape) : undefined;
    if (fast !== undefined) return [fast];
    const output_padding = remainder(shape, [weight.shape[2]!, weight.shape[3]!], stride, padding);
    const transposed = { ...convolution(attributes, weight.shape), output_padding };
    return [graph.op('ConvTranspose', [dy.name, weight.name], transposed)];
  },
  convGradWeight: (graph, { inputs: [dy, x], attributes }) => {
    const { stride, padding, groups, shape } = attributes;
    const [n, filters, oh, ow] = dy.shape as [number, number, number, number];
    const kernel: Pair = [shape[2]!, shape[3]!];
    const area = kernel[0] * kernel[1];
    // The blocked way fills the batch up to whole blocks: not worth it when much of that is zeros.
    const filled = n / (Math.ceil(n / graph.block) * graph.block);
    if (blocked(graph, attributes) && area > 1 && filled >= 0.75)
      return [blockedGradWeight(graph, dy, x, attributes, shape)];
    // Per sample and group columns · dyᵀ in one batched product, then the sum over samples.
    const columns = unfold(graph, x.name, x.shape, { kernel, stride, padding }, [oh, ow]);
    const depth = shape[1]! * area;
    const left = graph.reshape(columns, [n, groups, depth, oh * ow]);
    const right = graph.reshape(dy.name, [n, groups, filters / groups, oh * ow]);
    const products = graph.productWithTransposed(left, right, 4);
    return [graph.reshape(graph.transpose(graph.sum(products, [0]), [0, 2, 1]), shape)];
  },

  maxPool: (graph, { inputs: [x], attributes }) => {
    const [y, indices] = graph.ops('MaxPool', 2, [x.name], pooling(attributes)) as [Name, Name];
    graph.once(`indices of ${y}`, () => indices);
    return [y];
  },
  maxPoolGrad: (graph, { inputs: [dy, x, y], attributes, shapes: [shape] }) => {
    if (disjoint(attributes, shape)) return [disjointMaxPoolGrad(graph, dy.name, x, y.name, attributes)];
    // Windows may overlap, so the gradients are added at the places the maxima came from.
    const indices = graph.once(
      `indices of ${y.name}`,
      () => graph.ops('MaxPool', 2, [x.name], pooling(attributes))[1]!,
    );
    const zeros = graph.op('Expand', [graph.float(0), graph.ints([sizeOf(shape)])]);
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
