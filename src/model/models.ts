import { z } from 'zod';
import { cnn, cnnSchema } from './cnn.ts';
import type { Model } from './context.ts';
import { mlp, mlpSchema } from './mlp.ts';

/** Every model: a new one adds its file, its schema here and its row below. */
export const modelSchema = z.discriminatedUnion('kind', [mlpSchema, cnnSchema]);
export type ModelSettings = z.infer<typeof modelSchema>;

const models: { readonly [K in ModelSettings['kind']]: (settings: Extract<ModelSettings, { kind: K }>) => Model } = {
  mlp,
  cnn,
};

/** The model that settings describe. */
export function buildModel(settings: ModelSettings): Model {
  return (models[settings.kind] as (settings: ModelSettings) => Model)(settings);
}
