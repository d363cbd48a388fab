import { sizeOf } from '../../base/shape.ts';
import type { Node, Shape, Value } from '../../tensor/program.ts';
import type { Format } from '../format.ts';
import type { Link } from '../fuse.ts';
import type { PostOp, Stored } from '../recorder.ts';
import type { Scope } from '../scope.ts';
import type { Rule, Rules } from './rule.ts';

type Binary = 'add' | 'sub' | 'mul' | 'div' | 'minimum' | 'maximum';
type Activation = 'sqrt' | 'relu' | 'tanh' | 'sigmoid' | 'gelu';
type Backward = 'reluGrad' | 'tanhGrad' | 'sigmoidGrad' | 'geluGrad';

const single: Readonly<Record<Binary | 'sqrt' | 'relu', (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  minimum: Math.min,
  maximum: Math.max,
  sqrt: Math.sqrt,
  relu: (a) => Math.max(0, a),
};

/** On single numbers: a call of the library would take longer than the sum. */
function scalar(scope: Scope, { op, inputs, outputs }: Node): void {
  const f = single[op as keyof typeof single];
  const operands = inputs.map((value) => scope.read(value));
  const dst = scope.target(outputs[0]!);
  scope.recorder.script(op, [...operands, dst], ({ view }) => {
    const [a, b, y] = [view(operands[0]!), view(operands.at(-1)!), view(dst)];
    return () => {
      y()[0] = f(a()[0]!, b()[0]!);
    };
  });
}

/** The format in which tensors of one shape meet: that of the first which is not plain; a flat one where all are. */
function meeting(scope: Scope, shape: Shape, values: readonly Value[]): Format {
  const { formats } = scope.recorder;
  const whole = values.filter((value) => String(scope.shape(value)) === String(shape));
  const special = whole
    .map((value) => scope.layout(value))
    .find((format) => format !== undefined && !formats.isPlain(format));
  if (special !== undefined) return special;
  const flat = values.every((value) => scope.size(value) === 1 || whole.includes(value));
  return formats.plain(flat ? [sizeOf(shape)] : shape);
}

/** An operand in that format; with axes of size 1 where it is repeated. */
function operandIn(scope: Scope, value: Value, shape: Shape, format: Format): Stored {
  const { recorder } = scope;
  if (String(scope.shape(value)) === String(shape)) return scope.read(value, format);
  const axes = format.shape.length;
  const own = scope.shape(value);
  const padded = scope.size(value) === 1 ? Array(axes).fill(1) : [...Array(axes - own.length).fill(1), ...own];
  return recorder.as(scope.read(value), recorder.formats.plain(padded));
}

/** Where the result goes, seen in that format. */
function targetIn(scope: Scope, value: Value, format: Format): Stored {
  const { recorder } = scope;
  const special = !recorder.formats.isPlain(format);
  return special ? scope.target(value, format) : recorder.as(scope.target(value), format);
}

function postOps(scope: Scope, links: readonly Link[], shape: Shape, format: Format): PostOp[] {
  return links.flatMap(({ node, operand, reversed }): PostOp[] => {
    if (operand === undefined) return [{ kind: 'eltwise', algorithm: node.op as Activation }];
    const binary = (op: Binary): PostOp => ({
      kind: 'binary',
      algorithm: op,
      operand: operandIn(scope, operand, shape, format),
    });
    if (node.op === 'sub' && reversed) return [{ kind: 'eltwise', algorithm: 'linear', alpha: -1 }, binary('add')];
    return [binary(node.op as Binary)];
  });
}

/** A binary op and what follows it, in one pass. */
export function binaryChain(scope: Scope, head: Node, links: readonly Link[]): void {
  const result = (links.at(-1)?.node ?? head).outputs[0]!;
  if (scope.size(result) === 1) {
    scalar(scope, head);
    return;
  }
  const { recorder } = scope;
  const shape = scope.shape(head.outputs[0]!);
  const others = links.flatMap(({ operand }) => operand ?? []);
  const [a, b] = head.inputs as [Value, Value];
  const isWhole = (value: Value) => String(scope.shape(value)) === String(shape);
  // The library repeats the second operand faster than the first.
  const swap = !isWhole(a) && isWhole(b) && head.op !== 'sub' && head.op !== 'div';
  const [x, y] = swap ? [b, a] : [a, b];
  const format = meeting(scope, shape, [a, b, ...others]);
  let first: Stored;
  if (isWhole(x)) first = scope.read(x, format);
  else {
    first = recorder.arena(recorder.formats.plain(shape));
    recorder.copy(scope.repeated(x, shape), first);
    first = asFormat(scope, first, format);
  }
  const second = operandIn(scope, y, shape, format);
  const posts = postOps(scope, links, shape, format);
  recorder.binary(head.op as Binary, first, second, targetIn(scope, result, format), posts);
}

/** A plain tensor in another format. */
function asFormat(scope: Scope, plain: Stored, format: Format): Stored {
  const { recorder } = scope;
  if (recorder.formats.isPlain(format)) return recorder.as(plain, format);
  const made = recorder.arena(format);
  recorder.copy(plain, made);
  return made;
}

export function combination(scope: Scope, value: Value, terms: ReadonlyMap<Value, number>): void {
  const format = meeting(scope, scope.shape(value), [...terms.keys()]);
  const sources = [...terms].map(([term, factor]) => [scope.read(term, format), factor] as const);
  const { recorder } = scope;
  const [scaled, plain] = sources.toSorted(([, a], [, b]) => Number(a === 1) - Number(b === 1));
  const dst = targetIn(scope, value, format);
  // The library sums in narrow vectors and in one pass per source; a product and what is added to it are one pass, with the same bits.
  if (sources.length === 2 && plain![1] === 1) {
    const factor = recorder.constant(
      format.shape.map(() => 1),
      scaled![1],
    );
    recorder.binary('mul', scaled![0], factor, dst, [{ kind: 'binary', algorithm: 'add', operand: plain![0] }]);
  } else recorder.combine(sources, dst);
}

export const activationPosts = (links: readonly Link[]): PostOp[] =>
  links.map(({ node }) => ({ kind: 'eltwise', algorithm: node.op as Activation }));

const activation: Rule<Activation> = (scope, node) => {
  const [x] = node.inputs as [Value];
  const { recorder } = scope;
  if (scope.size(x) === 1 && node.op in single) {
    scalar(scope, node);
    return;
  }
  const format = meeting(scope, scope.shape(x), [x]);
  recorder.activation(node.op, scope.read(x, format), targetIn(scope, node.outputs[0]!, format));
};

const backwardAlgorithm = {
  reluGrad: 'reluFromOutput',
  tanhGrad: 'tanhFromOutput',
  sigmoidGrad: 'sigmoidFromOutput',
  geluGrad: 'gelu',
} as const;

const backward: Rule<Backward> = (scope, node) => {
  const [dy, other] = node.inputs as [Value, Value];
  const { recorder } = scope;
  const format = meeting(scope, scope.shape(dy), [other, dy]);
  const operation = { algorithm: backwardAlgorithm[node.op], data: format };
  const hint = recorder.describe('eltwise', operation);
  const described = recorder.describe('eltwiseBackward', operation, { hint });
  const given = scope.read(other, format);
  recorder.execute(node.op, described, {
    ...(node.op === 'geluGrad' ? { src: given } : { dst: given }),
    diffDst: scope.read(dy, format),
    diffSrc: targetIn(scope, node.outputs[0]!, format),
  });
};

const binary: Rule<Binary> = (scope, node) => binaryChain(scope, node, []);

export const elementwise: Rules<
  Binary | Activation | Backward | 'oneMinusPower' | 'constant' | 'literal' | 'squaredNorm'
> = {
  constant: (scope, { attributes, outputs }) =>
    scope.define(outputs[0]!, scope.recorder.constant(attributes.shape, attributes.value)),
  literal: (scope, { attributes, outputs }) =>
    scope.define(outputs[0]!, scope.recorder.literal(attributes.shape, attributes.values)),
  add: binary,
  sub: binary,
  mul: binary,
  div: binary,
  minimum: binary,
  maximum: binary,
  sqrt: activation,
  relu: activation,
  reluGrad: backward,
  tanh: activation,
  tanhGrad: backward,
  sigmoid: activation,
  sigmoidGrad: backward,
  gelu: activation,
  geluGrad: backward,
  // A step count, once per step.
  oneMinusPower: (scope, { inputs, outputs, attributes }) => {
    const [x, y] = [scope.read(inputs[0]!), scope.target(outputs[0]!)];
    const log = Math.log(attributes.base);
    scope.recorder.script('oneMinusPower', [x, y], ({ view }) => {
      const [from, to] = [view(x), view(y)];
      return () => {
        const [source, target] = [from(), to()];
        for (let i = 0; i < source.length; i++) target[i] = -Math.expm1(source[i]! * log);
      };
    });
  },
  squaredNorm: (scope, { inputs, outputs }) => {
    const { recorder } = scope;
    const { formats } = recorder;
    const size = scope.size(inputs[0]!);
    const x = recorder.as(scope.read(inputs[0]!), formats.plain([size]));
    const squares = recorder.plain([size]);
    recorder.binary('mul', x, x, squares);
    sumAll(scope, squares, size, scope.target(outputs[0]!));
  },
};

/** Longer sums are made in two steps, for float32 loses too much in one. */
const longSum = 4096;

/** Over all elements of a tensor. */
export function sumAll(scope: Scope, x: Stored, size: number, dst: Stored): void {
  const { recorder } = scope;
  const rows = Math.floor(size / longSum);
  if (rows < 2) {
    recorder.sumColumns(x, 1, size, dst);
    return;
  }
  const { formats } = recorder;
  const rest = size - rows * longSum;
  const sums = recorder.plain([rows + (rest > 0 ? 1 : 0)]);
  recorder.sumColumns(x, rows, longSum, sums);
  if (rest > 0) {
    const tail = recorder.from(x, rows * longSum, formats.plain([rest]));
    recorder.sumColumns(tail, 1, rest, recorder.from(sums, rows, formats.plain([1])));
  }
  recorder.sumColumns(sums, 1, rows + (rest > 0 ? 1 : 0), dst);
}
