import { sizeOf } from '../../base/shape.ts';
import { dropBelow, saltFactors } from '../../tensor/mask.ts';
import type { Node, Shape, Value } from '../../tensor/program.ts';
import { rowMajor } from '../format.ts';
import type { Link } from '../fuse.ts';
import type { Stored } from '../recorder.ts';
import type { Scope } from '../scope.ts';
import { activationPosts, sumAll } from './elementwise.ts';
import type { Rule, Rules } from './rule.ts';
import { spatialSum } from './window.ts';

type Structure =
  | 'reshape'
  | 'transpose'
  | 'broadcast'
  | 'concat'
  | 'slice'
  | 'split'
  | 'pad'
  | 'sum'
  | 'matmul'
  | 'dropoutMask'
  | 'embedding'
  | 'embeddingGrad'
  | 'softmaxCrossEntropy'
  | 'softmaxCrossEntropyGrad'
  | 'topKCorrect';

/** A matrix product with its bias, and activations on its result. */
export function matmulChain(
  scope: Scope,
  { inputs, outputs, attributes }: Node<'matmul'>,
  links: readonly Link[],
): void {
  const { recorder } = scope;
  const { formats } = recorder;
  const matrix = (value: Value, transposed: boolean, columnwise: boolean): Stored => {
    const [rows, columns] = scope.shape(value) as [number, number];
    // Worth a copy where many rows are read.
    const stride = columnwise && rows >= 512 ? scope.rowStride(columns) : columns;
    const stored = scope.read(value, formats.strided([rows, columns], [stride, 1]));
    return transposed ? recorder.as(stored, formats.strided([columns, rows], [1, stride])) : stored;
  };
  const [a, b, bias] = inputs as [Value, Value, Value?];
  recorder.matmul(
    matrix(a, attributes.transposeA, attributes.transposeA),
    matrix(b, attributes.transposeB, !attributes.transposeB),
    scope.target((links.at(-1)?.node ?? { outputs }).outputs[0]!),
    bias === undefined ? undefined : recorder.as(scope.read(bias), recorder.formats.plain([1, scope.size(bias)])),
    activationPosts(links),
  );
}

/** Σ over axes, merged into blocks of axes that are kept and blocks that go. */
const sum: Rule<'sum'> = (scope, { inputs, outputs, attributes }) => {
  const [x] = inputs as [Value];
  const { recorder } = scope;
  const shape = scope.shape(x);
  if (shape.length === 4 && String(attributes.axes) === '2,3' && spatialSum(scope, x, outputs[0]!)) return;
  const dst = scope.target(outputs[0]!);
  const blocks: { size: number; goes: boolean }[] = [];
  shape.forEach((size, axis) => {
    const goes = attributes.axes.includes(axis);
    const last = blocks.at(-1);
    if (size === 1) return;
    if (last?.goes === goes) last.size *= size;
    else blocks.push({ size, goes });
  });
  let from = scope.read(x);
  if (!blocks.some(({ goes }) => goes)) return recorder.copy(recorder.as(from, dst.format), dst);
  while (blocks.some(({ goes }) => goes)) {
    // From the last block on: those behind it stay, those before it are repeated.
    const at = blocks.findLastIndex(({ goes }) => goes);
    const before = sizeOf(blocks.slice(0, at).map(({ size }) => size));
    const after = sizeOf(blocks.slice(at + 1).map(({ size }) => size));
    const { size } = blocks[at]!;
    blocks.splice(at, 1);
    const to = blocks.some(({ goes }) => goes) ? recorder.plain([before, after]) : dst;
    if (before === 1 && after === 1) sumAll(scope, from, size, to);
    else if (after === 1) recorder.sumColumns(from, before, size, to);
    else if (before === 1) recorder.sumRows(from, size, after, to);
    else
      recorder.matmul(
        recorder.constant([1, 1, size], 1),
        recorder.as(from, recorder.formats.plain([before, size, after])),
        recorder.as(to, recorder.formats.plain([before, 1, after])),
      );
    from = to;
  }
};

const part = (shape: Shape, axis: number, start: number) => shape.map((_, i) => (i === axis ? start : 0));

/** The elements from `start` on along an axis: a view, if possible of x as it was computed. */
function defineSlice(scope: Scope, x: Value, y: Value, axis: number, start: number): void {
  const { recorder } = scope;
  const offset = part(scope.shape(x), axis, start);
  const from = scope.current(x);
  const format = recorder.formats.part(from.format, scope.shape(y), offset);
  const plain = format === undefined ? scope.read(x) : from;
  const elements = format ?? recorder.formats.part(plain.format, scope.shape(y), offset)!;
  scope.defineView(y, recorder.as(plain, elements));
}

export const structure: Rules<Structure> = {
  reshape: (scope, { inputs, outputs, attributes }) => {
    const { recorder } = scope;
    scope.define(outputs[0]!, recorder.as(scope.read(inputs[0]!), recorder.formats.plain(attributes.shape)));
  },
  transpose: (scope, { inputs, outputs, attributes }) => {
    const { recorder } = scope;
    const shape = scope.shape(inputs[0]!);
    const strides = rowMajor(shape);
    const { permutation } = attributes;
    const format = recorder.formats.strided(
      permutation.map((axis) => shape[axis]!),
      permutation.map((axis) => strides[axis]!),
    );
    scope.defineView(outputs[0]!, recorder.as(scope.read(inputs[0]!), format));
  },
  broadcast: (scope, { inputs, outputs, attributes }) =>
    scope.defineView(outputs[0]!, scope.repeated(inputs[0]!, attributes.shape)),
  concat: (scope, { inputs, outputs, attributes: { axis } }) => {
    const { recorder } = scope;
    const sources = inputs.map((value) => scope.read(value));
    const dst = scope.target(outputs[0]!);
    // Whole blocks of memory are copied faster one by one.
    if (sizeOf(scope.shape(outputs[0]!).slice(0, axis)) > 1) return recorder.concat(sources, axis, dst);
    let start = 0;
    for (const source of sources) {
      recorder.copy(source, recorder.from(dst, start, source.format));
      start += sizeOf(source.format.shape);
    }
  },
  slice: (scope, { inputs, outputs, attributes }) => {
    defineSlice(scope, inputs[0]!, outputs[0]!, attributes.axis, attributes.start);
  },
  split: (scope, { inputs, outputs, attributes }) => {
    const [x] = inputs as [Value];
    const { axis, sizes } = attributes;
    // Parts along the first axis are whole blocks of memory.
    const whole = sizeOf(scope.shape(x).slice(0, axis)) === 1 ? scope.readArena(x) : undefined;
    let start = 0;
    outputs.forEach((y, i) => {
      if (whole === undefined) defineSlice(scope, x, y, axis, start);
      else {
        const from = (start * scope.size(x)) / scope.shape(x)[axis]!;
        scope.define(y, scope.recorder.from(whole, from, scope.recorder.formats.plain(scope.shape(y))));
      }
      start += sizes[i]!;
    });
  },
  pad: (scope, { inputs, outputs, attributes }) => {
    const { recorder } = scope;
    const [x, y] = [inputs[0]!, outputs[0]!];
    const dst = scope.target(y);
    recorder.copy(
      recorder.as(
        recorder.constant([1], 0),
        recorder.formats.strided(
          scope.shape(y),
          scope.shape(y).map(() => 0),
        ),
      ),
      dst,
    );
    const offset = part(scope.shape(y), attributes.axis, attributes.before);
    const inner = recorder.formats.part(dst.format, scope.shape(x), offset)!;
    const from = scope.current(x);
    recorder.copy(from, recorder.as(dst, inner));
  },
  sum,
  matmul: (scope, node) => matmulChain(scope, node, []),

  dropoutMask: (scope, { inputs, outputs, attributes }) => {
    const { recorder, kernel } = scope;
    const { rate, salt } = attributes;
    const [key, mask] = [scope.read(inputs[0]!), scope.arenaTarget(outputs[0]!)];
    const size = scope.size(outputs[0]!);
    recorder.script('dropoutMask', [key, mask], ({ view, offset }) => {
      const words = view(key);
      return () => {
        const a = (words()[0]! + Math.imul(salt, saltFactors[0])) | 0;
        const b = ((words()[1]! + Math.imul(salt, saltFactors[1])) | 0) << 1;
        kernel().dropoutMask(offset(mask), size, a, b, dropBelow(rate), 1 / (1 - rate));
      };
    });
  },

  embedding: (scope, { inputs, outputs }) => {
    const [table, indices] = inputs.map((value) => scope.read(value)) as [Stored, Stored];
    const y = scope.target(outputs[0]!);
    const width = scope.shape(inputs[0]!)[1]!;
    scope.recorder.script('embedding', [table, indices, y], ({ view }) => {
      const [rows, names, to] = [view(table), view(indices), view(y)];
      return () => {
        const [source, target] = [rows(), to()];
        names().forEach((row, i) => {
          target.set(source.subarray(row * width, (row + 1) * width), i * width);
        });
      };
    });
  },
  embeddingGrad: (scope, { inputs, outputs }) => {
    const { recorder, kernel } = scope;
    const dy = scope.readArena(inputs[0]!);
    const indices = scope.read(inputs[1]!);
    const dtable = scope.arenaTarget(outputs[0]!);
    const width = scope.shape(outputs[0]!)[1]!;
    recorder.script('embeddingGrad', [dy, indices, dtable], ({ view, offset }) => {
      const [names, table] = [view(indices), view(dtable)];
      return () => {
        table().fill(0);
        const { accumulate } = kernel();
        const [to, from] = [offset(dtable), offset(dy)];
        names().forEach((row, i) => {
          accumulate(to + 4 * row * width, from + 4 * i * width, width);
        });
      };
    });
  },

  softmaxCrossEntropy: (scope, { inputs, outputs }) => {
    const { recorder, kernel } = scope;
    const logits = scope.readArena(inputs[0]!);
    const labels = scope.read(inputs[1]!);
    const loss = scope.target(outputs[0]!);
    const logs = scope.arenaTarget(outputs[1]!);
    const classes = scope.shape(inputs[0]!)[1]!;
    recorder.script('softmaxCrossEntropy', [logits, labels, logs, loss], ({ view, offset }) => {
      const [names, to] = [view(labels), view(loss)];
      return () => {
        const [label, target] = [names(), to()];
        const { crossEntropy } = kernel();
        const [from, into] = [offset(logits), offset(logs)];
        for (let i = 0; i < target.length; i++)
          target[i] = crossEntropy(from + 4 * i * classes, into + 4 * i * classes, classes, label[i]!);
      };
    });
  },
  softmaxCrossEntropyGrad: (scope, { inputs, outputs }) => {
    const { recorder } = scope;
    const [dloss, logs, labels] = inputs.map((value) => scope.read(value)) as [Stored, Stored, Stored];
    const dlogits = scope.target(outputs[0]!);
    const [samples, classes] = scope.shape(outputs[0]!) as [number, number];
    recorder.activation('exp', logs, dlogits);
    recorder.binary('mul', dlogits, recorder.as(dloss, recorder.formats.plain([samples, 1])), dlogits);
    recorder.script('softmaxCrossEntropyGrad', [dloss, labels, dlogits], ({ view }) => {
      const [from, names, to] = [view(dloss), view(labels), view(dlogits)];
      return () => {
        const [source, label, target] = [from(), names(), to()];
        for (let i = 0; i < samples; i++) target[i * classes + label[i]!]! -= source[i]!;
      };
    });
  },
  topKCorrect: (scope, { inputs, outputs, attributes }) => {
    const { recorder, kernel } = scope;
    const logits = scope.readArena(inputs[0]!);
    const labels = scope.read(inputs[1]!);
    const correct = scope.target(outputs[0]!);
    const classes = scope.shape(inputs[0]!)[1]!;
    recorder.script('topKCorrect', [logits, labels, correct], ({ view, offset }) => {
      const [names, to] = [view(labels), view(correct)];
      return () => {
        const [label, target] = [names(), to()];
        const { rankOf } = kernel();
        const from = offset(logits);
        for (let i = 0; i < target.length; i++)
          target[i] = rankOf(from + 4 * i * classes, classes, label[i]!) < attributes.k ? 1 : 0;
      };
    });
  },
};
