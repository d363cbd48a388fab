import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { add, broadcast, concat, reshape, slice, transpose } from '../tensor/operations.ts';
import { f32, i32 } from '../tensor/program.ts';
import { imageOf, type Model, type Task } from './context.ts';
import { conv, dense, layerNorm } from './layers.ts';
import { filled, normal, uniform } from './layout.ts';
import { block } from './transformer.ts';

export const vitSchema = z
  .strictObject({
    kind: z.literal('vit').describe('a vision transformer: patches of an image as tokens'),
    patch: z.int().min(1).default(4).describe('side of a patch; it divides that of the image'),
    layers: z.int().min(1).default(6).describe('blocks of attention and two dense layers'),
    heads: z.int().min(1).default(4).describe('of each attention'),
    width: z.int().min(1).default(128).describe('of every token; a multiple of the heads'),
    hidden: z.int().min(1).optional().describe('width between the two dense layers; four times "width" unless given'),
    dropout: z.number().min(0).lt(1).default(0).describe('of embeddings and what each layer adds, in training'),
  })
  .refine(({ width, heads }) => width % heads === 0, { path: ['width'], error: 'must be a multiple of "heads"' });
type Settings = z.infer<typeof vitSchema>;

/** Glorot & Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010. */
const glorot = (inputs: number, outputs: number) => uniform(Math.sqrt(6 / (inputs + outputs)));

/**
 * Dosovitskiy et al., "An image is worth 16x16 words", 2021, with names and initial values as in torchvision, except that the head is not
 * zero at first. Its class is read from a token of its own.
 */
export function vit({ kind, patch, layers, heads, width, dropout, ...rest }: Settings, task: Task): Model {
  const { hidden = 4 * width } = rest;
  const image = imageOf(kind, task, patch);
  const [channels, height, columns] = image;
  if (height % patch !== 0 || columns % patch !== 0)
    throw new UserError(`${kind}: patches of ${patch}×${patch} do not divide images of ${height}×${columns}`, {
      hint: 'set model.patch to a divisor of both sides',
    });
  const patches = (height / patch) * (columns / patch);
  const time = patches + 1;
  const options = {
    heads,
    hidden,
    causal: false,
    dropout,
    epsilon: 1e-6,
    names: {
      norm1: 'ln_1',
      attention: 'self_attention.in_proj_',
      projection: 'self_attention.out_proj',
      norm2: 'ln_2',
      expand: 'mlp.0',
      contract: 'mlp.3',
    },
    inits: {
      attention: glorot(width, 3 * width),
      projection: uniform(1 / Math.sqrt(width)),
      expand: glorot(width, hidden),
      contract: glorot(hidden, width),
      bias: normal(1e-6),
    },
  } as const;
  return {
    kind,
    batch: (samples) => ({ x: f32(samples, ...image), labels: i32(samples) }),
    forward(context, x) {
      const batch = x.shape[0]!;
      const own = context.param('class_token', [1, 1, width], filled(0), 'embedding');
      const init = normal(Math.sqrt(1 / (channels * patch * patch)));
      const cut = conv(context, 'conv_proj', x, width, patch, { stride: patch, init });
      const tokens = transpose(reshape(cut, [batch, width, patches]), [0, 2, 1]);
      const all = concat([broadcast(own, [batch, 1, width]), tokens], 1);
      const positions = context.param('encoder.pos_embedding', [1, time, width], normal(0.02), 'embedding');
      let y = context.dropout(reshape(add(all, positions), [batch * time, width]), dropout);
      for (let i = 0; i < layers; i++)
        y = block(context, `encoder.layers.encoder_layer_${i}`, y, { time, batch, timeFirst: false }, options);
      const last = layerNorm(context, 'encoder.ln', y, 1e-6);
      const read = reshape(slice(reshape(last, [batch, time, width]), 1, 0, 1), [batch, width]);
      return dense(context, 'heads.head', read, task.classes, { biasInit: filled(0) });
    },
  };
}
