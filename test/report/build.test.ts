import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dispersion } from '../../src/base/statistics.ts';
import { reportText } from '../../src/cli/report-text.ts';
import { buildReport, newestTask } from '../../src/report/build.ts';
import type { Observation, Report } from '../../src/report/report.ts';
import { EventStore } from '../../src/store/database.ts';
import { findRuns, listRuns } from '../../src/store/runs.ts';
import { Tables } from '../../src/store/tables.ts';
import { type Story, storeRun } from './stored.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'dbench-report-'));
});
afterEach(() => rmSync(root, { recursive: true }));

/** High in the first fifth of 20 steps, then a tenth. */
const early = (height: number) => (step: number) => (step < 4 ? height : height / 10);

/** Four decentralized implementations and the centralized one, as the paper has them. */
const paper: readonly Story[] = [
  { settings: { name: 'C_complete', algorithm: { kind: 'centralized' } }, accuracy: [0.5, 0.9], spread: () => 0 },
  {
    settings: { name: 'D_complete', topology: { kind: 'complete' } },
    accuracy: [0.5, 0.9],
    spread: early(0.1),
    connections: 3,
    sentBytes: 300,
  },
  {
    settings: { name: 'D_exponential', topology: { kind: 'exponential' } },
    accuracy: [0.5, 0.88],
    spread: early(0.2),
    connections: 2.5,
    sentBytes: 250,
  },
  {
    settings: { name: 'D_ring', topology: { kind: 'ring' } },
    accuracy: [0.4, 0.8],
    spread: early(0.4),
    connections: 2,
    sentBytes: 200,
  },
  {
    settings: { name: 'Ada', topology: { kind: 'ada', k0: 3, kEnd: 2 } },
    accuracy: [0.5, 0.896],
    spread: early(0.15),
    connections: 2.8,
    sentBytes: 280,
  },
];
const seeded = async (stories: readonly Story[], settings: object = {}, seeds: readonly number[] = [1, 2, 3]) => {
  for (const seed of seeds) await store(stories, { ...settings, seed });
};
const store = async (stories: readonly Story[], settings: object = {}, change: Partial<Story> = {}) => {
  for (const story of stories)
    await storeRun(root, { ...story, ...change, settings: { ...story.settings, ...settings } });
};
const report = (options = {}) => buildReport(listRuns(root), options);
const holds = ({ observations }: Report) =>
  Object.fromEntries(observations.map(({ kind, holds }): [Observation['kind'], boolean | null] => [kind, holds]));
const observation = ({ observations }: Report, kind: Observation['kind']) =>
  observations.find((each) => each.kind === kind)!;
const finding = (found: Report, kind: Observation['kind']) => observation(found, kind).finding;
const needs = (found: Report, kind: Observation['kind']) => observation(found, kind).needs;

describe('one scale, one seed', () => {
  it('is compared, ranked and correlated', async () => {
    await store(paper);
    const found = await report();
    expect(found.title).toBe('mlp on mnist: 5 implementations at 4 replicas');
    expect(found.notes).toEqual([]);
    expect(found.groups.map(({ label }) => label)).toEqual(
      paper.map(({ settings }) => (settings as { name: string }).name),
    );
    const [comparison] = found.comparisons;
    expect(comparison).toMatchObject({
      label: 'n = 4',
      groups: [0, 1, 2, 3, 4],
      ranked: [1, 2, 3, 4],
      seeds: [1],
      rank: {
        epoch: [1, 2],
        all: [1, 3, 4, 2],
        early: [1, 3, 4, 2],
        byTensor: [
          [1, 1],
          [3, 3],
          [4, 4],
          [2, 2],
        ],
      },
      connectionsAccuracy: { rho: 1, p: 2 / 24, points: 4 },
      varianceAccuracy: { rho: -1, p: 2 / 24, points: 4 },
    });
    expect(found.scaling).toEqual([]);
  });

  it('gives numbers and no verdict', async () => {
    await store(paper);
    const found = await report();
    expect(holds(found)).toEqual({ scale: null, connections: null, variance: null, peak: null, ada: null });
    for (const kind of ['connections', 'variance', 'peak', 'ada'] as const)
      expect(needs(found, kind)).toBe('three or more seeds common to all (here 1)');
    expect(finding(found, 'connections')).toMatch(/^ρ\(connections, accuracy\) = 1\.00 \(p = 0\.083\) over 4/);
    expect(finding(found, 'ada')).toMatch(/^Ada 89\.60 %, D_complete 90\.00 % \(difference −0\.40 points\)/);
  });

  it('says nothing of Ada if there is none', async () => {
    await seeded(paper.slice(0, -1));
    const found = await report();
    expect(Object.keys(holds(found))).toEqual(['scale', 'connections', 'variance', 'peak']);
    expect(needs(found, 'connections')).toBe('four or more complete decentralized implementations (here 3)');
    expect(needs(found, 'variance')).toBe('four or more complete decentralized implementations (here 3)');
    expect(holds(found).peak).toBe(true);
  });

  it('says nothing of an Ada that keeps all connections', async () => {
    await seeded(paper.slice(0, -1));
    await store(paper.slice(-1), {}, { connections: 3, sentBytes: 300 });
    const found = await report();
    expect(holds(found).ada).toBeNull();
    expect(finding(found, 'ada')).toMatch(/it is the complete topology/);
  });

  it('has curves and costs as they were stored', async () => {
    await store(paper.slice(3, 4));
    const { runs, groups } = await report();
    const run = runs[0]!;
    expect(run.steps).toMatchObject({ stepsPerPoint: 1 });
    expect(run.steps.step).toEqual(Array.from({ length: 20 }, (_, i) => i));
    expect([run.steps.epoch[4], run.steps.sentBytes[4], run.steps.seconds[4]]).toEqual([0.5, 1000, 0.5]);
    expect([run.steps.loss.mean[0], run.steps.loss.min[0], run.steps.loss.max[0]]).toEqual([2.5, 1, 4]);
    expect(run.evaluations).toMatchObject({ step: [10, 20], epoch: [1, 2], sentBytes: [2000, 4000] });
    const norms = (tensor: number, spread: number) => [0, 1, 2, 3].map((i) => 1 + tensor * spread * (i / 4));
    for (const name of ['gini', 'indexOfDispersion', 'coefficientOfVariation', 'quartileCoefficient'] as const) {
      expect(run.variance.tensors[name][1]![0]).toBeCloseTo(dispersion(norms(2, 0.4))[name], 12);
      const mean = (dispersion(norms(1, 0.04))[name] + dispersion(norms(2, 0.04))[name]) / 2;
      expect(run.variance.mean[name][19]).toBeCloseTo(mean, 12);
    }
    expect(run.peakGiniAt).toBe(0);
    expect(
      groups[0]!.reached.map(({ accuracy, epochs, sentBytes, seconds, runs }) => [
        accuracy,
        epochs?.mean,
        sentBytes?.mean,
        seconds?.mean,
        runs,
      ]),
    ).toEqual([
      [0.72, 2, 4000, expect.closeTo(2, 9), 1],
      [0.76, 2, 4000, expect.closeTo(2, 9), 1],
      [0.79, 2, 4000, expect.closeTo(2, 9), 1],
    ]);
  });
});

describe('observations that do not hold', () => {
  it('are said not to', async () => {
    await seeded([
      ...paper.slice(0, 3),
      { ...paper[3]!, accuracy: [0.5, 0.95], spread: (step) => step },
      { ...paper[4]!, accuracy: [0.5, 0.89] },
    ]);
    const found = await report();
    expect(holds(found)).toEqual({ scale: null, connections: false, variance: false, peak: false, ada: false });
    expect(finding(found, 'connections')).toMatch(/from least to most connections/);
    expect(finding(found, 'peak')).toMatch(/not early for D_ring; .* too much for D_ring/);
    expect(finding(found, 'ada')).toMatch(
      /Ada 89\.00 ± 0\.00 %, D_complete 90\.00 ± 0\.00 % \(difference −1\.00 ± 0\.00 points\)/,
    );
  });

  it('cannot be told from one run', async () => {
    await store(paper.slice(1, 2));
    const found = await report();
    expect(holds(found)).toEqual({ scale: null, connections: null, variance: null, peak: null });
    expect(found.comparisons[0]!.differences).toEqual([]);
    const text = reportText(found, 1000).split('Claims of the paper\n\n')[1]!.split('\n');
    expect(text.filter((line) => line.startsWith('- “'))).toEqual(text);
    expect(text).toContainEqual(
      expect.stringMatching(
        /^- “Accuracy rises with .*”, “Accuracy falls with the variance .*”: needs four or more .* \(here 1\)\.$/,
      ),
    );
  });

  it('or are left open where the interval reaches to both sides of half a point', async () => {
    await seeded(paper.slice(0, -1));
    // −.2, −.6 and −.4 points: −.4 ± .5.
    await store(paper.slice(-1), { seed: 1 }, { accuracy: [0.5, 0.898] });
    await store(paper.slice(-1), { seed: 2 }, { accuracy: [0.5, 0.894] });
    await store(paper.slice(-1), { seed: 3 }, { accuracy: [0.5, 0.896] });
    const found = await report();
    expect(holds(found).ada).toBeNull();
    expect(needs(found, 'ada')).toMatch(/^more seeds: the interval of the difference reaches to both sides/);
  });
});

describe('accuracies that tie', () => {
  it('do so over seeds in any order, in ranks, ρ and p', async () => {
    const tied: readonly [number, readonly number[]][] = [
      [2, [0.7, 0.8, 0.9]],
      [3, [0.9, 0.8, 0.7]],
      [3, [0.8, 0.9, 0.7]],
      [1, [0.6, 0.7, 0.5]],
    ];
    for (const [story, [connections, accuracies]] of tied.entries())
      for (const [seed, accuracy] of accuracies.entries())
        await storeRun(root, {
          ...paper[story + 1]!,
          settings: { ...paper[story + 1]!.settings, seed: seed + 1 },
          connections,
          accuracy: [0.1, accuracy],
        });
    const found = await report();
    const [a, b, c] = found.groups.map(({ accuracy }) => accuracy!.mean);
    expect([a, b, c]).toEqual([0.8, 0.8, 0.8]);
    // Ranks 2, 3.5, 3.5, 1 of connections against 3, 3, 3, 1 of accuracy.
    const { rho, p } = found.comparisons[0]!.connectionsAccuracy;
    expect(rho).toBeCloseTo(3 / Math.sqrt(4.5 * 3), 12);
    // The one that is least must meet the least: one pairing in four.
    expect(p).toBe(1 / 4);
    expect(found.comparisons[0]!.differences[0]!.accuracy).toMatchObject({ seeds: 3, mean: expect.closeTo(0, 12) });
  });

  it('reach the accuracy they hit exactly', async () => {
    await store(paper.slice(3, 4), {}, { accuracy: [0.63, 0.7] });
    const [first] = (await report()).groups[0]!.reached;
    expect([first!.accuracy, first!.epochs!.mean]).toEqual([0.63, 1]);
  });
});

describe('several seeds', () => {
  it('are one group, with intervals; differences are taken seed by seed', async () => {
    // Seeds move all accuracies by ten points; Ada is .4 below complete in each.
    for (const [seed, shift] of [
      [1, 0],
      [2, -0.1],
      [3, 0.05],
    ] as const)
      for (const story of paper)
        await storeRun(root, {
          ...story,
          settings: { ...story.settings, seed },
          accuracy: [0.3, story.accuracy[1]! + shift],
        });
    const found = await report();
    expect(found.groups).toHaveLength(5);
    const complete = found.groups[1]!;
    expect(complete).toMatchObject({ seeds: [1, 2, 3], runs: [3, 4, 5], complete: 3 });
    expect(complete.accuracy!.mean).toBeCloseTo(0.9 - 0.05 / 3, 12);
    // s² = (Σx² − (Σx)²/3)/2 of 0, −.1, .05.
    const s = Math.sqrt((0.0125 - 0.0025 / 3) / 2);
    expect(complete.accuracy!.half).toBeCloseTo((4.302653 * s) / Math.sqrt(3), 6);
    expect(found.comparisons[0]!.seeds).toEqual([1, 2, 3]);
    expect(holds(found)).toMatchObject({ connections: true, variance: true, peak: true, ada: true });
    expect(finding(found, 'ada')).toMatch(/difference −0\.40 ± 0\.00 points/);
    const { differences } = found.comparisons[0]!;
    expect(differences.map(({ a, b }) => `${a}${b}`).join(' ')).toBe('01 02 03 04 12 13 14 23 24 34');
    expect(differences[6]).toMatchObject({ a: 1, b: 4, accuracy: { mean: expect.closeTo(0.004, 12), seeds: 3 } });
    expect(differences[6]!.accuracy!.half).toBeCloseTo(0, 12);
  });

  it('that not all have are not ranked', async () => {
    await store(paper.slice(0, 3), { seed: 1 });
    await store(paper.slice(3), { seed: 2 });
    const found = await report();
    expect(found.comparisons[0]!.ranked).toEqual([]);
    expect(found.notes).toEqual([expect.stringMatching(/n = 4: no seed is common/)]);
    expect(found.comparisons[0]!.connectionsAccuracy.rho).toBe(1);
  });

  it('are not two where a run was repeated', async () => {
    await store(paper.slice(3, 4));
    await store(paper.slice(3, 4), { description: 'again' }, { status: undefined });
    const found = await report();
    expect(found.groups[0]!.complete).toBe(1);
    expect(found.notes).toEqual([expect.stringMatching(/^D_ring-[\w-]+ is left out: it repeats D_ring-\w+\.$/)]);
  });

  it('nor where a folder of runs was copied', async () => {
    await store(paper.slice(2, 4));
    const copy = join(root, 'copy');
    for (const { folder, id } of listRuns(root)) cpSync(folder, join(copy, id), { recursive: true });
    const found = await buildReport([...findRuns(root, root), ...findRuns(root, copy)]);
    expect(found.runs).toHaveLength(2);
    expect(found.notes).toHaveLength(2);
    for (const { folder, id } of listRuns(root))
      expect(found.notes).toContain(`${folder} is left out: it repeats ${join(copy, id)}.`);
    for (const name of ['a', 'b']) cpSync(copy, join(root, name), { recursive: true });
    const many = await buildReport(
      [root, copy, join(root, 'a'), join(root, 'b')].flatMap((word) => findRuns(root, word)),
    );
    expect(many.notes).toEqual([expect.stringMatching(/^6 runs are left out: they repeat others, as .* does .*\.$/)]);
  });
});

it('different runs with one id are refused, in reports and tables', async () => {
  await store(paper.slice(2, 4));
  const [one, other] = listRuns(root);
  mkdirSync(join(root, 'more'));
  renameSync(other!.folder, join(root, 'more', one!.id));
  const runs = [...listRuns(root), ...listRuns(join(root, 'more'))];
  const both = `two runs have the id ${one!.id}: ${one!.folder} and ${join(root, 'more', one!.id)}`;
  await expect(buildReport(runs)).rejects.toThrow(both);
  await expect(Tables.open(runs)).rejects.toThrow(both);
});

describe('several scales', () => {
  it('are compared each, and over all', async () => {
    for (const [replicas, shift] of [
      [4, 0],
      [6, -0.02],
      [8, -0.1],
    ] as const)
      await seeded(
        paper.map((story) => ({ ...story, accuracy: [0.3, story.accuracy[1]! + shift] })),
        { replicas },
      );
    const found = await report();
    expect(found.comparisons.map(({ label }) => label)).toEqual(['n = 4', 'n = 6', 'n = 8']);
    expect(found.groups[5]!.label).toBe('C_complete, n = 6');
    expect(found.scaling).toHaveLength(5);
    expect(found.scaling[3]).toMatchObject({
      name: 'D_ring',
      replicas: [4, 6, 8],
      groups: [3, 8, 13],
      correlation: { rho: -1, p: 2 / 6 },
    });
    expect(holds(found)).toEqual({ scale: true, connections: true, variance: true, peak: true, ada: true });
    expect(finding(found, 'connections')).toMatch(/^Holds at n = 4, 6 and 8\. At n = 8: /);
  });
});

describe('settings that differ', () => {
  it('tell groups of one name apart', async () => {
    await store(paper.slice(3, 4), { learningRate: { base: 0.1 } });
    await store(paper.slice(3, 4), { learningRate: { base: 0.2 } });
    expect((await report()).groups.map(({ name }) => name)).toEqual([
      'D_ring, learningRate.base = 0.1',
      'D_ring, learningRate.base = 0.2',
    ]);
  });

  it('of the task are refused, unless mixing is wanted', async () => {
    await store(paper);
    await store(paper.slice(0, 2), { batch: 8 });
    await expect(report()).rejects.toThrow(
      /these runs at 4 replicas are of different tasks\n {2}batch = 4: C_complete-\w+ and 4 more\n {2}batch = 8: C_complete-\w+ and 1 more/,
    );
    const mixed = await report({ mixed: true });
    expect(mixed.comparisons.map(({ label, groups }) => [label, groups.length])).toEqual([
      ['n = 4, batch = 4', 5],
      ['n = 4, batch = 8', 2],
    ]);
    expect(newestTask(listRuns(root))).toHaveLength(2);
  });

  it('between data sets and models are refused at any scale', async () => {
    await store(paper.slice(0, 1));
    await store(paper.slice(0, 1), { replicas: 8, model: { kind: 'cnn' } });
    await expect(report()).rejects.toThrow(/different tasks\n {2}model.kind = mlp.*\n {2}model.kind = cnn/);
  });

  it('may go with the scale', async () => {
    await store(paper.slice(0, 1));
    await store(paper.slice(0, 1), { replicas: 8, batch: 2 });
    expect((await report()).comparisons).toHaveLength(2);
  });
});

describe('what cannot be read', () => {
  it('is left out with a word, and all of it an error', async () => {
    await store(paper.slice(0, 3));
    const [damaged, going] = listRuns(root);
    writeFileSync(damaged!.database, 'no database');
    writeFileSync(join(going!.folder, 'lock'), String(process.pid));
    rmSync(going!.database);
    const found = await report();
    expect(found.runs).toHaveLength(1);
    expect(found.notes).toEqual([
      expect.stringMatching(/^C_complete-\w+ is left out: .*events\.duckdb cannot be read/),
      expect.stringMatching(/^D_complete-\w+ is left out: it is still running/),
    ]);
    await expect(buildReport([damaged!, going!])).rejects.toThrow(
      /nothing to report on yet\n .*cannot be read.*\n .*still running/,
    );
  });

  it('or has no steps is named', async () => {
    await store(paper.slice(0, 1));
    const [run] = listRuns(root);
    rmSync(run!.database);
    (await EventStore.open(run!.database)).close();
    await expect(report()).rejects.toThrow(/C_complete-\w+ is left out: it has no steps/);
  });
});

describe('partial runs', () => {
  it('that lost replicas are compared by those that are left, and named', async () => {
    await store(paper.slice(3, 4), {}, { lost: 3 });
    await store(paper.slice(2, 3));
    const { runs, groups, notes } = await report();
    const norms = [1, 1 + 0.4 * (1 / 4), 1 + 0.4 * (2 / 4)];
    const ring = runs.find(({ summary }) => summary.name === 'D_ring')!;
    expect(ring.variance.tensors.gini[0]![0]).toBeCloseTo(dispersion(norms).gini, 12);
    expect(ring.summary).toMatchObject({ status: 'complete', accuracy: { mean: expect.closeTo(0.8, 12) } });
    expect(groups.map(({ complete }) => complete)).toEqual([1, 1]);
    expect(notes).toEqual([
      expect.stringMatching(
        /^D_ring-\w+ is complete, but not with all replicas \(rank 1 with replica 3 was lost in step 0\)/,
      ),
    ]);
  });

  it('are shown and marked, but not compared', async () => {
    await store(paper);
    const partial: [Partial<Story>, object][] = [
      [{ status: 'stopped' }, { name: 'a' }],
      [{ status: undefined }, { name: 'b' }],
      [{ status: 'diverged' }, { name: 'c' }],
    ];
    for (const [change, settings] of partial) await store(paper.slice(3, 4), settings, change);
    const found = await report();
    expect(found.groups).toHaveLength(8);
    expect(found.groups.slice(5).map(({ complete }) => complete)).toEqual([0, 0, 0]);
    expect(found.groups[5]!.accuracy!.mean).toBeCloseTo(0.8, 12);
    expect(found.comparisons[0]!.connectionsAccuracy.points).toBe(4);
    expect(found.comparisons[0]!.ranked).toEqual([1, 2, 3, 4]);
    expect(found.notes).toEqual([
      expect.stringMatching(/^a-\w+ is stopped after 20 steps: shown, but not compared\.$/),
      expect.stringMatching(/^b-\w+ is interrupted after 20 steps/),
      expect.stringMatching(/^c-\w+ is diverged after 20 steps \(the loss of replica 0 is NaN at step 3\)/),
    ]);
  });

  it('of a group do not count where others are complete', async () => {
    await store(paper.slice(3, 4), { seed: 1 });
    await store(paper.slice(3, 4), { seed: 2 }, { accuracy: [0.1, 0.1], status: undefined });
    const [group] = (await report()).groups;
    expect(group).toMatchObject({ seeds: [1, 2], complete: 1, accuracy: { seeds: 1 } });
    expect(group!.accuracy!.mean).toBeCloseTo(0.8, 12);
  });

  it('with figures out of bounds are no trouble', async () => {
    await store(paper.slice(3, 4), {}, { spread: (step) => (step < 15 ? 0.1 : Number.NaN), status: 'diverged' });
    const found = await report();
    expect(JSON.parse(JSON.stringify(found))).toEqual(found);
    expect(found.runs[0]!.variance.mean.gini.slice(13)).toEqual([
      expect.any(Number),
      expect.any(Number),
      null,
      null,
      null,
      null,
      null,
    ]);
    expect(found.runs[0]!.peakGini).toBeGreaterThan(0);
  });
});

describe('long runs', () => {
  it('are thinned out, which is said; peaks are not', async () => {
    await store(paper.slice(3, 4), {}, { stepsPerEpoch: 500, spread: (step) => (step === 123 ? 1 : 0.01) });
    const { runs, notes } = await report();
    const { steps, variance, peakGini, peakGiniAt } = runs[0]!;
    expect([steps.step.length, steps.stepsPerPoint, variance.stepsPerPoint]).toEqual([334, 3, 3]);
    expect(steps.step.slice(0, 2)).toEqual([2, 5]);
    expect(steps.step.at(-1)).toBe(999);
    expect(steps.sentBytes.at(-1)).toBe(200 * 1000);
    expect(peakGiniAt).toBe(0.123);
    // The bucket of steps 123 to 125.
    const norms = (tensor: number, spread: number) => [0, 1, 2, 3].map((i) => 1 + tensor * spread * (i / 4));
    const mean = (spread: number) => (dispersion(norms(1, spread)).gini + dispersion(norms(2, spread)).gini) / 2;
    expect(peakGini).toBeCloseTo(mean(1), 12);
    expect(variance.mean.gini[41]).toBeCloseTo((mean(1) + 2 * mean(0.01)) / 3, 12);
    expect(notes).toEqual([expect.stringMatching(/a point stands for up to 3 steps/)]);
  });

  it('of 1008 replicas and 1000 steps still work', async () => {
    const run = await storeRun(root, {
      settings: { replicas: 1008 },
      accuracy: [0.5, 0.9],
      stepsPerEpoch: 1,
      spread: () => 1,
    });
    const instance = await DuckDBInstance.create(run.database);
    const connection = await instance.connect();
    await connection.run(`insert into tensors select i, 't' || i, '3', 'weight', 3 from range(2, 6) r(i);
      insert into steps by name select s as step, 1 as epoch, 2 as connections, 0.1 as learning_rate, l as loss, l as accuracy,
          l as gradient_norm, 1 as distance, 1 as gossips, 100 as sent_bytes, 2 as sent_messages
        from (select s, list_transform(range(1008), i -> i / 1008) l from range(2, 1000) r(s)) order by s;
      insert into norms select s, t, list_transform(range(1008), i -> 1 + i / (s + 1)) from range(1000) r(s), range(2, 6) q(t);
      insert into norms select s, t, list_transform(range(1008), i -> 1 + i / (s + 1)) from range(2, 1000) r(s), range(2) q(t)`);
    connection.closeSync();
    instance.closeSync();
    const { runs } = await report();
    expect(runs[0]!.variance.tensors.gini).toHaveLength(6);
    expect(runs[0]!.variance.step.length).toBeLessThanOrEqual(400);
    // The last point: steps 999 alone, or the mean of up to three.
    const last = [999].map((s) => dispersion(Array.from({ length: 1008 }, (_, i) => 1 + i / (s + 1))).gini);
    expect(runs[0]!.variance.tensors.gini[3]!.at(-1)).toBeCloseTo(last[0]!, 12);
  }, 120_000);
});

describe('runs are found', () => {
  it('by id, beginning, pattern and folder', async () => {
    await store(paper);
    const ids = listRuns(root).map(({ id }) => id);
    const found = (word: string) => findRuns(root, word).map(({ id }) => id);
    expect(found(ids[2]!)).toEqual([ids[2]]);
    expect(found('D_')).toEqual(ids.slice(1, 4));
    expect(found('*complete*')).toEqual(ids.slice(0, 2));
    expect(found('D_*')).toEqual(ids.slice(1, 4));
    expect(found(join(root, ids[4]!))).toEqual([ids[4]]);
    expect(found(join(root, ids[4]!, '.'))).toEqual([ids[4]]);
    expect(found(root)).toEqual(ids);
    expect(() => found('D_rnig')).toThrow(/there is no run "D_rnig"/);
    expect(() => found('*x')).toThrow(/there is no run "\*x"/);
    mkdirSync(join(root, 'empty'));
    expect(() => found(join(root, 'empty'))).toThrow(/there are no runs in the folder .*empty/);
  });
});
