import { add, batchMatmul, gelu, matmul, mul, reshape, softmax, split, transpose } from '../tensor/operations.ts';
import type { Tensor } from '../tensor/trace.ts';
import type { Context } from './context.ts';
import { layerNorm } from './layers.ts';
import { filled, type Init } from './layout.ts';

/** Tokens of several sequences, one after the other: [time · batch, width] or [batch · time, width]. */
export interface Sequences {
  readonly time: number;
  readonly batch: number;
  readonly timeFirst: boolean;
}

/** What the tensors of a block are called after the block itself; each has a weight and a bias. */
interface BlockNames {
  readonly norm1: string;
  /** With its separator, for PyTorch's own attention has an underscore there. */
  readonly attention: `${string}${'.' | '_'}`;
  readonly projection: string;
  readonly norm2: string;
  readonly expand: string;
  readonly contract: string;
}

interface BlockInits {
  readonly attention: Init;
  readonly projection: Init;
  readonly expand: Init;
  readonly contract: Init;
  /** Of the biases of the two layers between; all others start at 0. */
  readonly bias: Init;
}

export interface BlockOptions {
  readonly heads: number;
  /** Of the layer between. */
  readonly hidden: number;
  readonly causal: boolean;
  readonly dropout: number;
  readonly epsilon: number;
  readonly names: BlockNames;
  readonly inits: BlockInits;
}

function linear(context: Context, prefix: string, x: Tensor, outputs: number, init: Init, bias = filled(0)): Tensor {
  const weight = context.param(`${prefix}weight`, [outputs, x.shape[1]!], init, 'weight');
  return matmul(x, weight, { transposeB: true, bias: context.param(`${prefix}bias`, [outputs], bias, 'bias') });
}

/** Vaswani et al., "Attention is all you need", 2017: every token takes from those it sees, in each head by another measure. */
function attend(context: Context, name: string, x: Tensor, sequences: Sequences, options: BlockOptions): Tensor {
  const { time, batch, timeFirst } = sequences;
  const { heads, causal, dropout, names, inits } = options;
  const [tokens, width] = x.shape as [number, number];
  const size = width / heads;
  const all = linear(context, `${name}.${names.attention}`, x, 3 * width, inits.attention);
  const parts = reshape(all, [...(timeFirst ? [time, batch] : [batch, time]), 3, heads, size]);
  const perHead = transpose(parts, timeFirst ? [2, 1, 3, 0, 4] : [2, 0, 3, 1, 4]);
  const [query, key, value] = split(perHead, 0, [1, 1, 1]).map((part) => reshape(part, [batch * heads, time, size]));
  const scores = batchMatmul(mul(query!, 1 / Math.sqrt(size)), key!, { transposeB: true });
  const taken = batchMatmul(context.dropout(softmax(scores, causal), dropout), value!);
  const back = transpose(reshape(taken, [batch, heads, time, size]), timeFirst ? [2, 0, 1, 3] : [0, 2, 1, 3]);
  return linear(context, `${name}.${names.projection}.`, reshape(back, [tokens, width]), width, inits.projection);
}

/** Attention, then two layers on each token; both add to what passes through, and read a norm of it. */
export function block(context: Context, name: string, x: Tensor, sequences: Sequences, options: BlockOptions): Tensor {
  const { hidden, dropout, epsilon, names, inits } = options;
  const attended = attend(context, name, layerNorm(context, `${name}.${names.norm1}`, x, epsilon), sequences, options);
  const between = add(x, context.dropout(attended, dropout));
  const normal = layerNorm(context, `${name}.${names.norm2}`, between, epsilon);
  const wide = gelu(linear(context, `${name}.${names.expand}.`, normal, hidden, inits.expand, inits.bias));
  const narrow = linear(context, `${name}.${names.contract}.`, wide, x.shape[1]!, inits.contract, inits.bias);
  return add(between, context.dropout(narrow, dropout));
}
