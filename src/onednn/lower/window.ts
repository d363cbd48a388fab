import { sizeOf } from '../../base/shape.ts';
import type { Convolution, Node, Shape, Value, Window } from '../../tensor/program.ts';
import type { Format } from '../format.ts';
import type { Described, Stored } from '../recorder.ts';
import type { Kept, Scope } from '../scope.ts';
import type { Rule, Rules } from './rule.ts';

type WindowOp = 'conv2d' | 'convGradInput' | 'convGradWeight' | 'maxPool' | 'maxPoolGrad' | 'avgPool' | 'avgPoolGrad';

/** A convolution's shapes as the library has them: groups are an axis of the weight. */
function convolution(x: Shape, weight: Shape, y: Shape, { stride, padding, groups }: Convolution) {
  return {
    x,
    weight: groups === 1 ? weight : [groups, weight[0]! / groups, ...weight.slice(1)],
    y,
    window: { stride, padding },
    key: JSON.stringify(['conv', x, weight, y, stride, padding, groups]),
  };
}
type Shapes = ReturnType<typeof convolution>;

/** The forward description, which its gradients need as a hint. */
function forward(scope: Scope, { x, weight, y, window, key }: Shapes, bias?: Format): Described {
  const { recorder } = scope;
  const { formats } = recorder;
  const own = bias === undefined ? key : `${key} with bias`;
  const known = scope.hints.get(own);
  if (known !== undefined) return known;
  const described = recorder.describe('convolution', {
    src: formats.any(x),
    weights: formats.any(weight),
    bias,
    dst: formats.any(y),
    ...window,
  });
  scope.hints.set(own, described);
  return described;
}

/** The layout in which convolutions like such images: asked of the library, which alone knows what this processor's is. */
function imageFormat(scope: Scope, shape: Shape): Format {
  const { recorder } = scope;
  const channels = shape[1]!;
  const pointwise = { stride: [1, 1], padding: [0, 0], groups: 1 } as const;
  return recorder.wanted(forward(scope, convolution(shape, [channels, channels, 1, 1], shape, pointwise)), 'src');
}

/** The value as images of that layout, if it is plain: norms of plain images are slow. */
export function asImages(scope: Scope, x: Value): Stored {
  const current = scope.current(x);
  const shape = scope.shape(x);
  const plain = scope.recorder.formats.isPlain(current.format);
  if (shape.length !== 4 || shape[2]! * shape[3]! === 1 || !plain) return current;
  return scope.read(x, imageFormat(scope, shape));
}

/** The same elements in another format: a copy, unless they are in it already. */
function inFormat(scope: Scope, stored: Stored, format: Format): Stored {
  const { recorder } = scope;
  if (recorder.formats.same(stored.format, format)) return stored;
  const made = recorder.arena(format);
  recorder.copy(stored, made);
  return made;
}

const conv2d: Rule<'conv2d'> = (scope, { inputs, outputs, attributes }) => {
  const { recorder } = scope;
  const [x, weight, bias] = inputs as [Value, Value, Value?];
  const shapes = convolution(scope.shape(x), scope.shape(weight), scope.shape(outputs[0]!), attributes);
  const biases = bias === undefined ? undefined : scope.read(bias);
  const described = forward(scope, shapes, biases?.format);
  recorder.execute('conv2d', described, {
    src: scope.read(x, recorder.wanted(described, 'src')),
    weights: scope.read(weight, recorder.wanted(described, 'weights')),
    ...(biases && { bias: biases }),
    dst: scope.target(outputs[0]!, recorder.wanted(described, 'dst')),
  });
};

const convGradInput: Rule<'convGradInput'> = (scope, { inputs, outputs, attributes }) => {
  const { recorder } = scope;
  const { formats } = recorder;
  const [dy, weight] = inputs as [Value, Value];
  const shapes = convolution(attributes.shape, scope.shape(weight), scope.shape(dy), attributes);
  const described = recorder.describe(
    'convolutionBackwardData',
    {
      diffSrc: formats.any(shapes.x),
      weights: formats.any(shapes.weight),
      diffDst: formats.any(shapes.y),
      ...shapes.window,
    },
    { hint: forward(scope, shapes) },
  );
  recorder.execute('convGradInput', described, {
    diffDst: scope.read(dy, recorder.wanted(described, 'diffDst')),
    weights: scope.read(weight, recorder.wanted(described, 'weights')),
    diffSrc: scope.target(outputs[0]!, recorder.wanted(described, 'diffSrc')),
  });
};

/** Images with zeros for the channels that they lack of three. */
function threeChannels(scope: Scope, x: Value): Stored {
  const { recorder } = scope;
  const shape = scope.shape(x).with(1, 3);
  const images = recorder.literal(shape, new Float32Array(sizeOf(shape)));
  const given = recorder.formats.part(images.format, scope.shape(x), [0, 0, 0, 0])!;
  recorder.copy(scope.current(x), recorder.as(images, given));
  return images;
}

/** The gradient by the weight, and by the bias where it is asked for. */
export function convGradWeight(
  scope: Scope,
  { inputs, outputs, attributes }: Node<'convGradWeight'>,
  biasGradient?: Value,
): void {
  const { recorder } = scope;
  const { formats } = recorder;
  const [dy, x] = inputs as [Value, Value];
  const bias = biasGradient === undefined ? undefined : scope.target(biasGradient);
  const describe = (shapes: Shapes) =>
    recorder.describe(
      'convolutionBackwardWeights',
      {
        src: formats.any(shapes.x),
        diffWeights: formats.any(shapes.weight),
        diffBias: bias?.format,
        diffDst: formats.any(shapes.y),
        ...shapes.window,
      },
      { hint: forward(scope, shapes) },
    );
  const own = convolution(scope.shape(x), attributes.shape, scope.shape(dy), attributes);
  const usual = describe(own);
  const usualSrc = recorder.wanted(usual, 'src');
  // AVX2's kernel fills one or two channels up to eight, but takes three as they are.
  const few = attributes.groups === 1 && own.x[1]! < 3 && formats.channelsOf(usualSrc)?.width === 8;
  const shapes = few ? convolution(own.x.with(1, 3), own.weight.with(1, 3), own.y, attributes) : own;
  const described = few ? describe(shapes) : usual;
  // Parameters are plain, and so is whatever meets them.
  const wanted = recorder.wanted(described, 'diffWeights');
  const plain = formats.plain(own.weight);
  const direct = formats.same(wanted, plain);
  const target = recorder.as(scope.target(outputs[0]!), plain);
  const written = direct ? target : recorder.arena(wanted);
  recorder.execute('convGradWeight', described, {
    src: few ? inFormat(scope, threeChannels(scope, x), recorder.wanted(described, 'src')) : scope.read(x, usualSrc),
    diffDst: scope.read(dy, recorder.wanted(described, 'diffDst')),
    diffWeights: written,
    ...(bias && { diffBias: bias }),
  });
  if (few) {
    const all = inFormat(scope, written, formats.plain(shapes.weight));
    recorder.copy(recorder.as(all, formats.part(all.format, own.weight, [0, 0, 0, 0])!), target);
  } else if (!direct) recorder.copy(written, target);
}

const windowKey = (window: Window | undefined) => [window?.kernel, window?.stride, window?.padding];

/** Appends the forward pass and keeps what its gradient needs. */
function pool(
  scope: Scope,
  op: 'maxPool' | 'avgPool',
  src: Stored,
  window: Window,
  shape: Shape,
  target: (format: Format) => Stored,
): Kept {
  const { recorder } = scope;
  const described = recorder.describe('pooling', {
    algorithm: op,
    src: src.format,
    dst: recorder.formats.any(shape),
    ...window,
  });
  const workspace = op === 'maxPool' ? recorder.arena(recorder.wanted(described, 'workspace')) : undefined;
  const dst = target(recorder.wanted(described, 'dst'));
  recorder.execute(op, described, { src, dst, ...(workspace && { workspace }) });
  return { described, src, workspace, window };
}

const poolForward: Rule<'maxPool' | 'avgPool'> = (scope, { op, inputs, outputs, attributes }) => {
  const [x, y] = [inputs[0]!, outputs[0]!];
  const kept = pool(scope, op, scope.current(x), attributes, scope.shape(y), (format) => scope.target(y, format));
  scope.kept.set(y, kept);
};

function poolBackward(
  scope: Scope,
  op: 'maxPool' | 'avgPool',
  { described: hint, format, workspace }: { described: Described; format: Format; workspace?: Stored | undefined },
  dy: Value,
  dx: Value,
  window: Window,
): void {
  const { recorder } = scope;
  const dstFormat = recorder.wanted(hint, 'dst');
  const described = recorder.describe(
    'poolingBackward',
    { algorithm: op, diffSrc: format, diffDst: dstFormat, ...window },
    { hint },
  );
  recorder.execute(`${op}Grad`, described, {
    diffDst: scope.read(dy, dstFormat),
    diffSrc: scope.target(dx, format),
    ...(workspace && { workspace }),
  });
}

const maxPoolGrad: Rule<'maxPoolGrad'> = (scope, { inputs, outputs, attributes }) => {
  const [dy, x, y] = inputs as [Value, Value, Value];
  const given = scope.kept.get(y);
  const fits =
    given?.workspace !== undefined &&
    given.src.place === scope.current(x).place &&
    JSON.stringify(windowKey(given.window)) === JSON.stringify(windowKey(attributes));
  // Where each largest element was is known to the forward pass alone: without it, it is done again.
  const kept = fits
    ? given
    : pool(scope, 'maxPool', scope.current(x), attributes, scope.shape(y), (format) => scope.recorder.arena(format));
  poolBackward(scope, 'maxPool', { ...kept, format: kept.src.format }, dy, outputs[0]!, attributes);
};

const avgPoolGrad: Rule<'avgPoolGrad'> = (scope, { inputs, outputs, attributes }) => {
  const { recorder } = scope;
  const { formats } = recorder;
  const dy = inputs[0]!;
  const { shape } = attributes;
  const given = scope.layout(dy);
  const format = given === undefined || formats.isPlain(given) ? formats.plain(shape) : imageFormat(scope, shape);
  const described = recorder.describe('pooling', {
    algorithm: 'avgPool',
    src: format,
    dst: formats.any(scope.shape(dy)),
    ...attributes,
  });
  poolBackward(scope, 'avgPool', { described, format }, dy, outputs[0]!, attributes);
};

/** [n, c, h, w] → [n, c] for images that are not plain: a pooling over all of each; false where it does not apply. */
export function spatialSum(scope: Scope, x: Value, y: Value): boolean {
  const { recorder } = scope;
  const src = scope.current(x);
  if (recorder.formats.isPlain(src.format)) return false;
  const [n, channels, height, width] = scope.shape(x) as [number, number, number, number];
  const window = { kernel: [height, width], stride: [1, 1], padding: [0, 0] } as const;
  let means: Stored | undefined;
  pool(scope, 'avgPool', src, window, [n, channels, 1, 1], (format) => {
    means = recorder.arena(format);
    return means;
  });
  const plain = recorder.plain([n, channels, 1, 1]);
  recorder.copy(means!, plain);
  const flat = recorder.formats.plain([n * channels]);
  recorder.binary(
    'mul',
    recorder.as(plain, flat),
    recorder.constant([1], sizeOf([height, width])),
    recorder.as(scope.target(y), flat),
  );
  return true;
}

export const windows: Rules<WindowOp> = {
  conv2d,
  convGradInput,
  convGradWeight: (scope, node) => convGradWeight(scope, node),
  maxPool: poolForward,
  maxPoolGrad,
  avgPool: poolForward,
  avgPoolGrad,
};
