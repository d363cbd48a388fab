import { z } from 'zod';
import type { DeepReadonly } from '../base/schema.ts';
import { cnn, cnnSchema } from './cnn.ts';
import type { Model, Task } from './context.ts';
import { mlp, mlpSchema } from './mlp.ts';

/** Every model an experiment can name: a new one adds its file, its schema here and its row below. */
export const modelSchema = z.discriminatedUnion('kind', [mlpSchema, cnnSchema]);
export type ModelSettings = DeepReadonly<z.output<typeof modelSchema>>;

interface Row<Kind extends ModelSettings['kind']> {
  build(settings: Extract<ModelSettings, { kind: Kind }>, task: Task): Model;
  /** The data it is usually trained on: what it is built for where no data are given. */
  readonly task: Task;
}

const mnist: Task = { shape: [1, 28, 28], classes: 10 };

const models: { readonly [K in ModelSettings['kind']]: Row<K> } = {
  mlp: { build: mlp, task: mnist },
  cnn: { build: cnn, task: mnist },
};

/** The model that settings describe, for the data at hand. */
export function buildModel(settings: ModelSettings, task: Task = models[settings.kind].task): Model {
  return (models[settings.kind] as Row<ModelSettings['kind']>).build(settings as never, task);
}
