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
  /** Keys from the outermost to the one whose value or keys are written; a list is `[]`. */
  readonly path: readonly string[];
  /** `kind` of each group on the way, if it is said. */
  readonly kinds: Readonly<Record<string, string>>;
  /** Whether a value is written, after `key:`. */
  readonly value: boolean;
  /** What was begun, and where. */
  readonly word: string;
  readonly from: number;
}

interface Line {
  readonly indent: number;
  readonly key: string;
  readonly value: string;
  readonly item: boolean;
}

function lineOf(text: string): Line | undefined {
  const found = /^(\s*)((?:- )?)\s*([\w.+-]+):\s*(.*)$/.exec(text.replace(/\s#.*$/, ''));
  if (found === null) return undefined;
  return {
    indent: found[1]!.length + found[2]!.length,
    key: found[3]!,
    value: found[4]!.trim(),
    item: found[2] !== '',
  };
}

/** Where in the settings the caret is, by indentation. */
export function caretPath(text: string, at: number): Caret {
  const before = text.slice(0, at);
  const lines = before.split('\n');
  const current = lines.pop()!;
  const written = /^(\s*)((?:- )?)\s*(?:([\w.+-]+):\s+)?([\w.+-]*)$/.exec(current);
  const word = written?.[4] ?? '';
  const key = written?.[3];
  let indent = written === null ? 0 : written[1]!.length + written[2]!.length;
  const siblings = indent;
  const path: string[] = written !== null && written[2] !== '' ? ['[]'] : [];
  const kinds: Record<string, string> = {};
  const parsed = lines.map(lineOf);
  for (let i = parsed.length - 1; i >= 0; i--) {
    const line = parsed[i];
    if (line === undefined) continue;
    if (line.indent === indent && line.item && path.length === 0) path.unshift('[]');
    if (line.indent >= indent) continue;
    path.unshift(line.key);
    indent = line.indent;
    if (line.item) path.unshift('[]');
  }
  // The kind of the group that is written, above or below the caret.
  for (const line of [...parsed.slice(-30), ...text.slice(at).split('\n').slice(1, 30).map(lineOf)])
    if (line?.key === 'kind' && line.indent === siblings) kinds[path.join('.')] = line.value;
  return {
    path: key === undefined ? path : [...path, key],
    kinds,
    value: key !== undefined,
    word,
    from: at - word.length,
  };
}

const alternatives = (schema: Schema): readonly Schema[] => {
  const all = schema.anyOf ?? schema.oneOf;
  return all === undefined ? [schema] : all.flatMap(alternatives);
};

/** The schemas that may hold at a path: of alternatives with a kind, those of the kind that is said. */
function schemasAt(
  schema: Schema,
  path: readonly string[],
  kinds: Readonly<Record<string, string>>,
): readonly Schema[] {
  let found = alternatives(schema);
  const done: string[] = [];
  const fitting = (all: readonly Schema[]) => {
    const kind = kinds[done.join('.')];
    const own = all.filter((each) => each.properties?.kind?.const === kind);
    return kind !== undefined && own.length > 0 ? own : all;
  };
  for (const key of path) {
    found = fitting(found).flatMap((each) =>
      key === '[]'
        ? each.items === undefined
          ? [each]
          : alternatives(each.items)
        : each.properties?.[key] === undefined
          ? []
          : alternatives(each.properties[key]),
    );
    done.push(key);
  }
  return fitting(found);
}

export interface Suggestion {
  readonly insert: string;
  readonly label: string;
  readonly description: string | undefined;
}

const isGroup = (schema: Schema) => alternatives(schema).some(({ properties }) => properties !== undefined);

/** What may stand at the caret: keys with what they mean, or values. */
export function suggestions(schema: Schema, { path, kinds, value, word }: Caret): Suggestion[] {
  const found = schemasAt(schema, path, kinds);
  const all = new Map<string, Suggestion>();
  const add = (label: string, insert: string, description: string | undefined) => {
    if (label.startsWith(word) && !all.has(label)) all.set(label, { label, insert, description });
  };
  if (value)
    for (const each of found) {
      for (const option of [...(each.enum ?? []), ...(each.const === undefined ? [] : [each.const])])
        add(String(option), String(option), each.description);
      if (each.type === 'boolean') for (const option of ['true', 'false']) add(option, option, each.description);
      if (
        each.enum === undefined &&
        each.const === undefined &&
        each.type !== 'boolean' &&
        all.size === 0 &&
        each.type !== undefined &&
        word === ''
      )
        add(
          `(${each.type})`,
          '',
          [each.description, each.default === undefined ? undefined : `default ${JSON.stringify(each.default)}`]
            .filter(Boolean)
            .join('; '),
        );
    }
  else
    for (const each of found)
      for (const [key, of] of Object.entries(each.properties ?? {}))
        add(key, isGroup(of) ? `${key}: ` : `${key}: `, of.description ?? alternatives(of)[0]?.description);
  return [...all.values()];
}
