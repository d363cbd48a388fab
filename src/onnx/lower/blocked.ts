import type { Convolution, Pair, Shape } from '../../tensor/program.ts';
import type { Graph, Name } from '../graph.ts';
import { repeated } from './repeat.ts';
import type { Operand } from './rule.ts';

/**
 * Convolutions on onnxruntime's blocked layout: channels in blocks of 8 or 16, each block innermost, as its fast kernels
 * want them. Its own optimizer goes there only when weights are constants, which in training they are not, so the graph
 * names the blocked ops itself and reorders the weights with ordinary ops. Twice as fast as Conv with im2col.
 */

const domain = 'com.microsoft.nchwc';

const up = (graph: Graph, size: number) => Math.ceil(size / graph.block) * graph.block;

/** Blocked layout of an image; channels are filled up with zeros, by the op itself from multiples of 4 on. */
function toBlocks(graph: Graph, { name, shape }: Operand): Name {
  const missing = -shape[1]! & 3;
  return graph.once(`blocks of ${name}`, () =>
    graph.op(`${domain}:ReorderInput`, [padded(graph, name, [0, 0, 0, 0], [0, missing, 0, 0])]),
  );
}

const fromBlocks = (graph: Graph, x: Name, channels: number) => graph.op(`${domain}:ReorderOutput`, [x], { channels });

function padded(graph: Graph, x: Name, before: readonly number[], after: readonly number[]): Name {
  const none = [...before, ...after].every((size) => size === 0);
  return none ? x : graph.op('Pad', [x, graph.ints([...before, ...after])]);
}

interface Sliding {
  readonly kernel: Pair;
  readonly pads?: readonly number[];
  readonly strides?: Pair;
  readonly dilations?: Pair;
}

function convolve(graph: Graph, inputs: readonly Name[], sliding: Sliding): Name {
  const { kernel, pads = [0, 0, 0, 0], strides = [1, 1], dilations = [1, 1] } = sliding;
  return graph.op(`${domain}:Conv`, inputs, { kernel_shape: kernel, pads, strides, dilations, group: 1 });
}

/** A weight with both channel axes filled up to whole blocks. */
function filledWeight(graph: Graph, { name, shape }: Operand): Operand & { readonly shape: Shape } {
  const [o, i, h, w] = shape as [number, number, number, number];
  const [outer, inner] = [up(graph, o), up(graph, i)];
  return { name: padded(graph, name, [0, 0, 0, 0], [outer - o, inner - i, 0, 0]), shape: [outer, inner, h, w] };
}

/** [o, i, h, w] → blocks of o, blocks of i, h, w, i in block, o in block. */
function forwardWeight(graph: Graph, weight: Operand): Name {
  const { name, shape } = filledWeight(graph, weight);
  const [o, i, h, w] = shape as [number, number, number, number];
  const b = graph.block;
  const outer = graph.transpose(graph.reshape(name, [o / b, b, i * h * w]), [0, 2, 1]);
  const both = graph.transpose(graph.reshape(outer, [o / b, i / b, b, h * w, b]), [0, 1, 3, 2, 4]);
  return graph.reshape(both, shape);
}

/** For images of fewer channels than a block, which stay as they are: only the filters are in blocks. */
function narrowWeight(graph: Graph, { name, shape }: Operand): Name {
  const [o, i, h, w] = shape as [number, number, number, number];
  const outer = up(graph, o);
  const full = padded(graph, name, [0, 0, 0, 0], [outer - o, 0, 0, 0]);
  const blocks = graph.reshape(full, [outer / graph.block, graph.block, i * h * w]);
  return graph.reshape(graph.transpose(blocks, [0, 2, 1]), [outer, i, h, w]);
}

/** The weight of the convolution that takes dy back to dx: channels swapped, taps in reverse order. */
function backwardWeight(graph: Graph, weight: Operand): Name {
  const { name, shape } = filledWeight(graph, weight);
  const [o, i, h, w] = shape as [number, number, number, number];
  const b = graph.block;
  const taps = graph.transpose(graph.reshape(name, [o, i, h * w]), [0, 2, 1]);
  const reverse = graph.ints(Array.from({ length: h * w }, (_, tap) => h * w - 1 - tap));
  const turned = h * w === 1 ? taps : graph.op('Gather', [taps, reverse], { axis: 1 });
  return graph.reshape(graph.transpose(graph.reshape(turned, [o / b, b, h * w, i / b, b]), [3, 0, 2, 1, 4]), [
    i,
    o,
    h,
    w,
  ]);
}

const kernelOf = ({ shape }: Operand): Pair => [shape[2]!, shape[3]!];

export function blockedConv(
  graph: Graph,
  x: Operand,
  weight: Operand,
  bias: Operand | undefined,
  { stride, padding }: Convolution,
): Name {
  const filters = weight.shape[0]!;
  const narrow = x.shape[1]! < graph.block;
  const inputs = narrow ? [x.name, narrowWeight(graph, weight)] : [toBlocks(graph, x), forwardWeight(graph, weight)];
  if (bias) inputs.push(padded(graph, bias.name, [0], [up(graph, filters) - filters]));
  const y = convolve(graph, inputs, { kernel: kernelOf(weight), pads: [...padding, ...padding], strides: stride });
  return fromBlocks(graph, y, filters);
}

/** dx, if there is a fast way to it: stride 1, or the halving convolutions of residual networks. */
export function blockedGradInput(
  graph: Graph,
  dy: Operand,
  weight: Operand,
  { stride, padding }: Convolution,
  shape: Shape,
): Name | undefined {
  const [, channels, height, width] = shape as [number, number, number, number];
  const kernel = kernelOf(weight);
  const is = (pair: Pair, size: number) => pair[0] === size && pair[1] === size;
  if (is(stride, 1) && padding[0] < kernel[0] && padding[1] < kernel[1]) {
    const rest = [kernel[0] - 1 - padding[0], kernel[1] - 1 - padding[1]];
    const inputs = [toBlocks(graph, dy), backwardWeight(graph, weight)];
    return fromBlocks(graph, convolve(graph, inputs, { kernel, pads: [...rest, ...rest] }), channels);
  }
  if (!is(stride, 2)) return undefined;
  if (is(kernel, 3) && is(padding, 1) && height % 2 === 0 && width % 2 === 0)
    return halvedGradInput(graph, dy, weight, channels);
  if (is(kernel, 1) && is(padding, 0)) {
    const inputs = [toBlocks(graph, dy), backwardWeight(graph, weight)];
    return spread(graph, fromBlocks(graph, convolve(graph, inputs, { kernel }), channels), dy, shape);
  }
  return undefined;
}

/** Each element to the even places of an image twice as large, zeros elsewhere: every element four times, less three. */
function spread(graph: Graph, x: Name, { shape: [, , h, w] }: Operand, shape: Shape): Name {
  const [, , height, width] = shape as [number, number, number, number];
  const even = (i: number) => (Math.floor(i / (2 * w!)) % 2 === 0 && i % 2 === 0 ? 1 : 0);
  const mask = graph.constant(
    'float32',
    [2 * h!, 2 * w!],
    Float32Array.from({ length: 4 * h! * w! }, (_, i) => even(i)),
  );
  const doubled = graph.op('Mul', [repeated(graph, x, [2, 2]), mask]);
  if (2 * h! === height && 2 * w! === width) return doubled;
  return graph.op('Slice', [doubled, graph.ints([0, 0]), graph.ints([height, width]), graph.ints([2, 3])]);
}

/**
 * dx of a 3×3 convolution with stride 2 and padding 1: the four parities of dx are four 2×2 convolutions of dy. They run
 * as one with four times the channels, whose result is then interleaved.
 */
function halvedGradInput(graph: Graph, dy: Operand, weight: Operand, channels: number): Name {
  const { name, shape } = filledWeight(graph, weight);
  const [o, i] = shape as [number, number];
  const b = graph.block;
  const taps = graph.transpose(graph.reshape(name, [o, i, 9]), [0, 2, 1]);
  const withZero = graph.op('Pad', [taps, graph.ints([0, 0, 0, 0, 1, 0])]);
  // The tap of the 3-wide kernel that meets place u of the 2-wide one, for even and odd elements; none is tap 9, the zero.
  const tapOf = [
    [1, undefined],
    [2, 0],
  ] as const;
  const order: number[] = [];
  for (const rows of tapOf)
    for (const columns of tapOf)
      for (const row of rows)
        for (const column of columns) order.push(row === undefined || column === undefined ? 9 : 3 * row + column);
  const gathered = graph.op('Gather', [withZero, graph.ints(order)], { axis: 1 });
  const blocks = graph.reshape(gathered, [o / b, b, 4, 4, i / b, b]);
  const filter = graph.reshape(graph.transpose(blocks, [2, 4, 0, 3, 1, 5]), [4 * i, o, 2, 2]);
  const four = convolve(graph, [toBlocks(graph, dy), filter], { kernel: [2, 2], pads: [0, 0, 1, 1] });
  const [n, , h, w] = dy.shape as [number, number, number, number];
  // Interleaving columns, then rows: two simple transposes are twice as fast as DepthToSpace.
  const columns = graph.transpose(graph.reshape(fromBlocks(graph, four, 4 * i), [2 * n, 2, i * h * w]), [0, 2, 1]);
  const rows = graph.transpose(graph.reshape(columns, [n, 2, i, h, 2 * w]), [0, 2, 3, 1, 4]);
  const dx = graph.reshape(rows, [n, i, 2 * h, 2 * w]);
  return i === channels ? dx : graph.slice(dx, 1, 0, channels);
}

/** dweight as a convolution of x with dy as the filter, batch and channels having changed places; the stride dilates it. */
export function blockedGradWeight(
  graph: Graph,
  dy: Operand,
  x: Operand,
  { stride, padding }: Convolution,
  shape: Shape,
): Name {
  const [n, filters, oh, ow] = dy.shape as [number, number, number, number];
  const [, channels, height, width] = x.shape as [number, number, number, number];
  const kernel = [shape[2]!, shape[3]!] as const;
  const b = graph.block;
  const [samples, outer] = [up(graph, n), up(graph, filters)];
  const reach = (count: number, axis: 0 | 1) => (count - 1) * stride[axis] + kernel[axis];
  const beyond = [reach(oh, 0) - height - padding[0], reach(ow, 1) - width - padding[1]] as const;
  const turned = padded(graph, graph.transpose(x.name, [1, 0, 2, 3]), [0, 0, 0, 0], [0, samples - n, 0, 0]);
  const wide = graph.reshape(toBlocks(graph, { name: turned, shape: [channels, samples] }), [
    (channels * samples) / b,
    height,
    width * b,
  ]);
  // Padding whole blocks is cheaper than padding the image before.
  const image = padded(graph, wide, [0, padding[0], padding[1] * b], [0, beyond[0], beyond[1] * b]);
  const size = [padding[0] + height + beyond[0], padding[1] + width + beyond[1]];
  const full = padded(graph, toBlocks(graph, dy), [0, 0, 0, 0], [samples - n, 0, 0, 0]);
  const blocks = graph.reshape(full, [samples / b, b, outer / b, oh * ow, b]);
  const filter = graph.reshape(graph.transpose(blocks, [2, 0, 3, 1, 4]), [outer, samples, oh, ow]);
  const inputs = [graph.reshape(image, [channels, samples, ...size]), filter];
  const result = convolve(graph, inputs, { kernel: [oh, ow], dilations: stride });
  return graph.transpose(fromBlocks(graph, result, filters), [1, 0, 2, 3]);
}
