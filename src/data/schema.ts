import { z } from 'zod';
import type { DeepReadonly } from '../base/schema.ts';
import { sets } from './sets.ts';

/** The settings of every set, told apart by `kind`. */
type Schemas<Sets extends readonly unknown[]> = {
  [K in keyof Sets]: Sets[K] extends { readonly name: infer Name extends string; readonly settings: infer Shape }
    ? z.ZodObject<{ kind: z.ZodLiteral<Name> } & Shape, z.core.$strict>
    : never;
};

const schemas = sets.map((set) =>
  z.strictObject({ kind: z.literal(set.name).describe(set.summary), ...set.settings }),
) as unknown as Schemas<typeof sets>;

/** What an experiment may say about data: a row of sets.ts and its settings. */
export const dataSchema = z.discriminatedUnion('kind', schemas as unknown as [...Schemas<typeof sets>]);

export type DataSettings = DeepReadonly<z.output<typeof dataSchema>>;
