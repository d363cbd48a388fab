import { z } from 'zod';
import { sha256Setting } from '../base/content.ts';
import { UserError } from '../base/error.ts';
import { operations } from '../base/formula.ts';
import { compressorSchema } from './compressors.ts';
import type { Method } from './method.ts';
import { type Need, requirements } from './needs.ts';
import { clockNames } from './stage.ts';

/** What a step's text gives a meaning of its own, and what stands beside the settings in an experiment. */
const reserved = new Set([
  ...['x', 'model', ...clockNames, 'every', 'at', 'if', 'first', 'last', 'else'],
  ...[
    'grad',
    'again',
    'T',
    'W',
    'A',
    'C',
    'pull',
    'pair',
    'mean',
    'norm',
    'spread',
    'centre',
    'common',
    'momentum',
    ...Object.keys(operations),
  ],
  ...['kind', 'path', 'sha256', 'compressor', 'method'],
]);

/** Names of rows, numbers and settings of a method of one's own: each once, and none that means something else. */
export function checkNames(names: readonly string[]): void {
  for (const [index, name] of names.entries()) {
    if (!/^[A-Za-z]\w*$/.test(name)) throw new UserError(`"${name}" is not a name that a formula can have`);
    if (reserved.has(name)) throw new UserError(`the name "${name}" is reserved; choose another one`);
    if (names.indexOf(name) < index) throw new UserError(`the name "${name}" is used twice`);
  }
}

const line = z.string().max(500);

/** A method that a module exported, with its settings filled in: plain data, so that nothing of the module runs again. */
export const ownMethodSchema = z.strictObject({
  name: z.string().regex(/^[\w.+-]+$/),
  title: line.optional(),
  summary: line.default('a method of yours'),
  paper: line.default(''),
  rows: z.record(z.string(), z.enum(['zero', 'x'])).default({}),
  numbers: z.record(z.string(), z.number()).default({}),
  model: line.optional(),
  needs: z.array(z.enum(Object.keys(requirements) as Need[])).default([]),
  scalars: z.record(z.string(), z.number()).default({}),
  step: z.string().min(1),
});
export type OwnMethod = z.output<typeof ownMethodSchema>;

/** As all other methods are. */
export const methodFrom = ({ title, step, scalars, model, ...rest }: OwnMethod): Method => ({
  ...rest,
  ...(model !== undefined && { model }),
  title: title ?? rest.name,
  settings: {},
  scalars: () => scalars,
  step: () => step,
});

/** `algorithm: { kind: module, path: ./mine.ts, … }`: its settings stand beside these, and are checked by the module. */
export const ownAlgorithmSchema = z.looseObject({
  kind: z.literal('module').describe('a TypeScript or JavaScript module of yours that exports a method'),
  path: z.string().min(1).describe('a module, counted from the folder of the experiment'),
  sha256: sha256Setting,
  compressor: compressorSchema.optional().describe('if it sends compressed messages'),
  method: z.record(z.string(), z.unknown()).optional().describe('what the module gave, filled in when a run starts'),
});
