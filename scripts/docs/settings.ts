import { wholeSchema } from '../../src/experiment/schema.ts';
import { presets } from '../../src/network/presets.ts';
import { capital, markdownTable } from './markdown.ts';

/** What this page needs of a JSON Schema. */
interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}

const code = (value: unknown) => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

function rangeOf({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): string {
  const upper = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  const bounds = [
    ...(minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? [`≥ ${minimum}`] : []),
    ...(exclusiveMinimum === undefined ? [] : [`> ${exclusiveMinimum}`]),
    ...(upper === undefined ? [] : [`≤ ${upper.toLocaleString('en-US')}`]),
    ...(exclusiveMaximum === undefined ? [] : [`< ${exclusiveMaximum}`]),
  ];
  return bounds.length === 0 ? '' : ` ${bounds.join(', ')}`;
}

function valuesOf(schema: Schema): string {
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ');
  const either = schema.oneOf ?? schema.anyOf;
  if (either !== undefined) return isKinds(schema) ? 'settings by `kind`' : either.map(valuesOf).join(' or ');
  if (schema.type === 'array') {
    const items = schema.items === undefined ? '' : valuesOf(schema.items);
    return items === '' ? 'list' : `list of ${items}`;
  }
  if (schema.type === 'integer') return `whole number${rangeOf(schema)}`;
  if (schema.type === 'number') return `number${rangeOf(schema)}`;
  if (schema.type === 'boolean') return '`true`, `false`';
  if (schema.type === 'string') return 'text';
  return 'settings';
}

/** Settings told apart by their `kind`. */
const isKinds = ({ oneOf }: Schema) => oneOf?.every(({ properties }) => properties?.kind !== undefined) === true;

/** The name of a kind, and the names that other tools use. */
const kindNames = ({ properties }: Schema): readonly unknown[] => properties!.kind!.enum ?? [properties!.kind!.const];

interface Row {
  readonly name: string;
  readonly setting: Schema;
  readonly required: boolean;
}

const rowsOf = ({ properties = {}, required = [] }: Schema): Row[] =>
  Object.entries(properties).map(([name, setting]) => ({ name, setting, required: required.includes(name) }));

function cellsOf({ name, setting, required }: Row): string[] {
  const shown = setting.default !== undefined && JSON.stringify(setting.default) !== '{}';
  return [
    code(name),
    valuesOf(setting),
    shown ? code(setting.default) : required ? 'required' : '',
    setting.description ?? '',
  ];
}

const headers = ['setting', 'values', 'default', 'what it is'];

const kindLine = (schema: Schema) => {
  const [name, ...aliases] = kindNames(schema);
  const also = aliases.length === 0 ? '' : ` (also ${aliases.map(code).join(', ')})`;
  return `- \`kind: ${name}\`${also}: ${schema.properties!.kind!.description}`;
};

/** A preset has the settings of another kind, all of them optional. */
const isPreset = (kind: Schema) => presets.some(({ name }) => name === kindNames(kind)[0]);

/** Settings of several kinds in one table: each once, with the kinds that have it. */
function kindsTable(kinds: readonly Schema[]): string[] {
  const rows = new Map<string, { row: Row; of: unknown[] }>();
  for (const kind of kinds)
    for (const row of rowsOf(kind).filter(({ name }) => name !== 'kind')) {
      const key = JSON.stringify(row);
      rows.set(key, { row, of: [...(rows.get(key)?.of ?? []), kindNames(kind)[0]] });
    }
  const names = kinds.map((kind) => kindNames(kind)[0]);
  const whose = (of: readonly unknown[]) => {
    const others = names.filter((name) => !of.includes(name));
    if (others.length === 0) return 'all kinds';
    return others.length < of.length / 2 ? `all but ${others.map(code).join(', ')}` : of.map(code).join(', ');
  };
  const cells = [...rows.values()].map(({ row, of }) => {
    const [name, ...rest] = cellsOf(row);
    return [name!, whose(of), ...rest];
  });
  return cells.length === 0 ? [] : [markdownTable(['setting', 'of', ...headers.slice(1)], cells)];
}

/** A section for settings with parts of their own, and for their parts; what stands further up already is left out. */
function section(path: string, schema: Schema, above: Set<string>): string[] {
  const inner = schema.items ?? schema.anyOf?.find(isKinds) ?? schema;
  const kinds = isKinds(inner) ? inner.oneOf! : [];
  const fresh = (kinds.length > 0 ? kinds : inner.properties === undefined ? [] : [inner]).filter((each) => {
    const text = JSON.stringify(each);
    return !above.has(text) && above.add(text);
  });
  if (fresh.length === 0) return [];
  return [
    `${path.includes('.') ? '###' : '##'} \`${path}\``,
    `${capital(schema.description ?? '')}.`,
    ...(kinds.length > 0
      ? [fresh.map(kindLine).join('\n'), ...kindsTable(fresh.filter((kind) => !isPreset(kind)))]
      : [markdownTable(headers, rowsOf(inner).map(cellsOf))]),
    ...fresh.flatMap(rowsOf).flatMap(({ name, setting }) => section(`${path}.${name}`, setting, above)),
  ];
}

/** All settings of an experiment file, from its schema. */
export function settingsReference(): string {
  const schema = wholeSchema() as Schema;
  const { compare, ...properties } = schema.properties!;
  const plain = {
    ...schema,
    properties: { ...properties, compare: { type: 'array', description: compare!.description! } },
  };
  return [
    markdownTable(headers, rowsOf(plain).map(cellsOf)),
    ...Object.entries(properties).flatMap(([name, setting]) => section(name, setting, new Set())),
  ].join('\n\n');
}

/** Paths of settings that do not say what they are. */
export function undescribed(schema = wholeSchema() as Schema, path = ''): string[] {
  const parts = [
    ...(schema.oneOf ?? []),
    ...(schema.anyOf ?? []),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, setting]) => [
    ...(setting.description === undefined ? [`${path}.${name}`] : []),
    ...(name === 'compare' ? [] : undescribed(setting, `${path}.${name}`)),
  ]);
  return [...own, ...parts.flatMap((part) => undescribed(part, path))];
}
