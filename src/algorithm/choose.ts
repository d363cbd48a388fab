import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { parse } from '../base/schema.ts';
import { type CompressorSettings, compressorSchema, type RowCompressor, rowCompressor } from './compressors.ts';
import { type Method, type MethodPlace, type Plan, planOf, type Site } from './method.ts';
import { findMethod, methods } from './methods.ts';
import { methodFrom, ownAlgorithmSchema, ownMethodSchema } from './own.ts';

/** The settings of one method, as in an experiment file. */
function schemaOf(method: Method) {
  return z.strictObject({
    kind: z.enum([method.name, ...(method.aliases ?? [])]).describe(method.summary),
    ...method.settings,
    ...(method.compresses ? { compressor: compressorSchema.prefault({ kind: 'top-k' }) } : {}),
  });
}

type Member = ReturnType<typeof schemaOf>;

/** How replicas step and average: one of the methods, with its settings. */
export const algorithmSchema = z.discriminatedUnion('kind', [
  ...methods.map(schemaOf),
  // Its own settings are not known here.
  ownAlgorithmSchema as unknown as Member,
] as unknown as [Member, ...Member[]]);
export type AlgorithmSettings = Readonly<z.output<typeof algorithmSchema>>;

const plans = new Map<string, Plan>();

/** The method that an experiment names, with its settings; made once for each, and for each site if it has edges. */
export function planFor(algorithm: AlgorithmSettings, site?: Site): Plan {
  const { kind, compressor: _, ...settings } = algorithm as AlgorithmSettings & { readonly compressor?: unknown };
  const key = JSON.stringify([kind, settings, site]);
  const plan =
    plans.get(key) ?? (kind === 'module' ? ownPlan(settings, site) : planOf(findMethod(kind), settings, site));
  plans.set(key, plan);
  return plan;
}

function ownPlan({ path, method }: { readonly path?: string; readonly method?: unknown }, site?: Site): Plan {
  if (method === undefined) throw new UserError(`the module ${path} has not been read`);
  return planOf(methodFrom(parse(ownMethodSchema, method, `the method of ${path}`)), {}, site);
}

/** With the settings that follow from where it runs. */
export function filledFor<T extends AlgorithmSettings>(algorithm: T, place: MethodPlace): T {
  const { kind, ...settings } = algorithm;
  if (kind === 'module') return algorithm;
  const { fill } = findMethod(kind);
  return fill === undefined ? algorithm : ({ kind, ...fill(settings, place) } as T);
}

/** What it is called in messages. */
export const nameOf = (algorithm: AlgorithmSettings): string =>
  algorithm.kind === 'module' ? planFor(algorithm).method.name : algorithm.kind;

/** What makes its messages shorter, if they are; for rows whose tensors begin at `offsets`, which end where the last one does. */
export function compressorFor(algorithm: AlgorithmSettings, offsets: readonly number[]): RowCompressor | undefined {
  const { compressor } = algorithm as AlgorithmSettings & { readonly compressor?: CompressorSettings };
  return compressor && rowCompressor(compressor, offsets);
}
