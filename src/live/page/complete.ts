import { Outline } from './outline.ts';

/** Completion of experiments in YAML, from the schema that checks them. */

export interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly type?: string;
  readonly default?: unknown;
  readonly description?: string;
}

export interface Caret {
  /** Keys from the outermost to the one whose value or keys are written; one of a list is `[0]`. */
  readonly path: readonly string[];
  /** `kind` of each group that says it, by path. */
  readonly kinds: ReadonlyMap<string, string>;
  /** Keys that the group has already. */
  readonly present: ReadonlySet<string>;
  /** Whether a value is written, after `key:`. */
  readonly value: boolean;
  /** Within braces. */
  readonly flow: boolean;
  /** What was begun, and where; how far its line is indented. */
  readonly word: string;
  readonly from: number;
  readonly indent: number;
}

/** Where in the settings the caret is. */
export function caretAt(text: string, at: number): Caret {
  const word = /[\w.+-]*$/.exec(text.slice(0, at))![0];
  const from = at - word.length;
  const before = new Outline(text.slice(0, from));
  const line = text.slice(text.lastIndexOf('\n', from - 1) + 1, from);
  const dashes = /^\s*(?:- )*/.exec(line)![0].length;
  // A key begins a line, maybe after dashes; after one its value follows.
  const value = before.inFlow ? before.awaits : line.slice(dashes) !== '';
  const path = value ? before.path : before.pathAt(dashes);
  const { entries } = new Outline(text);
  const own = path.join('.');
  return {
    path,
    kinds: new Map(entries.flatMap((each) => (each.key === 'kind' ? [[each.path.join('.'), each.value]] : []))),
    present: new Set(entries.flatMap((each) => (each.path.join('.') === own && each.at !== from ? [each.key] : []))),
    value,
    flow: before.inFlow,
    word,
    from,
    indent: dashes,
  };
}

const alternatives = (schema: Schema): readonly Schema[] => {
  const all = schema.anyOf ?? schema.oneOf;
  return all === undefined ? [schema] : all.flatMap(alternatives);
};

/** The names of the kind of settings that a schema is about, the usual one first; none of those without a kind. */
function kindsOf({ properties }: Schema): readonly string[] {
  const kind = properties?.kind;
  return [...(kind?.const === undefined ? [] : [kind.const]), ...(kind?.enum ?? [])].map(String);
}

/** The schemas that may hold at a path: of alternatives with a kind, those of the kind that is said. */
function schemasAt(schema: Schema, { path, kinds }: Pick<Caret, 'path' | 'kinds'>): readonly Schema[] {
  let found = alternatives(schema);
  const fitting = (all: readonly Schema[], done: readonly string[]) => {
    const kind = kinds.get(done.join('.'));
    const own = all.filter((each) => kindsOf(each).includes(kind ?? ''));
    return own.length > 0 ? own : all;
  };
  path.forEach((key, i) => {
    found = fitting(found, path.slice(0, i)).flatMap((each) => {
      const next = key.startsWith('[') ? each.items : each.properties?.[key];
      return next === undefined ? [] : alternatives(next);
    });
  });
  // Of what is being chosen all kinds are on offer.
  return path.at(-1) === 'kind' ? found : fitting(found, path);
}

export interface Suggestion {
  readonly label: string;
  readonly insert: string;
  /** So many characters before the end of what is inserted the caret stands. */
  readonly back: number;
  readonly description: string | undefined;
}

/** A key with what its value begins with. */
function keyInsert(key: string, schema: Schema, { flow, indent }: Caret): Pick<Suggestion, 'insert' | 'back'> {
  const all = alternatives(schema);
  if (all.some((each) => kindsOf(each).length > 0)) return { insert: `${key}: { kind:  }`, back: 2 };
  const group = all.some(({ properties }) => properties !== undefined);
  if (group)
    return flow ? { insert: `${key}: {  }`, back: 2 } : { insert: `${key}:\n${' '.repeat(indent + 2)}`, back: 0 };
  if (all.every(({ type }) => type === 'array')) {
    const groups = all.some(({ items }) => items?.properties !== undefined);
    if (groups && !flow) return { insert: `${key}:\n${' '.repeat(indent + 2)}- `, back: 0 };
    return { insert: `${key}: []`, back: 1 };
  }
  return { insert: `${key}: `, back: 0 };
}

const defaultText = ({ default: usual }: Schema) => (usual === undefined ? '' : `default ${JSON.stringify(usual)}`);
const described = (schema: Schema) =>
  [schema.description ?? alternatives(schema)[0]?.description, defaultText(schema)].filter(Boolean).join('; ');

function valuesOf(schema: Schema, { flow }: Caret): Suggestion[] {
  const plain = (value: string, description = schema.description) => ({
    label: value,
    insert: value,
    back: 0,
    description,
  });
  const [kind] = kindsOf(schema);
  if (kind !== undefined && !flow) {
    const label = `{ kind: ${kind} }`;
    return [{ label, insert: label, back: 2, description: schema.properties!.kind!.description }];
  }
  if (schema.enum !== undefined) return schema.enum.map((value) => plain(String(value)));
  if (schema.const !== undefined) return [plain(String(schema.const))];
  if (schema.type === 'boolean') return [plain('true'), plain('false')];
  return [];
}

/** What may stand at the caret: keys with what they mean, or values. */
export function suggestions(schema: Schema, caret: Caret): Suggestion[] {
  const { word, value, present } = caret;
  const found = schemasAt(schema, caret);
  const all = new Map<string, Suggestion>();
  const add = (each: Suggestion) => {
    if (each.label.toLowerCase().includes(word.toLowerCase()) && !all.has(each.label)) all.set(each.label, each);
  };
  if (value) {
    // Of a kind with several names the usual one, until another is written.
    const usual = (each: Schema) =>
      caret.path.at(-1) === 'kind' ? valuesOf(each, caret).slice(0, 1) : valuesOf(each, caret);
    for (const each of found) usual(each).forEach(add);
    if (all.size === 0) for (const each of found) valuesOf(each, caret).forEach(add);
  } else
    for (const each of found)
      for (const [key, of] of Object.entries(each.properties ?? {}))
        if (!present.has(key)) add({ label: key, ...keyInsert(key, of, caret), description: described(of) });
  // What begins like the word comes first.
  const begins = ({ label }: Suggestion) => (label.toLowerCase().startsWith(word.toLowerCase()) ? 0 : 1);
  return [...all.values()].sort((a, b) => begins(a) - begins(b));
}

/** What is asked for where nothing can be suggested: `whole number; default 1`. */
export function askedFor(schema: Schema, caret: Caret): string {
  const [first] = schemasAt(schema, caret);
  if (first === undefined || !caret.value) return '';
  const type = { integer: 'a whole number', number: 'a number', string: 'text', array: 'a list', object: 'settings' }[
    first.type ?? ''
  ];
  return [type, described(first)].filter(Boolean).join('; ');
}

/** The line, counted from 0, that a problem is about; undefined if it does not say. */
export function lineOfProblem(text: string, problem: string): number | undefined {
  const parse = /^experiment:(\d+)/.exec(problem);
  if (parse !== null) return Number(parse[1]) - 1;
  const found = /^\s*- (?:(compare)(\[\d+\]) \([^)]*\): )?([\w.[\]]+):/.exec(problem);
  if (found === null) return undefined;
  const names = found[3]!.replaceAll('[', '.[').split('.');
  const { entries } = new Outline(text);
  const at = (path: readonly string[]) =>
    entries.find((each) => [...each.path, each.key].join('.') === path.join('.'))?.at;
  // The nearest that is there, first in the variant.
  const tries = [
    ...(found[1] === undefined ? [] : names.map((_, i) => ['compare', found[2]!, ...names.slice(0, names.length - i)])),
    ...(found[1] === undefined ? [] : [['compare', found[2]!, 'name']]),
    ...names.map((_, i) => names.slice(0, names.length - i)),
  ];
  const place = tries.map(at).find((each) => each !== undefined);
  return place === undefined ? undefined : text.slice(0, place).split('\n').length - 1;
}
