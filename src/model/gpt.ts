import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { add, embedding as lookUp, matmul, reshape } from '../tensor/operations.ts';
import { i32 } from '../tensor/program.ts';
import type { Model, Task } from './context.ts';
import { layerNorm } from './layers.ts';
import { filled, normal } from './layout.ts';
import { block } from './transformer.ts';

export const gptSchema = z
  .strictObject({
    kind: z.literal('gpt').describe('a decoder-only transformer: characters or words in, the next one out'),
    layers: z.int().min(1).default(4).describe('blocks of attention and two dense layers'),
    heads: z.int().min(1).default(4).describe('of each attention'),
    width: z.int().min(1).default(128).describe('of every token; a multiple of the heads'),
    context: z.int().min(1).default(64).describe('tokens that are read at a time'),
    dropout: z
      .number()
      .min(0)
      .lt(1)
      .default(0.1)
      .describe('of embeddings, attention and what each layer adds, in training'),
  })
  .refine(({ width, heads }) => width % heads === 0, { path: ['width'], error: 'must be a multiple of "heads"' });
type Settings = z.infer<typeof gptSchema>;

/**
 * GPT-2 in any size: learned positions, norms before the layers, exact gelu, the head shares the table of embeddings. As there, weights
 * start at N(0, .02²), those that add to what passes through smaller by √(2 · layers). Radford et al., "Language models are unsupervised
 * multitask learners", 2019. x and labels are [time, batch] tokens, labels one step ahead. Perplexity is exp(mean loss).
 */
export function gpt({ kind, layers, heads, width, context: time, dropout }: Settings, task: Task): Model {
  const { shape, classes: words } = task;
  if (shape.length > 1 || (shape.length === 1 && shape[0] !== time))
    throw new UserError(`${kind} needs text: samples of one token each, or of context = ${time}; got [${shape}]`, {
      hint: 'use data such as shakespeare or wikitext-2, or another model',
    });
  const weights = normal(0.02);
  const residual = normal(0.02 / Math.sqrt(2 * layers));
  const options = {
    heads,
    hidden: 4 * width,
    causal: true,
    dropout,
    epsilon: 1e-5,
    names: {
      norm1: 'ln_1',
      attention: 'attn.c_attn.',
      projection: 'attn.c_proj',
      norm2: 'ln_2',
      expand: 'mlp.c_fc',
      contract: 'mlp.c_proj',
    },
    inits: { attention: weights, projection: residual, expand: weights, contract: residual, bias: filled(0) },
  } as const;
  return {
    kind,
    shared: { 'lm_head.weight': 'transformer.wte.weight' },
    batch: (sequences) => ({ x: i32(time, sequences), labels: i32(time, sequences) }),
    forward(context, x) {
      const batch = x.shape[1]!;
      const table = context.param('transformer.wte.weight', [words, width], weights, 'embedding');
      const positions = context.param('transformer.wpe.weight', [time, width], weights, 'embedding');
      const placed = add(lookUp(table, x), reshape(positions, [time, 1, width]));
      let y = context.dropout(reshape(placed, [time * batch, width]), dropout);
      for (let i = 0; i < layers; i++)
        y = block(context, `transformer.h.${i}`, y, { time, batch, timeFirst: true }, options);
      return matmul(layerNorm(context, 'transformer.ln_f', y), table, { transposeB: true });
    },
  };
}
