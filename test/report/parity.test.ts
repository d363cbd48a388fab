import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Estimate, Report } from '../../src/report/report.ts';
import { dbench, small } from '../engine/runs.ts';

const seeds = [1, 2, 3];
const experiment = {
  ...small,
  compare: [
    { name: 'C_complete', algorithm: { kind: 'centralized' } },
    { name: 'D_complete', topology: { kind: 'complete' } },
    { name: 'D_torus', topology: { kind: 'torus' } },
    { name: 'D_ring', topology: { kind: 'ring' } },
    // The complete topology at first, to the same bits: ranks have ties.
    { name: 'Ada', topology: { kind: 'ada', k0: 11, kEnd: 2 } },
  ],
};

let folder: string;
let report: Report;
let connection: DuckDBConnection;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-parity-'));
  writeFileSync(join(folder, 'small.json'), JSON.stringify(experiment));
  for (const seed of seeds) {
    const { status, stderr } = await dbench(['compare', 'small.json', '--set', `seed=${seed}`], folder);
    if (status !== 0) throw new Error(stderr);
  }
  const { stdout } = await dbench(['report', '--json', '--tables', 'tables', '--parquet'], folder);
  await dbench(['report', '--tables', 'tables'], folder);
  report = JSON.parse(stdout);
  connection = await (await DuckDBInstance.create()).connect();
  for (const name of readdirSync(join(folder, 'tables')).filter((file) => file.endsWith('.parquet')))
    await sql(`create view ${name.replace('.parquet', '')} as from '${join(folder, 'tables', name)}'`);
  await sql(recomputed);
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

const sql = async (text: string) => (await connection.runAndReadAll(text)).getRowObjectsJson();
/** One number a key. */
const table = async (text: string) =>
  new Map((await sql(text)).map(({ key, value }) => [String(key), value === null ? null : Number(value)]));

function expectEqual(found: number | null | undefined, expected: number | null | undefined, what: string): void {
  expect(expected, what).not.toBeUndefined();
  if (typeof found === 'number' && typeof expected === 'number')
    expect(Math.abs(found - expected), what).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(expected)));
  else expect(found, what).toBe(expected);
}

/** All figures anew from the rows of the Parquet files, by other means: double sums, window functions, enumeration. */
const recomputed = `
  create table setting as select run, name, seed, "algorithm.kind" <> 'centralized' decentralized from runs;
  create table gini as
    select a.run, a.step, a.tensor, sum(abs(a.norm - b.norm)) / (2 * count(*) * avg(a.norm)) gini
    from norms a join norms b using (run, step, tensor) group by all;
  create table mean_gini as select run, step, avg(gini) gini from gini where tensor like '%weight' group by all;
  create table final as
    select run, avg(accuracy) accuracy, avg(loss) loss, any_value(merged_accuracy) merged
    from evaluations e where step = (select max(step) from evaluations where run = e.run) group by run;
  -- Equal up to rounding is equal.
  create table ranks as
    select name, seed, step, tensor,
      rank() over place + (count(*) over same - 1) / 2 as rank
    from gini join setting using (run) where decentralized
    window place as (partition by seed, step, tensor order by round(gini, 12)),
      same as (partition by seed, step, tensor, round(gini, 12));
  create table points as
    select name, avg(accuracy) accuracy, avg(connections) connections,
      (select avg(rank) from ranks r where r.name = s.name) rank,
      (select avg(rank) from ranks r where r.name = s.name and step < 0.2 * 30) early,
      (select avg(rank) from ranks r where r.name = s.name and step >= 0.2 * 30) late
    from setting s join final using (run)
      join (select run, avg(connections) connections from steps group by run) using (run)
    where decentralized group by name;
  create macro shared_rank(x) as rank() over (order by x) + (count(*) over (partition by x) - 1) / 2;
`;

describe('figures of --json, computed anew from Parquet,', () => {
  it('agree in the dispersion of every tensor and step', async () => {
    const statistics = {
      gini: 'gini',
      indexOfDispersion: 'var_pop(norm) / avg(norm)',
      coefficientOfVariation: 'stddev_pop(norm) / avg(norm)',
      // Q1 and Q3 are the values at places ⌊n/4⌋ and ⌊3n/4⌋, counted from 0.
      quartileCoefficient: `(list_sort(list(norm))[10] - list_sort(list(norm))[4]) / (list_sort(list(norm))[10] + list_sort(list(norm))[4])`,
    };
    for (const [name, formula] of Object.entries(statistics)) {
      const source = name === 'gini' ? 'gini' : 'norms';
      const value = name === 'gini' ? 'any_value(gini)' : formula;
      const expected = await table(
        `select run || ' ' || step || ' ' || tensor as key, ${value} as value from ${source} group by run, step, tensor`,
      );
      let compared = 0;
      for (const { id, variance, tensors } of report.runs)
        variance.tensors[name as keyof typeof statistics].forEach((column, tensor) => {
          column.forEach((found, row) => {
            const key = `${id} ${variance.step[row]} ${tensors[tensor]!.name}`;
            expectEqual(found, expected.get(key), `${name} of ${key}`);
            compared += 1;
          });
        });
      expect(compared).toBe(15 * 30 * 4);
      expect(expected.size).toBe(compared);
    }
  });

  it('agree with the exported dispersion', async () => {
    const [found] = await sql(`select count(*) n, max(abs(d.gini - g.gini)) as error
      from dispersion d join gini g using (run, step, tensor)`);
    expect(Number(found!.n)).toBe(15 * 30 * 4);
    expect(Number(found!.error)).toBeLessThan(1e-9);
  });

  it('agree in where Gini peaks and what is left', async () => {
    const peak = await table('select run as key, max(gini) as value from mean_gini group by run');
    const at = await table('select run as key, arg_min(step, (-gini, step)) / 30 as value from mean_gini group by run');
    const late = await table('select run as key, avg(gini) as value from mean_gini where step >= 24 group by run');
    for (const run of report.runs) {
      expectEqual(run.peakGini, peak.get(run.id), run.id);
      expectEqual(run.lateGini, late.get(run.id), run.id);
      if (run.peakGini !== 0) expectEqual(run.peakGiniAt, at.get(run.id), run.id);
      else expect(run.peakGiniAt).toBeNull();
    }
  });

  it('agree in the curves', async () => {
    const of = (value: string) =>
      table(`select run || ' ' || step as key, ${value} as value from replica_steps group by run, step`);
    const spent = (value: string) =>
      table(
        `select run || ' ' || step as key, sum(${value}) over (partition by run order by step) as value from steps`,
      );
    const columns: [string, Map<string, number | null>, (run: Report['runs'][number]) => readonly (number | null)[]][] =
      [
        ['loss', await of('avg(loss)'), ({ steps }) => steps.loss.mean],
        ['least loss', await of('min(loss)'), ({ steps }) => steps.loss.min],
        ['largest accuracy', await of('max(accuracy)'), ({ steps }) => steps.accuracy.max],
        ['sent', await spent('sent_bytes'), ({ steps }) => steps.sentBytes],
        [
          'seconds',
          await spent('(data_ms + compute_ms + mix_ms + wait_ms + probe_ms) / 1000'),
          ({ steps }) => steps.seconds,
        ],
        [
          'Ξ',
          await table("select run || ' ' || step as key, distance as value from steps"),
          ({ steps }) => steps.distance,
        ],
      ];
    for (const [name, expected, column] of columns)
      for (const run of report.runs)
        column(run).forEach((found, step) => {
          expectEqual(found, expected.get(`${run.id} ${step}`), `${name} of ${run.id} at ${step}`);
        });
  });

  it('agree in means and intervals over seeds', async () => {
    const figures: [string, string, (group: Report['groups'][number]) => Estimate | null][] = [
      ['accuracy', 'final', ({ accuracy }) => accuracy],
      ['loss', 'final', ({ loss }) => loss],
      ['merged', 'final', ({ mergedAccuracy }) => mergedAccuracy],
      ['sent', '(select run, sum(sent_bytes) sent from steps group by run)', ({ sentBytes }) => sentBytes],
      ['peak', '(select run, max(gini) peak from mean_gini group by run)', ({ peakGini }) => peakGini],
    ];
    // The quantile of Student's t with two degrees of freedom in closed form.
    const t = '0.95 * sqrt(2 / (1 - 0.95 ** 2))';
    for (const [column, source, estimate] of figures) {
      const joined = `setting join ${source} using (run) group by name`;
      const means = await table(`select name as key, avg(${column}) as value from ${joined}`);
      const halves = await table(`select name as key, ${t} * stddev_samp(${column}) / sqrt(3) as value from ${joined}`);
      for (const group of report.groups) {
        expectEqual(estimate(group)!.mean, means.get(group.name), `${column} of ${group.name}`);
        expectEqual(estimate(group)!.half, halves.get(group.name), `interval of ${column} of ${group.name}`);
      }
    }
  });

  it('agree in the differences between any two, seed by seed', async () => {
    const { differences } = report.comparisons[0]!;
    expect(differences).toHaveLength(10);
    for (const { a, b, accuracy } of differences) {
      const [one, other] = [a, b].map((index) => report.groups[index]!.name);
      const [expected] = await sql(`select avg(d) mean, 0.95 * sqrt(2 / (1 - 0.95 ** 2)) * stddev_samp(d) / sqrt(3) half
        from (select any_value(accuracy) filter (name = '${one}') - any_value(accuracy) filter (name = '${other}') d
          from setting join final using (run) group by seed)`);
      expectEqual(accuracy!.mean, Number(expected!.mean), `${one} − ${other}`);
      expectEqual(accuracy!.half, Number(expected!.half), `interval of ${one} − ${other}`);
    }
  });

  it('agree in the variance ranks', async () => {
    const [comparison] = report.comparisons;
    const { ranked, rank } = comparison!;
    expect(ranked.map((index) => report.groups[index]!.name)).toEqual(['D_complete', 'D_torus', 'D_ring', 'Ada']);
    const of = (key: string, where = 'true') =>
      table(`select ${key} as key, avg(rank) as value from ranks where ${where} group by all`);
    const [all, early, late] = [await of('name'), await of('name', 'step < 6'), await of('name', 'step >= 6')];
    const byEpoch = await of("name || ' ' || (step // 10 + 1)");
    const byTensor = await of("name || ' ' || tensor");
    ranked.forEach((index, place) => {
      const { name, runs } = report.groups[index]!;
      expectEqual(rank.all[place], all.get(name), name);
      expectEqual(rank.early[place], early.get(name), `${name} early`);
      expectEqual(rank.late[place], late.get(name), `${name} late`);
      rank.epoch.forEach((epoch, e) => {
        expectEqual(rank.byEpoch[place]![e], byEpoch.get(`${name} ${epoch}`), `${name} in epoch ${epoch}`);
      });
      report.runs[runs[0]!]!.tensors.forEach(({ name: tensor }, t) => {
        expectEqual(rank.byTensor[place]![t], byTensor.get(`${name} ${tensor}`), `${name} ${tensor}`);
      });
    });
    // There were ties, or they would not be tested here.
    expect((await sql('select * from ranks where rank <> floor(rank)')).length).toBeGreaterThan(0);
  });

  it('agree in ρ and in its p-value over all pairings', async () => {
    const [comparison] = report.comparisons;
    const { connectionsAccuracy, varianceAccuracy } = comparison!;
    const correlations = {
      connections: connectionsAccuracy,
      rank: varianceAccuracy,
      early: varianceAccuracy.early,
      late: varianceAccuracy.late,
    };
    for (const [column, found] of Object.entries(correlations)) {
      const [expected] = await sql(`
        with r as (select row_number() over (order by name) i, shared_rank(${column}) x, shared_rank(accuracy) y from points),
          pairing as (
            select a.y ya, b.y yb, c.y yc, d.y yd from r a, r b, r c, r d
            where a.i not in (b.i, c.i, d.i) and b.i not in (c.i, d.i) and c.i <> d.i),
          x as (select list(x order by i) x from r),
          each_rho as (
            select (select corr(v.x, v.y) from
              (select unnest(x.x) x, unnest([ya, yb, yc, yd]) y) v) rho from pairing, x)
        select (select corr(x, y) from r) rho,
          (select count(*) filter (abs(e.rho) >= abs((select corr(x, y) from r)) - 1e-9) / count(*) from each_rho e) p`);
      expectEqual(found.rho, Number(expected!.rho), `ρ of ${column}`);
      expectEqual(found.p, Number(expected!.p), `p of ${column}`);
      expect(found.points).toBe(4);
    }
  });

  it('agree in the cost to an accuracy', async () => {
    for (const group of report.groups)
      for (const { accuracy, runs, epochs, sentBytes, seconds } of group.reached) {
        const [expected] = await sql(`
          with reached as (
            select run, min(step) step from (select run, step, avg(accuracy) accuracy from evaluations group by all)
            where accuracy >= ${accuracy} group by run)
          select count(*) runs, avg(epochs) epochs, avg(bytes) as bytes, avg(seconds) as seconds from (
            select run, any_value(r.step) / 10 epochs, sum(sent_bytes) as bytes,
              sum(data_ms + compute_ms + mix_ms + wait_ms + probe_ms) / 1000 as seconds
            from reached r join setting using (run) join steps s using (run)
            where name = '${group.name}' and s.step < r.step group by run)`);
        expect(runs).toBe(Number(expected!.runs));
        if (runs === 0) continue;
        expectEqual(epochs!.mean, Number(expected!.epochs), group.name);
        expectEqual(sentBytes!.mean, Number(expected!.bytes), group.name);
        expectEqual(seconds!.mean, Number(expected!.seconds), group.name);
      }
  });
});

describe('exported tables', () => {
  it('are the same as CSV and as Parquet, whole and in order', async () => {
    const files = readdirSync(join(folder, 'tables')).sort();
    const names =
      'dispersion edges evaluations links norms replica_evaluations replica_steps runs steps tensors virtual_steps'.split(
        ' ',
      );
    expect(files).toEqual(names.flatMap((name) => [`${name}.csv`, `${name}.parquet`]));
    for (const name of names) {
      const [csv] = await sql(
        `select count(*) n from read_csv('${join(folder, 'tables', `${name}.csv`)}', header = true)`,
      );
      const [parquet] = await sql(`select count(*) n from ${name}`);
      expect(csv).toEqual(parquet);
    }
    const [norms] = await sql(`select max(abs(a.norm - b.norm)) as error, count(*) n
      from norms a positional join '${join(folder, 'tables', 'norms.csv')}' b where (a.run, a.step, a.tensor, a.replica) = (b.run, b.step, b.tensor, b.replica)`);
    expect([Number(norms!.error), Number(norms!.n)]).toEqual([0, 15 * 30 * 4 * 12]);
    const steps = await sql('select step from steps where run = (select run from runs limit 1)');
    expect(steps.map(({ step }) => Number(step))).toEqual(Array.from({ length: 30 }, (_, i) => i));
  });

  it('have settings and summaries, a row a run', async () => {
    const rows = await sql(
      'select run, name, seed, replicas, "topology.kind" as kind, "topology.k0" as k0, accuracy, status from runs',
    );
    expect(rows).toHaveLength(15);
    expect(rows.find(({ name, seed }) => name === 'Ada' && Number(seed) === 2)).toMatchObject({
      kind: 'ada',
      status: 'complete',
    });
    for (const { id, summary } of report.runs)
      expectEqual(summary.accuracy!.mean, Number(rows.find(({ run }) => run === id)!.accuracy), id);
  });
});

describe('the command', () => {
  const run = (...args: string[]) => dbench(['report', ...args], folder);

  it('prints results and observations, as text and as Markdown', async () => {
    const text = await run();
    expect(text.status).toBe(0);
    expect(text.stdout).toMatch(/^mlp on synthetic: 5 implementations at 12 replicas\n\nResults, n = 12\n/);
    expect(text.stdout).toMatch(/\nD_ring +2 +\d\d\.\d\d ± \d+\.\d\d /);
    expect(text.stdout.split('\nClaims of the paper\n')[1]).toMatch(/Accuracy rises with the number\s+of connections/);
    const { stdout } = await run('D_', 'Ada', '--md');
    expect(stdout).toMatch(/^# mlp on synthetic: 4 implementations at 12 replicas\n/);
    expect(stdout).toMatch(/\n\| implementation \| connections \|.*\n\| --- \| ---: \|/);
  });

  it('tells what is wrong', async () => {
    const refused = async (...args: string[]) => {
      const { status, stderr, stdout } = await run(...args);
      expect([status, stdout]).toEqual([2, '']);
      return stderr;
    };
    mkdirSync(join(folder, 'empty'), { recursive: true });
    writeFileSync(join(folder, 'file'), '');
    expect(await refused('--runs', 'empty')).toMatch(
      /there are no runs in empty\nhint: start some with: dbench compare/,
    );
    expect(await refused('empty')).toMatch(/there are no runs in the folder empty/);
    expect(await refused('D_rnig')).toMatch(/there is no run "D_rnig" in runs/);
    expect(await refused('--tables', 'file/tables')).toMatch(
      /cannot make the folder file\/tables: a part of the path is not a folder/,
    );
  });

  it('reports on what it can read while another process writes a run', async () => {
    const ids = readdirSync(join(folder, 'runs'));
    const [id, other] = ['D_ring', 'Ada'].map((name) => ids.find((each) => each.startsWith(name))!);
    for (const each of [id, other])
      cpSync(join(folder, 'runs', each!), join(folder, 'open', each!), { recursive: true });
    writeFileSync(join(folder, 'open', id!, 'lock'), String(process.pid));
    const writing = await DuckDBInstance.create(join(folder, 'open', id!, 'events.duckdb'));
    try {
      const { status, stdout } = await run('--runs', 'open', '--json', '--tables', 'some', '--parquet');
      expect(status).toBe(0);
      const found = JSON.parse(stdout) as Report;
      expect(found.runs.map((each) => each.id)).toEqual([other]);
      expect(found.notes[0]).toMatch(/^D_ring-\w+ is left out: it is still running/);
      expect(await sql(`select distinct run from '${join(folder, 'some', 'norms.parquet')}'`)).toEqual([
        { run: other },
      ]);
    } finally {
      writing.closeSync();
    }
  });
});
