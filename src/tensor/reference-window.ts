import { sizeOf } from '../base/shape.ts';
import type { OpKind, Pair, Shape } from './program.ts';
import { at, type Dense, dense, positionOf, type ReferenceRule } from './reference-dense.ts';

/** Convolution and pooling of the float64 reference: every element of every window, one by one. */

type WindowOp = Extract<
  OpKind,
  'conv2d' | 'convGradInput' | 'convGradWeight' | 'maxPool' | 'maxPoolGrad' | 'avgPool' | 'avgPoolGrad'
>;

interface Sliding {
  readonly kernel: Pair;
  readonly stride: Pair;
  readonly padding: Pair;
}

/** The image elements under the window of one output element: [position in the kernel, position in the image]. */
function under(output: readonly number[], image: Shape, { kernel, stride, padding }: Sliding) {
  const found: { readonly kernel: Pair; readonly image: Pair }[] = [];
  for (let i = 0; i < kernel[0]; i++)
    for (let j = 0; j < kernel[1]; j++) {
      const [y, x] = [output[2]! * stride[0] + i - padding[0], output[3]! * stride[1] + j - padding[1]];
      if (y >= 0 && y < image[2]! && x >= 0 && x < image[3]!) found.push({ kernel: [i, j], image: [y, x] });
    }
  return found;
}

const flat = (shape: Shape, position: readonly number[]) =>
  shape.reduce((index, size, axis) => index * size + position[axis]!, 0);

/** Calls back for every product of a convolution with the flat indices of output, image and weight. */
function products(
  output: Shape,
  image: Shape,
  weight: Shape,
  { stride, padding, groups }: { stride: Pair; padding: Pair; groups: number },
  visit: (y: number, x: number, w: number) => void,
): void {
  const sliding = { kernel: [weight[2]!, weight[3]!] as const, stride, padding };
  const [perGroup, depth] = [weight[0]! / groups, weight[1]!];
  for (let index = 0; index < sizeOf(output); index++) {
    const position = positionOf(index, output);
    const [n, filter] = position as [number, number];
    for (const place of under(position, image, sliding))
      for (let c = 0; c < depth; c++) {
        const source = Math.floor(filter / perGroup) * depth + c;
        visit(index, flat(image, [n, source, ...place.image]), flat(weight, [filter, c, ...place.kernel]));
      }
  }
}

/** The element of the window that max pooling takes: the first largest. */
function largest(position: readonly number[], x: Dense, window: Sliding): readonly number[] {
  const candidates = under(position, x.shape, window).map(({ image }) => [position[0]!, position[1]!, ...image]);
  return candidates.reduce((best, candidate) => (at(x, candidate) > at(x, best) ? candidate : best));
}

export const windowReference: { readonly [K in WindowOp]: ReferenceRule<K> } = {
  conv2d: ([x, weight, bias], attributes, [shape]) => {
    const y = dense(shape, (index) => bias?.data[positionOf(index, shape)[1]!] ?? 0);
    products(shape, x.shape, weight.shape, attributes, (o, i, w) => {
      y.data[o]! += x.data[i]! * weight.data[w]!;
    });
    return [y];
  },
  convGradInput: ([dy, weight], attributes, [shape]) => {
    const dx = dense(shape, () => 0);
    products(dy.shape, shape, weight.shape, attributes, (o, i, w) => {
      dx.data[i]! += dy.data[o]! * weight.data[w]!;
    });
    return [dx];
  },
  convGradWeight: ([dy, x], attributes, [shape]) => {
    const dweight = dense(shape, () => 0);
    products(dy.shape, x.shape, shape, attributes, (o, i, w) => {
      dweight.data[w]! += dy.data[o]! * x.data[i]!;
    });
    return [dweight];
  },
  maxPool: ([x], window, [shape]) => [dense(shape, (index) => at(x, largest(positionOf(index, shape), x, window)))],
  maxPoolGrad: ([dy, x], window) => {
    const dx = dense(x.shape, () => 0);
    dy.data.forEach((gradient, index) => {
      dx.data[flat(x.shape, largest(positionOf(index, dy.shape), x, window))]! += gradient;
    });
    return [dx];
  },
  avgPool: ([x], window, [shape]) => [
    dense(shape, (index) => {
      const position = positionOf(index, shape);
      const places = under(position, x.shape, window);
      const total = places.reduce((sum, { image }) => sum + at(x, [position[0]!, position[1]!, ...image]), 0);
      return total / (window.kernel[0] * window.kernel[1]);
    }),
  ],
  avgPoolGrad: ([dy], window, [shape]) => {
    const dx = dense(shape, () => 0);
    dy.data.forEach((gradient, index) => {
      const position = positionOf(index, dy.shape);
      for (const { image } of under(position, shape, window))
        dx.data[flat(shape, [position[0]!, position[1]!, ...image])]! +=
          gradient / (window.kernel[0] * window.kernel[1]);
    });
    return [dx];
  },
};
