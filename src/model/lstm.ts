import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { embedding as lookUp, lstm as lstmLayer, matmul, reshape } from '../tensor/operations.ts';
import { i32 } from '../tensor/program.ts';
import type { Tensor } from '../tensor/trace.ts';
import type { Context, Model, Task } from './context.ts';
import { fanInUniform, filled, uniform } from './layout.ts';

export const lstmSchema = z
  .strictObject({
    kind: z.literal('lstm').describe('a language model: words in, the next word out'),
    layers: z.int().min(1).default(3).describe('LSTM layers'),
    hidden: z.int().min(1).default(650).describe('width of every layer'),
    embedding: z.int().min(1).optional().describe('width of the word vectors; that of the layers unless given'),
    tied: z.boolean().default(true).describe('the decoder uses the embedding table'),
    dropout: z.number().min(0).lt(1).default(0.4).describe('of word vectors and of every layer’s output, in training'),
    bptt: z.int().min(1).default(30).describe('time steps of one sample, and as far as gradients go back'),
  })
  .refine(({ tied, embedding, hidden }) => !tied || embedding === undefined || embedding === hidden, {
    path: ['embedding'],
    error: 'must equal "hidden" when the decoder is tied; leave it out or set tied to false',
  });
type Settings = z.infer<typeof lstmSchema>;

/**
 * The word language model of PyTorch's examples: x and labels are [time, batch] tokens, labels one step ahead. As there,
 * the hidden state of a batch is where the next one starts, without gradients through it: it is state of the step, one
 * row for each sequence of the batch, zero at the start of the text. Perplexity is exp(mean loss).
 *
 * Tied weights: Press & Wolf, "Using the output embedding to improve language models", 2017.
 */
export function lstm({ kind, layers, hidden, tied, dropout, bptt, ...rest }: Settings, task: Task): Model {
  const { embedding = hidden } = rest;
  const words = task.classes;
  if (task.shape.length > 1 || (task.shape.length === 1 && task.shape[0] !== bptt))
    throw new UserError(`${kind} needs text: samples of one token each, or of bptt = ${bptt}; got [${task.shape}]`, {
      hint: 'use data such as wikitext-2 or shakespeare, or another model',
    });

  const layer = (context: Context, x: Tensor, i: number): Tensor => {
    const [batch, width] = [x.shape[1]!, x.shape[2]!];
    const param = (name: string, shape: readonly number[], kind: 'weight' | 'bias') =>
      context.param(`rnn.${name}_l${i}`, shape, fanInUniform(hidden), kind);
    const weights = {
      weightInput: param('weight_ih', [4 * hidden, width], 'weight'),
      weightHidden: param('weight_hh', [4 * hidden, hidden], 'weight'),
      biasInput: param('bias_ih', [4 * hidden], 'bias'),
      biasHidden: param('bias_hh', [4 * hidden], 'bias'),
    };
    const before = (name: string) => context.state(`rnn.${name}_l${i}`, [batch, hidden], 0);
    const { y, h, c } = lstmLayer(x, before('h'), before('c'), weights);
    context.setState(`rnn.h_l${i}`, h);
    context.setState(`rnn.c_l${i}`, c);
    return context.dropout(y, dropout);
  };

  return {
    kind,
    sequential: true,
    shared: tied ? { 'decoder.weight': 'encoder.weight' } : {},
    batch: (sequences) => ({ x: i32(bptt, sequences), labels: i32(bptt, sequences) }),
    forward(context, x) {
      const table = context.param('encoder.weight', [words, embedding], uniform(0.1), 'embedding');
      let y = context.dropout(lookUp(table, x), dropout);
      for (let i = 0; i < layers; i++) y = layer(context, y, i);
      const decoder = tied ? table : context.param('decoder.weight', [words, hidden], uniform(0.1), 'weight');
      const bias = context.param('decoder.bias', [words], filled(0), 'bias');
      const rows = reshape(y, [x.shape[0]! * x.shape[1]!, hidden]);
      return matmul(rows, decoder, { transposeB: true, bias });
    },
  };
}
