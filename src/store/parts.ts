import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/error.ts';
import { parseJson, readText, writeWhole } from '../base/file.ts';
import { type DeepReadonly, problemsOf } from '../base/schema.ts';
import type { Dealt } from '../engine/feed.ts';
import { type Experiment, runSchema } from '../experiment/schema.ts';
import { contextSchema, type MachineContext, runFormat } from './context.ts';

/** The files of a run's folder that are written as JSON, each read through its schema: what is missing is filled in, or refused. */

const whole = z.int().min(0);

/** How a run ended, written when it did. */
const resultSchema = z.object({
  status: z.enum(['complete', 'diverged', 'stopped']),
  step: whole,
  /** Why it diverged, or what it ended without. */
  reason: z.string().optional(),
  lost: z.array(z.object({ step: whole, rank: whole, replicas: z.array(whole) })).optional(),
  paramsSha256: z.string(),
  /** From start to end, interruptions left out. */
  seconds: z.number().min(0),
});
export type Result = DeepReadonly<z.output<typeof resultSchema>>;

function readPart<S extends z.ZodType>(folder: string, name: string, schema: S): z.output<S> {
  const path = join(folder, name);
  const content = parseJson(readText(path, 'file'));
  if (content === undefined) throw new UserError(`${path} is damaged: it is not JSON`);
  const parsed = problemsOf(schema, content);
  if ('problems' in parsed) throw new UserError(`${path} is damaged or of another version: ${parsed.problems[0]}`);
  return parsed.value;
}

export function writePart(folder: string, name: string, content: unknown): void {
  writeWhole(join(folder, name), `${JSON.stringify(content, null, 2)}\n`);
}

export function contextIn(folder: string): MachineContext {
  const context = readPart(folder, 'context.json', contextSchema);
  if (context.format > runFormat)
    throw new UserError(
      `${folder} was stored by dbench ${context.dbench} in format ${context.format}; this version reads up to ${runFormat}`,
      { hint: 'use a newer version of dbench' },
    );
  return context;
}

/** Settings that are newer than the run have their defaults. */
export function experimentIn(folder: string): Experiment {
  // First: a newer format is named as the reason, not one of its settings that this version does not know.
  contextIn(folder);
  return readPart(folder, 'experiment.json', runSchema);
}

/** What each replica learns from; told when the run begins, since the data may not be there later. */
const dealtSchema = z.object({ counts: z.array(z.array(whole)).nullable(), totals: z.array(whole) });

/** More numbers than these are not kept. */
const mostCounts = 2 ** 20;

export function writeDealt(folder: string, { counts, totals }: Dealt): void {
  const few = totals.length * (counts?.[0]?.length ?? 0) <= mostCounts;
  writeWhole(join(folder, 'dealt.json'), `${JSON.stringify({ counts: few ? counts : null, totals })}\n`);
}

/** Undefined of runs of earlier versions. */
export const dealtIn = (folder: string): Dealt | undefined =>
  existsSync(join(folder, 'dealt.json')) ? readPart(folder, 'dealt.json', dealtSchema) : undefined;

export const resultIn = (folder: string): Result | undefined =>
  existsSync(join(folder, 'result.json')) ? readPart(folder, 'result.json', resultSchema) : undefined;
