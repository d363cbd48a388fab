import { type MessagePort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { checkNames, ownMethodSchema } from '../algorithm/own.ts';
import { UserError } from '../base/error.ts';
import { parse } from '../base/schema.ts';
import { type OwnTopology, roundsOf } from '../topology/own.ts';
import type { ModuleAnswer, Question } from './load.ts';
import { javaScript } from './strip.ts';

/** Reads a user's module, asks it what is wanted, and answers with plain data. It runs in a thread of its own, which can be ended. */

const { question, flag, port } = workerData as { question: Question; flag: Int32Array; port: MessagePort };
type Data = Readonly<Record<string, unknown>>;
const isData = (value: unknown): value is Data => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a module throws, in one line, with the line of the module if it is known. */
function thrown(error: unknown): string {
  const { message, stack, code } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  const foreign = /module specifier "(.*?)"/.exec(message ?? '')?.[1];
  if (code === 'ERR_UNSUPPORTED_RESOLVE_REQUEST' || foreign !== undefined)
    return `it imports "${foreign}"; a module may import "dbench" and parts of Node only, so that its SHA-256 tells all`;
  const line = /^\s*(?:at .*)?data:text\/javascript[^\n]*?:(\d+)(?::\d+)?\)?$/m.exec(stack ?? '')?.[1];
  const why = String(message ?? error)
    .split('\n')[0]!
    .replaceAll(/data:text\/javascript\S*/g, 'it');
  return line === undefined ? why : `${why} (line ${line})`;
}

/** Carries out what belongs to the module; what it throws is its own mistake. */
async function ask<T>(what: string, of: () => T | Promise<T>): Promise<T> {
  try {
    return await of();
  } catch (error) {
    throw error instanceof UserError ? error : new UserError(`${what}: ${thrown(error)}`);
  }
}

async function exported(): Promise<Data> {
  const code = await ask('it cannot be read', () => javaScript(question.text, question.typescript));
  const url = `data:text/javascript;base64,${Buffer.from(code).toString('base64')}`;
  const all = await ask('it fails when it is loaded', () => import(url) as Promise<Data>);
  const names = Object.keys(all);
  const found = 'default' in all ? all.default : names.length === 1 ? all[names[0]!] : undefined;
  if (isData(found)) return found;
  throw new UserError(
    names.length > 1 && !('default' in all)
      ? `it exports ${names.join(', ')}; make one of them its default export`
      : `it must export a ${question.as}, as in: export default ${question.as}({ … })`,
  );
}

const plain = { number: z.number(), string: z.string(), boolean: z.boolean() } as const;

/** Schemas as they are; a plain value is a default. */
function shapeOf(settings: unknown): z.ZodRawShape {
  if (settings !== undefined && !isData(settings)) throw new UserError('its settings must be a group, by name');
  return Object.fromEntries(
    Object.entries(settings ?? {}).map(([name, given]) => {
      if (given instanceof z.ZodType) return [name, given];
      const schema = plain[typeof given as keyof typeof plain] as z.ZodType | undefined;
      if (schema === undefined) throw new UserError(`its setting ${name} must be a schema or a default value`);
      return [name, schema.default(given)];
    }),
  );
}

async function methodAnswer(module: Data): Promise<ModuleAnswer> {
  const { settings: declared, aliases: _, step, scalars, ...rest } = module;
  const shape = shapeOf(declared);
  checkNames([...Object.keys(shape), ...Object.keys(rest.rows ?? {}), ...Object.keys(rest.numbers ?? {})]);
  const settings = parse(z.strictObject(shape), question.settings, 'settings') as Data;
  const call = (what: string, of: unknown) =>
    ask(`its ${what} fails`, () => (typeof of === 'function' ? (of(settings) as unknown) : of));
  const numbers = Object.fromEntries(Object.entries(settings).filter(([, value]) => typeof value === 'number'));
  const more = (await call('scalars', scalars)) ?? {};
  const given = { ...rest, step: await call('step', step), scalars: { ...numbers, ...(more as object) } };
  return { settings, method: parse(ownMethodSchema, given, 'what it exports') };
}

async function topologyAnswer(module: Data): Promise<ModuleAnswer> {
  const { n, seed } = question as Required<Question>;
  if (typeof module.round !== 'function')
    throw new UserError('it must have a function round(n, step), which says whom each replica hears');
  const shape = shapeOf(module.settings);
  const clash = Object.keys(shape).find((name) => ['kind', 'path', 'sha256', 'weights', 'rounds'].includes(name));
  if (clash !== undefined) throw new UserError(`the name "${clash}" is reserved; choose another one`);
  const settings = parse(z.strictObject(shape), question.settings, 'settings') as never;
  const rounds = await ask('its round fails', () => roundsOf(module as unknown as OwnTopology, { n, seed, settings }));
  return { settings, rounds };
}

async function answer(): Promise<ModuleAnswer> {
  try {
    const module = await exported();
    return await (question.as === 'method' ? methodAnswer(module) : topologyAnswer(module));
  } catch (error) {
    if (error instanceof UserError) return { problem: error.message };
    return { problem: `it cannot be used: ${thrown(error)}` };
  }
}

const say = (state: number) => {
  Atomics.store(flag, 0, state);
  Atomics.notify(flag, 0);
};
say(1);
port.postMessage(await answer());
say(2);
