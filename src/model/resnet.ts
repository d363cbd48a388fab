import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { add, avgPool, globalAvgPool, maxPool, pad, relu } from '../tensor/operations.ts';
import { f32, i32 } from '../tensor/program.ts';
import type { Tensor } from '../tensor/trace.ts';
import { type Context, imageOf, type Model, type Task } from './context.ts';
import { batchNorm, conv, dense, groupNorm } from './layers.ts';
import { heNormal } from './layout.ts';

const settings = (width: number, groups: number) => ({
  width: z.int().min(1).default(width).describe('channels of the first stage; each later stage doubles them'),
  shortcut: z
    .enum(['projection', 'pad'])
    .default('projection')
    .describe('where a block changes the shape: 1×1 convolution with norm, or zeros for the new channels'),
  norm: z.enum(['batch', 'group']).default('batch').describe('normalisation layers'),
  groups: z.int().min(1).default(groups).describe('of the group norm'),
});

const cifar = <Kind extends string>(kind: Kind) =>
  z.strictObject({ kind: z.literal(kind).describe('residual network for CIFAR'), ...settings(16, 2) });
const imageNet = <Kind extends string>(kind: Kind) =>
  z.strictObject({ kind: z.literal(kind).describe('residual network for ImageNet'), ...settings(64, 32) });

export const resnetSchemas = [
  cifar('resnet20'),
  cifar('resnet32'),
  cifar('resnet44'),
  cifar('resnet56'),
  imageNet('resnet18'),
  imageNet('resnet50'),
] as const;
type Settings = z.infer<(typeof resnetSchemas)[number]>;

interface Plan {
  /** Blocks of each stage; the channels double and the sides halve from one to the next. */
  readonly blocks: readonly number[];
  readonly block: Block;
  readonly stem: Stem;
}

type Part = (x: Tensor, name: string) => Tensor;
/** What a block is made of, bound to the context and the settings. */
interface Parts {
  conv(name: string, x: Tensor, filters: number, kernel: number, stride?: number): Tensor;
  readonly norm: Part;
}

/** The residual branch of a block, and how many channels it gives for each of its width. */
interface Block {
  readonly expansion: number;
  branch(parts: Parts, name: string, x: Tensor, width: number, stride: number): Tensor;
}

interface Stem {
  /** The least side of an image. */
  readonly least: number;
  apply(parts: Parts, x: Tensor, width: number): Tensor;
}

const basic: Block = {
  expansion: 1,
  branch({ conv, norm }, name, x, width, stride) {
    const first = relu(norm(conv(`${name}.conv1`, x, width, 3, stride), `${name}.bn1`));
    return norm(conv(`${name}.conv2`, first, width, 3), `${name}.bn2`);
  },
};

/** 1×1, 3×3, 1×1; the stride sits in the 3×3 convolution, as in torchvision ("v1.5"). */
const bottleneck: Block = {
  expansion: 4,
  branch({ conv, norm }, name, x, width, stride) {
    const first = relu(norm(conv(`${name}.conv1`, x, width, 1), `${name}.bn1`));
    const second = relu(norm(conv(`${name}.conv2`, first, width, 3, stride), `${name}.bn2`));
    return norm(conv(`${name}.conv3`, second, 4 * width, 1), `${name}.bn3`);
  },
};

const small: Stem = {
  least: 4,
  apply: ({ conv, norm }, x, width) => relu(norm(conv('conv1', x, width, 3), 'bn1')),
};

const large: Stem = {
  least: 32,
  apply: ({ conv, norm }, x, width) =>
    maxPool(relu(norm(conv('conv1', x, width, 7, 2), 'bn1')), 3, { stride: 2, padding: 1 }),
};

const plans: Readonly<Record<Settings['kind'], Plan>> = {
  resnet20: { blocks: [3, 3, 3], block: basic, stem: small },
  resnet32: { blocks: [5, 5, 5], block: basic, stem: small },
  resnet44: { blocks: [7, 7, 7], block: basic, stem: small },
  resnet56: { blocks: [9, 9, 9], block: basic, stem: small },
  resnet18: { blocks: [2, 2, 2, 2], block: basic, stem: large },
  resnet50: { blocks: [3, 4, 6, 3], block: bottleneck, stem: large },
};

/**
 * Residual networks: He et al., "Deep residual learning for image recognition", 2015, with torchvision's names and
 * initialisation (He's over the fan-out).
 */
export function resnet(settings: Settings, task: Task): Model {
  const { kind, width, norm, groups } = settings;
  const { blocks, block, stem } = plans[kind];
  const image = imageOf(kind, task, stem.least);
  if (norm === 'group' && width % groups !== 0)
    throw new UserError(`${kind}: groups = ${groups} does not divide width = ${width}`, {
      hint: 'every group has the same number of channels',
    });
  return {
    kind,
    batch: (samples) => ({ x: f32(samples, ...image), labels: i32(samples) }),
    forward(context, x) {
      const parts = partsOf(context, settings);
      let y = stem.apply(parts, x, width);
      blocks.forEach((count, stage) => {
        for (let i = 0; i < count; i++) {
          const name = `layer${stage + 1}.${i}`;
          const stride = stage > 0 && i === 0 ? 2 : 1;
          const branch = block.branch(parts, name, y, width * 2 ** stage, stride);
          y = relu(add(branch, shortcut(parts, settings, name, y, branch.shape[1]!, stride)));
        }
      });
      return dense(context, 'fc', globalAvgPool(y), task.classes);
    },
  };
}

function partsOf(context: Context, { norm, groups }: Settings): Parts {
  return {
    conv: (name, x, filters, kernel, stride = 1) =>
      conv(context, name, x, filters, kernel, {
        stride,
        padding: (kernel - 1) / 2,
        bias: false,
        init: heNormal(filters * kernel * kernel),
      }),
    norm: (x, name) => (norm === 'batch' ? batchNorm(context, name, x) : groupNorm(context, name, x, groups)),
  };
}

/** The block's input, brought to the shape of its output. */
function shortcut(
  { conv, norm }: Parts,
  { shortcut }: Settings,
  name: string,
  x: Tensor,
  channels: number,
  stride: number,
): Tensor {
  const missing = channels - x.shape[1]!;
  if (missing === 0 && stride === 1) return x;
  if (shortcut === 'projection')
    return norm(conv(`${name}.downsample.0`, x, channels, 1, stride), `${name}.downsample.1`);
  // A pooling window of one pixel leaves out every other one.
  const before = Math.floor(missing / 2);
  return pad(stride === 1 ? x : avgPool(x, 1, { stride }), 1, before, missing - before);
}
