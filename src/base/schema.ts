import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { suggest, UserError } from './error.ts';

/** Settings after parsing: nobody writes to them. */
export type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

type JsonSchema = Readonly<Record<string, unknown>>;

/** What a schema allows, in words: "a whole number from 1 to 7", "one of: ring, torus". */
export function describe(schema: JsonSchema): string {
  const alternatives = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined;
  if (alternatives !== undefined) {
    const kinds = alternatives.map(({ properties }) => (properties as Record<string, JsonSchema>)?.kind?.const);
    if (kinds.every((kind) => typeof kind === 'string')) return `a group of settings with a kind: ${kinds.join(', ')}`;
    return [...new Set(alternatives.map(describe))].join(' or ');
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum))
    return schema.enum.length === 1 ? `"${schema.enum[0]}"` : `one of: ${schema.enum.join(', ')}`;
  switch (schema.type) {
    case 'integer':
    case 'number':
      return (schema.type === 'integer' ? 'a whole number' : 'a number') + range(schema);
    case 'string':
      return schema.pattern === undefined ? 'text' : `text like ${schema.pattern}`;
    case 'array':
      return `a list of ${describe((schema.items ?? {}) as JsonSchema)}${Number(schema.minItems) > 0 ? ', at least one' : ''}`;
    case 'object':
      return 'a group of settings';
    case 'boolean':
      return 'true or false';
    case undefined:
      return 'values';
    default:
      return 'something else';
  }
}

function range({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): string {
  const bound = (value: unknown, word: string) =>
    typeof value === 'number' && Math.abs(value) < Number.MAX_SAFE_INTEGER ? [`${word} ${value}`] : [];
  const low = [...bound(minimum, 'from'), ...bound(exclusiveMinimum, 'above')];
  const high = [...bound(maximum, low[0]?.startsWith('from') ? 'to' : 'at most'), ...bound(exclusiveMaximum, 'below')];
  const joint = high[0]?.startsWith('to') ? ' ' : ' and ';
  return low.length + high.length === 0 ? '' : ` ${[...low, ...high].join(joint)}`;
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (typeof value === 'number') return String(value);
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** Kept: the runs of a sweep may have the same mistake a thousand times. */
const descriptions = new WeakMap<z.ZodType, string>();

function allowedBy(schema: z.ZodType): string {
  const allowed =
    descriptions.get(schema) ?? describe(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema);
  descriptions.set(schema, allowed);
  return allowed;
}

/** One sentence per problem: what is allowed, what was given, and the nearest valid name for a typo. */
function sentence(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'unrecognized_keys') {
    const allowed = Object.keys((issue.inst as z.ZodObject | undefined)?.def.shape ?? {});
    return (issue.keys as string[]).map((key) => `unknown setting "${key}"; ${suggest(key, allowed)}`).join('; ');
  }
  if (issue.code === 'custom') return String(issue.message ?? 'is not allowed');
  const discriminator = issue.code === 'invalid_union' ? (issue.discriminator as string | undefined) : undefined;
  if (discriminator !== undefined) {
    const given = (issue.input as Record<string, unknown>)[discriminator];
    const options = issue.options as string[];
    return `${show(given)} is not a known ${discriminator}; ${suggest(typeof given === 'string' ? given : '', options)}`;
  }
  const allowed = allowedBy((issue.schema ?? issue.inst) as z.ZodType);
  if (issue.input === undefined) return `is missing; it must be ${allowed}`;
  const given =
    typeof issue.input === 'string' && issue.code === 'invalid_value'
      ? suggestion(issue.input, issue.values as unknown[])
      : '';
  return `must be ${allowed}, got ${show(issue.input)}${given}`;
}

function suggestion(word: string, values: readonly unknown[]): string {
  const hint = suggest(
    word,
    values.filter((value) => typeof value === 'string'),
  );
  return hint.startsWith('did') ? `; ${hint}` : '';
}

const pathText = (path: readonly PropertyKey[]) =>
  path.map((part, i) => (typeof part === 'number' ? `[${part}]` : `${i > 0 ? '.' : ''}${String(part)}`)).join('');

/** Parses data from a user: the value with its defaults, or all problems at once, each with its path. */
export function problemsOf<S extends z.ZodType>(
  schema: S,
  data: unknown,
): { value: z.output<S> } | { problems: string[] } {
  const result = schema.safeParse(data, { error: sentence });
  if (result.success) return { value: result.data };
  return {
    problems: result.error.issues.map(({ path, message }) =>
      path.length === 0 ? message : `${pathText(path)}: ${message}`,
    ),
  };
}

/** One UserError for any number of problems. */
export function problemError(where: string, problems: readonly string[]): UserError {
  if (problems.length === 1) return new UserError(`${where}: ${problems[0]}`);
  return new UserError(
    `${where}: ${problems.length} problems\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
  );
}

/** Parses data from a user, or throws a UserError. */
export function parse<S extends z.ZodType>(schema: S, data: unknown, where: string): z.output<S> {
  const result = problemsOf(schema, data);
  if ('problems' in result) throw problemError(where, result.problems);
  return result.value;
}

/**
 * A parsed value without what the schema would fill in by itself: what somebody chose. A default that is added later does not change it.
 * Lists stay whole, but for the groups in them.
 */
export function withoutDefaults(schema: z.core.$ZodType, value: unknown): unknown {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  const inner = (each: z.core.$ZodType) => withoutDefaults(each, value);
  switch (def.type) {
    case 'default':
    case 'prefault': {
      const chosen = inner(def.innerType);
      const usual = withoutDefaults(def.innerType, z.parse(schema, undefined));
      return isDeepStrictEqual(chosen, usual) ? undefined : chosen;
    }
    case 'pipe':
      return inner(def.out);
    case 'optional':
    case 'nullable':
    case 'readonly':
      return inner(def.innerType);
    case 'array':
      return Array.isArray(value) ? value.map((item) => withoutDefaults(def.element, item)) : value;
    case 'union': {
      const kind = (value as { kind?: unknown } | null)?.kind;
      const option = def.options.find((each) => kindsOf(each).includes(kind));
      return option === undefined ? value : inner(option);
    }
    case 'object':
      return Object.fromEntries(
        Object.entries(value as object)
          .map(([key, part]) => [key, def.shape[key] === undefined ? part : withoutDefaults(def.shape[key], part)])
          .filter(([, part]) => part !== undefined),
      );
    default:
      return value;
  }
}

/** The kinds of settings that a schema stands for. */
function kindsOf(schema: z.core.$ZodType): unknown[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'union') return def.options.flatMap(kindsOf);
  const kind = def.type === 'object' ? (def.shape.kind as z.core.$ZodTypes | undefined)?._zod.def : undefined;
  if (kind?.type === 'literal') return kind.values;
  // A kind with other names.
  return kind?.type === 'enum' ? Object.values(kind.entries) : [];
}
