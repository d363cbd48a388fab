import { number } from '../base/format.ts';
import {
  type Column,
  type Columns,
  edgeColumns,
  evaluationColumns,
  linkColumns,
  normColumns,
  phases,
  stepColumns,
} from '../engine/columns.ts';
import { mostLinks } from '../network/usage.ts';
import { type EventTable, eventTables, snake, sqlName, sqlType, storedColumns } from './schema.ts';

/** A column of a table that can be asked: what it holds, and how it follows from one run's database. */
export interface TidyColumn {
  readonly name: string;
  readonly type: string;
  readonly unit: string;
  readonly description: string;
  readonly sql: string;
}

/** Of the tables that a run's database has: the types of their columns. */
export type StoredTables = Readonly<Partial<Record<EventTable, ReadonlyMap<string, string>>>>;

/** One run's table as a SQL source with all its columns. */
export type Source = (table: EventTable) => string;

interface TidyTable {
  readonly summary: string;
  /** What each run gives. */
  readonly from: (source: Source) => string;
  /** What is made of that of all runs together, before the columns are. */
  readonly over?: (rows: string) => string;
  readonly columns: readonly TidyColumn[];
}

const named = (name: string, sql: string, description: string, type = 'double', unit = ''): TidyColumn => ({
  name,
  type,
  unit,
  description,
  sql,
});

/** As it is stored. */
const plain = (key: string, column: Column, name = snake(key)): TidyColumn =>
  named(name, snake(key), column.description, sqlType(column), column.unit);

/** The columns with mean, least and largest of a list over the replicas. Values of lost replicas, null, do not count. */
export const bandNames = (key: string) =>
  ({ mean: snake(key), min: `${snake(key)}_min`, max: `${snake(key)}_max` }) as const;

function band(key: string, { description, unit }: Column): TidyColumn[] {
  const { mean, min, max } = bandNames(key);
  return [
    named(mean, `list_avg(${mean})`, `${description}; mean over the replicas`, 'double', unit),
    named(min, `list_min(${mean})`, 'the least of the replicas', 'double', unit),
    named(max, `list_max(${mean})`, 'the largest of the replicas', 'double', unit),
  ];
}

const reduced = (columns: Columns) =>
  Object.entries(columns).flatMap(([key, column]) =>
    column.per === 'replica' ? band(key, column) : [plain(key, column)],
  );

/** One row per replica: every list taken apart. */
const apart = (columns: Columns) =>
  Object.entries(columns).flatMap(([key, column]) =>
    column.per === 'replica'
      ? [named(snake(key), `unnest(${snake(key)})`, column.description, 'double', column.unit)]
      : [],
  );

/** The position in a list with a value for each replica. */
const replicaIn = (list: string) =>
  named('replica', `unnest(range(len(${list})))::integer`, 'counted from 0', 'integer');

/** Not joined: that would give up the order of the rows. */
const tensorName = (source: Source) => `(select list(name order by tensor) from ${source('tensors')})[tensor + 1]`;
const namedNorms = (source: Source) =>
  `(select step, tensor, ${tensorName(source)} as name, norm from ${source('norms')})`;
const tensor = named('tensor', 'name', 'its name', 'varchar');

/** 0 if all replicas are equal, as `dispersion` of base/statistics.ts has it; the n values of v are sorted, m is their mean. */
const unlessEqual = (formula: string) => `case when v[1] = v[n] and not isnan(m) then 0 else ${formula} end`;

/** Values of lost replicas, null, stand behind the n others. DuckDB's own variance does not take NaN and ∞, which a diverged run leaves. */
const sortedNorms = (rows: string) => `
  (select *, list_sum(list_transform(v, lambda x: (x - m) * (x - m))) / n as s2 from
    (select * exclude (norm), list_sort(norm, 'asc', 'nulls last') v, list_count(norm) n, list_avg(norm) m from ${rows}))`;

/** A run that was stopped within an epoch has several rows for it. Whole numbers: their sums do not depend on where it was stopped. */
const usedLinks = (source: Source) => {
  const [keys, sums] = [
    ['source', 'replica'],
    ['bytes', 'messages', 'lost', 'late', 'busy_ns'],
  ];
  const lists = [...keys!, ...sums!].map((name) => `unnest(${name}) as ${name}`);
  return `(select epoch, ${keys}, ${sums!.map((name) => `sum(${name}) as ${name}`)}
    from (select epoch, ${lists} from ${source('links')}) group by epoch, ${keys} order by epoch, ${keys})`;
};

const { step, epoch, replicas: _, ...scores } = evaluationColumns;
/** A phase that an older version did not know took no time. */
const phaseSum = Object.keys(phases)
  .map((phase) => `coalesce(${phase}_ms, 0)`)
  .join(' + ');

/** Over the events of all runs. */
export const eventViews = {
  steps: {
    summary: 'one row per step; loss, accuracy and gradient norm are means over the replicas',
    from: (source) => source('steps'),
    columns: [...reduced(stepColumns), named('ms', phaseSum, 'the whole step', 'double', 'ms')],
  },
  replica_steps: {
    summary: 'one row per step and replica, on its own batch',
    from: (source) => source('steps'),
    columns: [plain('step', stepColumns.step), replicaIn('loss'), ...apart(stepColumns)],
  },
  norms: {
    summary: 'one row per probed step, tensor and replica: its L2 norm before averaging',
    from: namedNorms,
    columns: [plain('step', normColumns.step), tensor, replicaIn('norm'), ...apart(normColumns)],
  },
  edges: {
    summary: 'one row per probed step and connection of its round, if `probes.edges` is set',
    from: (source) => source('edges'),
    columns: [plain('step', edgeColumns.step), ...apart(edgeColumns)],
  },
  virtual_steps: {
    summary: 'one row per step and replica of a run with a network: its virtual times',
    from: (source) => `(from ${source('steps')} where virtual_finished is not null)`,
    columns: [
      plain('step', stepColumns.step),
      replicaIn('virtual_finished'),
      ...(['start', 'computed', 'finished'] as const).map((name) => {
        const { description, unit } = stepColumns[`virtual${name[0]!.toUpperCase()}${name.slice(1)}` as 'virtualStart'];
        return named(name, `unnest(virtual_${name})`, description, 'double', unit);
      }),
    ],
  },
  links: {
    summary: `one row per epoch and link that was used, of a run with a network; epochs with more than ${number(mostLinks)} links have none`,
    from: usedLinks,
    columns: [
      plain('epoch', linkColumns.epoch),
      ...(['source', 'replica'] as const).map((key) =>
        named(key, `${key}::integer`, linkColumns[key].description, 'integer'),
      ),
      ...(['bytes', 'messages', 'lost', 'late'] as const).map((key) =>
        named(key, key, linkColumns[key].description, 'double', linkColumns[key].unit),
      ),
      named('busy', 'busy_ns / 1e9', linkColumns.busyNs.description, 'double', 's'),
    ],
  },
  dispersion: {
    summary: 'one row per probed step and tensor: how unequal the norms of the replicas are',
    from: namedNorms,
    over: sortedNorms,
    columns: [
      plain('step', normColumns.step),
      plain('tensor', normColumns.tensor, 'position'),
      tensor,
      named('index_of_dispersion', unlessEqual('s2 / m'), 'variance / mean'),
      named('coefficient_of_variation', unlessEqual('sqrt(s2) / m'), 'standard deviation / mean'),
      named(
        'quartile_coefficient',
        unlessEqual('coalesce((v[3 * n // 4 + 1] - v[n // 4 + 1]) / nullif(v[3 * n // 4 + 1] + v[n // 4 + 1], 0), 0)'),
        '(Q3 − Q1) / (Q3 + Q1)',
      ),
      named(
        'gini',
        unlessEqual('list_sum(list_transform(v, lambda x, i: (2 * i - 1 - n) * x)) / (n * n * m)'),
        'Gini coefficient: 0 if all replicas are equal',
      ),
    ],
  },
  evaluations: {
    summary: 'one row per evaluation on the test set: local models (mean, least, largest) and their average',
    from: (source) => source('evaluations'),
    columns: [
      ...reduced({ step, epoch }),
      named('replicas', 'len(replicas)::integer', 'how many local models were evaluated', 'integer'),
      ...reduced(scores),
    ],
  },
  replica_evaluations: {
    summary: 'one row per evaluation and replica',
    from: (source) => source('evaluations'),
    columns: [
      ...reduced({ step, epoch }),
      named('replica', 'unnest(replicas)::integer', 'counted from 0', 'integer'),
      ...apart(scores),
    ],
  },
  tensors: {
    summary: 'the parameter tensors of the model, in order',
    from: (source) => source('tensors'),
    columns: Object.entries(eventTables.tensors).map(([key, column]) =>
      plain(key, column, { tensor: 'position', name: 'tensor' }[key] ?? snake(key)),
    ),
  },
} satisfies Record<string, TidyTable>;

/** What its events add to a run: over all steps, and at the last evaluation. */
const overSteps = [
  named('steps', 'count(*)::integer', 'steps done', 'integer'),
  named(
    'connections',
    'avg(connections * greatest(1, gossips))',
    'neighbours per replica, each gossip of a step counted, mean over the steps',
  ),
  named('sent_bytes', 'sum(sent_bytes)', 'sent by one replica in all', 'double', 'bytes'),
  named('final_distance', 'arg_max(distance, step)', 'Ξ when it was last probed'),
  named(
    'virtual_seconds',
    'max(virtual_finished_max)',
    'virtual time at which the last replica had finished; null without a network',
    'double',
    's',
  ),
];
const atTheEnd = ['accuracy', 'loss', 'merged_accuracy', 'merged_loss'].map((name) =>
  named(name, `arg_max_null(${name}, step)`, `${name.replace('_', ' ')} at the last evaluation`),
);

/** What is known of a run without its events; its settings and its machine follow, by their path. */
export const factColumns = [
  named('run', 'run', 'its id', 'varchar'),
  named('status', 'status', 'complete, diverged, stopped, running or interrupted', 'varchar'),
  named('started_at', 'started_at', 'in UTC', 'timestamp'),
  named('seconds', 'seconds', 'from start to end, interruptions left out; null until it has ended', 'double', 's'),
  named('params_sha256', 'params_sha256', 'of the parameters of all replicas at the end', 'varchar'),
];

const runColumns = [...factColumns, ...overSteps, ...atTheEnd];

export type TableName = keyof typeof eventViews | 'runs';

/** The tidy tables over any number of runs: what there is to ask, and to export. Columns in their order. */
export const tidyTables: Readonly<
  Record<TableName, { readonly summary: string; readonly columns: readonly Omit<TidyColumn, 'sql'>[] }>
> = {
  runs: {
    summary:
      'one row per run; accuracy and loss on the test set at the last evaluation, mean of the local models; then every setting',
    columns: runColumns,
  },
  ...(Object.fromEntries(
    Object.entries(eventViews).map(([name, { summary, columns }]) => [
      name,
      { summary, columns: [factColumns[0], ...columns] },
    ]),
  ) as Record<keyof typeof eventViews, { summary: string; columns: TidyColumn[] }>),
};

const selected = (columns: readonly TidyColumn[]) => columns.map(({ name, sql }) => `${sql} as ${name}`).join();

/** One row for each run of `facts`, whose columns in SQL are given; `tables` are those of its events as questions. */
export function runsQuery(
  facts: string,
  columns: readonly string[],
  tables: (name: 'steps' | 'evaluations') => string,
): string {
  const names = runColumns.map(({ name }) => sqlName(name));
  return `
    select ${[...names, ...columns.filter((name) => !names.includes(name))]}
    from ${facts}
    left join (select run, ${selected(overSteps)} from (${tables('steps')}) group by run) using (run)
    left join (select run, ${selected(atTheEnd)} from (${tables('evaluations')}) group by run) using (run)
    order by started_at, run`;
}

/** A table over these runs, each given as its id in SQL and its source. What is computed is written once: a plan for each of thousands takes long. */
export function eventQuery(
  name: keyof typeof eventViews,
  runs: readonly (readonly [id: string, source: Source])[],
): string {
  const { from, over = (rows) => rows, columns }: TidyTable = eventViews[name];
  const parts = (runs.length > 0 ? runs : [['null::varchar', noRows] as const]).map(
    ([id, source]) => `select ${id} as run, * from ${from(source)}`,
  );
  return `select run, ${selected(columns)} from ${over(`(${parts.join(' union all ')})`)}`;
}

const noRows: Source = (table) => {
  const nulls = storedColumns(eventTables[table]).map(({ name, type }) => `null::${type} as ${name}`);
  return `(select ${nulls} where false)`;
};

/** A table as one run's database has it: a column that was not yet known when it was stored is null, a table is empty. */
export function sourceOf(database: string, stored: StoredTables): Source {
  return (table) => {
    const found = stored[table];
    if (found === undefined) return noRows(table);
    const columns = storedColumns(eventTables[table]);
    const list = columns.map(({ name, type }) => (found.has(name) ? name : `null::${type} as ${name}`));
    return `(select ${list} from ${database}.${table})`;
  };
}
