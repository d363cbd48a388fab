import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dispersion, mean } from '../base/statistics.ts';
import type { Event } from '../engine/event.ts';
import { resolve } from '../experiment/experiment.ts';
import { machineContext } from './context.ts';
import { EventStore } from './database.ts';
import { createRun, type Run, writeResult } from './runs.ts';
import { Tables, withTables } from './tables.ts';
import { tidyTables } from './tidy.ts';
import { readEvents } from './views.ts';

const replicas = 7;
const values = (key: number) => Array.from({ length: replicas }, (_, i) => ((key * 7919 + i * 104729) % 1009) / 100);

/** Of two of the replicas. */
const evaluation = (step: number, accuracy: number): Event => ({
  type: 'evaluation',
  step,
  epoch: 1,
  replicas: [1, 4],
  samples: 50,
  local: [
    { loss: 0.5, accuracy: accuracy + 0.125 },
    { loss: 0.7, accuracy: accuracy - 0.125 },
  ],
  train: null,
  merged: { loss: 0.4, accuracy: accuracy + 0.2 },
  ms: 1,
  virtualSeconds: null,
  mergedVirtualSeconds: null,
});

/** Two steps, two tensors, two evaluations. */
const events: readonly Event[] = [
  {
    type: 'start',
    step: 0,
    steps: 2,
    stepsPerEpoch: 2,
    workers: 1,
    tensors: [
      { name: 'a', shape: [2, 3], kind: 'weight', size: 6 },
      { name: 'b', shape: [3], kind: 'bias', size: 3 },
    ],
  },
  ...[0, 1].flatMap((step): Event[] => [
    {
      type: 'step',
      step,
      epoch: 0,
      connections: 2 + step,
      learningRate: 0.1,
      loss: values(step),
      accuracy: values(step + 10),
      gradientNorm: [],
      distance: step === 0 ? null : 5,
      replicaDistance: null,
      round: 0,
      controlledDistance: null,
      targetDistance: null,
      estimatedDistance: null,
      threshold: null,
      harm: null,
      period: null,
      branch: null,
      gossips: 1 + step,
      ownSteps: null,
      staleness: null,
      sentBytes: 100,
      sentMessages: 2,
      virtualStart: null,
      virtualComputed: null,
      virtualFinished: null,
      ms: { data: 1, compute: 2, mix: 3, wait: 4, probe: 5 },
    },
    { type: 'norms', step, norms: [values(step + 20), step === 0 ? Array(replicas).fill(0.1) : values(step + 30)] },
  ]),
  evaluation(1, 0.25),
  evaluation(2, 0.75),
];

let root: string;
let first: Run;
let second: Run;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "dbench-tables'"));
  [first, second] = [await store("it's", 1), await store('other', 2)];
});
afterAll(() => rmSync(root, { recursive: true }));

function start(name: string, seed: number): Run {
  const settings = {
    data: { kind: 'mnist' },
    model: { kind: 'mlp' },
    batch: 4,
    epochs: 2,
    learningRate: { base: 0.1 },
  };
  const [experiment] = resolve({ name: name.replace("'", ''), replicas, seed, ...settings }, 'test');
  return createRun(root, experiment!, machineContext(1, { name: 'onnx', version: '1.2.3' }));
}

async function store(name: string, seed: number, more: readonly Event[] = []): Promise<Run> {
  const run = start(name, seed);
  const written = await EventStore.open(run.database);
  for (const event of [...events, ...more]) await written.append(event);
  written.close();
  writeResult(run, { status: 'complete', step: 2, paramsSha256: 'abc', seconds: 3 });
  return run;
}

/** What another version may have stored. */
async function change({ database }: Run, sql: string): Promise<void> {
  const instance = await DuckDBInstance.create(database);
  const connection = await instance.connect();
  await connection.run(sql);
  connection.closeSync();
  instance.closeSync();
}

/** The rows of a question as objects. */
async function ask(runs: readonly Run[], sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const tables = await Tables.open(runs);
  try {
    return (await tables.ask(sql)).rows;
  } finally {
    tables.close();
  }
}

describe('the tidy tables', () => {
  it('have the columns they say they have, with runs and without', async () => {
    for (const runs of [[], [first, second]])
      for (const [name, { columns }] of Object.entries(tidyTables)) {
        const found = await ask(runs, `select column_name, lower(column_type) as type from (describe ${name})`);
        // Those of runs go on with their settings.
        const names = found.slice(0, columns.length).map((row) => row.column_name);
        expect(names, name).toEqual(columns.map((column) => column.name));
        expect(found.slice(0, columns.length).map((row) => row.type)).toEqual(columns.map(({ type }) => type));
        if (name !== 'runs') expect(found).toHaveLength(columns.length);
        // What two columns of one name become.
        expect(
          found.filter(
            (row) =>
              /_\d+$/.test(String(row.column_name)) && names.includes(String(row.column_name).replace(/_\d+$/, '')),
          ),
        ).toEqual([]);
      }
  });

  it('hold every value of every replica', async () => {
    const rows = await ask(
      [first, second],
      `select * from replica_steps where run = '${second.id}' order by step, replica`,
    );
    expect(rows.map((row) => row.loss)).toEqual([...values(0), ...values(1)]);
    expect(rows.map((row) => row.replica)).toEqual([0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6]);
    expect(rows[0]).toMatchObject({ run: second.id, step: 0, accuracy: values(10)[0], gradient_norm: null });
    const norms = await ask([first], "select * from norms where step = 1 and tensor = 'b' order by replica");
    expect(norms.map((row) => row.norm)).toEqual(values(31));
    const scores = await ask(
      [first],
      'select replica, accuracy from replica_evaluations where step = 2 order by replica',
    );
    expect(scores).toEqual([
      { replica: 1, accuracy: 0.875 },
      { replica: 4, accuracy: 0.625 },
    ]);
  });

  it('have means over the replicas, and sums over the run', async () => {
    const [, step] = await ask([first], 'select * from steps order by step');
    expect(step).toMatchObject({ step: 1, connections: 3, gradient_norm: null, distance: 5, mix_ms: 3 });
    expect(step!.loss).toBeCloseTo(mean(values(1)), 12);
    const [, last] = await ask([first], 'select * from evaluations order by step');
    expect(last).toMatchObject({
      replicas: 2,
      samples: 50,
      accuracy_min: 0.625,
      accuracy_max: 0.875,
      merged_loss: 0.4,
    });
    const runs = await ask([first, second], 'select * from runs order by seed');
    expect(runs).toMatchObject([
      { run: first.id, seed: 1, steps: 2, connections: 4, sent_bytes: 200, final_distance: 5, status: 'complete' },
      {
        run: second.id,
        seed: 2,
        name: 'other',
        accuracy: 0.75,
        merged_accuracy: 0.95,
        seconds: 3,
        'topology.kind': 'ring',
      },
    ]);
    expect(runs[0]).toMatchObject({ replicas: 7, 'learningRate.base': 0.1, 'model.hidden': '[128]', batch: 4 });
    expect(runs[0]!['context.node']).toBe(process.version);
  });

  it('have the dispersion that base/statistics.ts computes, to 1e-12', async () => {
    const rows = await ask([first], 'select * from dispersion order by step, tensor');
    const norms = [values(20), Array(replicas).fill(0.1), values(21), values(31)];
    rows.forEach((row, index) => {
      const wanted = dispersion(norms[index]!);
      expect(row.index_of_dispersion).toBeCloseTo(wanted.indexOfDispersion, 12);
      expect(row.coefficient_of_variation).toBeCloseTo(wanted.coefficientOfVariation, 12);
      expect(row.quartile_coefficient).toBeCloseTo(wanted.quartileCoefficient, 12);
      expect(row.gini).toBeCloseTo(wanted.gini, 12);
    });
    expect(rows).toHaveLength(4);
    expect(rows[1]).toMatchObject({ gini: 0, quartile_coefficient: 0, index_of_dispersion: 0 });
  });

  it('leave replicas that were lost out of dispersion and means', async () => {
    const [step] = events.filter((event) => event.type === 'step');
    const withLost = values(40).map((value, i) => (i === 2 || i === 6 ? null : value));
    const survived = await store('survived', 7, [
      { ...step!, step: 2, loss: withLost },
      { type: 'norms', step: 2, norms: [withLost] },
    ]);
    const there = withLost.filter((value) => value !== null);
    const [row] = await ask([survived], 'select * from dispersion where step = 2');
    const { gini, quartileCoefficient } = dispersion(there);
    expect(row!.gini).toBeCloseTo(gini, 12);
    expect(row!.quartile_coefficient).toBeCloseTo(quartileCoefficient, 12);
    const [{ loss }] = (await ask([survived], 'select loss from steps where step = 2')) as [{ loss: number }];
    expect(loss).toBeCloseTo(mean(there), 12);
    const each = await ask([survived], 'select replica, loss from replica_steps where step = 2 order by replica');
    expect(each.map((row) => row.loss)).toEqual(withLost);
  });

  it('take what a diverged run leaves behind', async () => {
    const norms = [[1, Number.NaN], Array(2).fill(Number.NaN), [1, Number.POSITIVE_INFINITY], [1e300, 2e300]];
    const diverged = await store('diverged', 6, [{ type: 'norms', step: 2, norms }]);
    const rows = await ask([diverged], 'select * from dispersion where step = 2');
    expect(rows.map((row) => row.gini)).toEqual([Number.NaN, Number.NaN, Number.NaN, expect.closeTo(1 / 6, 12)]);
  });

  it('leave out what cannot be read, and say so; the run itself is still listed', async () => {
    const young = start('young', 3);
    const broken = await store('broken', 4);
    const header = readFileSync(broken.database).fill(0, 0, 5000);
    writeFileSync(broken.database, header);
    // Damaged where only a question for its norms would notice.
    const many = Array.from({ length: 8000 }, (_, step): Event => ({ type: 'norms', step, norms: [values(step)] }));
    const cut = await store('cut', 5, many);
    const bytes = readFileSync(cut.database);
    writeFileSync(cut.database, bytes.fill(0xff, Math.floor(0.4 * bytes.length), Math.floor(0.6 * bytes.length)));
    const hasty = await Tables.open([cut]);
    expect(hasty.problems).toEqual([]);
    await expect(hasty.ask('select avg(norm) from norms')).rejects.toThrow();
    hasty.close();
    const answer = await withTables([first, cut], async (each) => {
      const { rows } = await each.ask('select distinct run from norms where norm is not null');
      return { rows, problems: each.problems };
    });
    expect(answer).toEqual({ rows: [{ run: first.id }], problems: [expect.stringMatching(/cut-.*cannot be read/)] });
    const tables = await Tables.open([young, first, broken, cut], { thorough: true });
    expect(tables.problems).toEqual([
      expect.stringMatching(/^young-\w+ has no events yet$/),
      expect.stringMatching(/broken-.*events\.duckdb cannot be read/),
      expect.stringMatching(/cut-.*events\.duckdb cannot be read/),
    ]);
    expect((await tables.ask('select distinct run from steps')).rows).toEqual([{ run: first.id }]);
    const listed = await tables.ask('select name, status, steps from runs order by seed');
    expect(listed.rows.map(Object.values)).toEqual([
      ['its', 'complete', 2],
      ['young', 'interrupted', null],
      ['broken', 'complete', null],
      ['cut', 'complete', null],
    ]);
    tables.close();
  });

  it('have null for what an older version did not store, and a resumed run stores it', async () => {
    const old = await store('old', 8);
    await change(
      old,
      'alter table steps drop column distance; alter table steps drop column probe_ms; drop table evaluations',
    );
    const tables = await Tables.open([old, first]);
    expect(tables.problems).toEqual([]);
    const { rows } = await tables.ask('select run, distance, ms from steps where step = 1 order by run desc');
    expect(rows).toEqual([
      { run: old.id, distance: null, ms: 10 },
      { run: first.id, distance: 5, ms: 15 },
    ]);
    expect((await tables.ask(`select merged_loss, steps from runs where run = '${old.id}'`)).rows).toEqual([
      { merged_loss: null, steps: 2 },
    ]);
    await tables.copy('steps', join(root, 'steps.csv'), 'csv');
    expect(readFileSync(join(root, 'steps.csv'), 'utf8').split('\n')[0]).toContain('distance');
    tables.close();
    const numbers = (sql: string) => readEvents(old.database, (events) => events.numbers(sql));
    expect((await numbers('select distance from steps'))!.get('distance')).toEqual(Float64Array.of(NaN, NaN));
    expect((await numbers('from evaluations'))!.get('step')).toHaveLength(0);
    const resumed = await EventStore.open(old.database);
    for (const event of events.filter((event) => event.type !== 'start')) await resumed.append(event);
    resumed.close();
    const again = (await numbers('select distance, ms from steps'))!;
    expect(again.get('distance')).toEqual(Float64Array.of(NaN, NaN, NaN, 5));
    expect(again.get('ms')).toEqual(Float64Array.of(10, 10, 15, 15));
    expect((await numbers('from evaluations'))!.get('merged_loss')).toEqual(Float64Array.of(0.4, 0.4));
  });

  it('leave out a database whose columns are of another type', async () => {
    const other = await store('mistyped', 9);
    await change(other, 'alter table steps alter column loss type varchar');
    const tables = await Tables.open([other]);
    expect(tables.problems).toEqual([
      `${other.database} cannot be read: column loss of steps is of type varchar, not double[]`,
    ]);
    tables.close();
    await expect(readEvents(other.database, async () => {})).rejects.toThrow(/column loss of steps is of type varchar/);
  });

  it('are the same if runs are attached a few at a time', async () => {
    const runs = [await store('late', 20), first, start('young', 21), await store('early', 22)];
    const [whole, gathered] = [await Tables.open(runs), await Tables.open(runs, { most: 2 })];
    expect(gathered.problems).toEqual(whole.problems);
    for (const name of Object.keys(tidyTables))
      expect(await gathered.ask(`from ${name}`), name).toEqual(await whole.ask(`from ${name}`));
    whole.close();
    gathered.close();
    const sealed = await Tables.open(runs, { most: 2 });
    await sealed.seal('select count(*) as n from steps');
    expect((await sealed.ask('select count(*) as n from steps')).rows).toEqual([{ n: 6 }]);
    sealed.close();
  });

  it('cannot be written once sealed, and nothing else be read', async () => {
    const tables = await Tables.open([first]);
    await tables.seal();
    expect((await tables.ask('select count(*) as n from norms')).rows).toEqual([{ n: 28 }]);
    const file = join(root, 'out.csv').replaceAll("'", "''");
    await expect(tables.ask(`copy runs to '${file}'`)).rejects.toThrow(/disabled by configuration/);
    await expect(tables.ask(`select * from read_text('/etc/hostname')`)).rejects.toThrow(/disabled by configuration/);
    await expect(tables.ask('delete from r0.steps')).rejects.toThrow(/read-only/);
    await expect(tables.ask('set enable_external_access = true')).rejects.toThrow(/locked/);
    tables.close();
  });
});
