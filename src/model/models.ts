import { z } from 'zod';
import type { DeepReadonly } from '../base/schema.ts';
import { cnn, cnnSchema } from './cnn.ts';
import type { Model, Task } from './context.ts';
import { densenet100, densenet100Schema } from './densenet.ts';
import { gpt, gptSchema } from './gpt.ts';
import { labelsType } from './loss.ts';
import { lstm, lstmSchema } from './lstm.ts';
import { mlp, mlpSchema } from './mlp.ts';
import { onnxModel, onnxSchema, tokensOfFile } from './onnx.ts';
import { resnet, resnetSchemas } from './resnet.ts';
import { vit, vitSchema } from './vit.ts';

/** Every model an experiment can name: a new one adds its file, its schema here and its row below. */
export const modelSchema = z.discriminatedUnion('kind', [
  mlpSchema,
  cnnSchema,
  ...resnetSchemas,
  densenet100Schema,
  lstmSchema,
  gptSchema,
  vitSchema,
  onnxSchema,
]);
export type ModelSettings = DeepReadonly<z.output<typeof modelSchema>>;
export type ModelKind = ModelSettings['kind'];

interface Row<Kind extends ModelKind> {
  build(settings: Extract<ModelSettings, { kind: Kind }>, task: Task): Model;
  /** The data it is usually trained on: what it is built for where no data are given. */
  readonly task: Task;
  /** How many tokens it reads at a time, if it is a language model. */
  tokens?(settings: Extract<ModelSettings, { kind: Kind }>): number | undefined;
}

const mnist: Task = { shape: [1, 28, 28], classes: 10 };
const cifar10: Task = { shape: [3, 32, 32], classes: 10 };
const imageNet: Task = { shape: [3, 224, 224], classes: 1000 };
const wikitext2: Task = { shape: [], classes: 33_278 };
const shakespeare: Task = { shape: [], classes: 65 };

const models: { readonly [K in ModelKind]: Row<K> } = {
  mlp: { build: mlp, task: mnist },
  cnn: { build: cnn, task: mnist },
  resnet20: { build: resnet, task: cifar10 },
  resnet32: { build: resnet, task: cifar10 },
  resnet44: { build: resnet, task: cifar10 },
  resnet56: { build: resnet, task: cifar10 },
  resnet18: { build: resnet, task: imageNet },
  resnet50: { build: resnet, task: imageNet },
  densenet100: { build: densenet100, task: cifar10 },
  lstm: { build: lstm, task: wikitext2, tokens: ({ bptt }) => bptt },
  gpt: { build: gpt, task: shakespeare, tokens: ({ context }) => context },
  vit: { build: vit, task: cifar10 },
  onnx: { build: onnxModel, task: cifar10, tokens: tokensOfFile },
};

export const modelKinds = Object.keys(models) as ModelKind[];

export const usualTask = (kind: ModelKind): Task => models[kind].task;

/** How many tokens a language model reads at a time; undefined for other models. */
export const tokensOf = (settings: ModelSettings): number | undefined =>
  (models[settings.kind] as Row<ModelKind>).tokens?.(settings as never);

/** The model that settings describe, for the data at hand. */
export function buildModel(settings: ModelSettings, task: Task = usualTask(settings.kind)): Model {
  const model = (models[settings.kind] as Row<ModelKind>).build(settings as never, task);
  const { kind, classes } = task;
  if (kind === undefined || kind === 'classification') return model;
  const batch = (size: number) => ({ x: model.batch(size).x, labels: labelsType(kind, size, classes) });
  return { ...model, task: kind, batch };
}
