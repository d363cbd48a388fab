import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { buildReport } from '../../src/report/build.ts';
import { reportHtml } from '../../src/report/html.ts';
import { observe } from '../../src/report/observe.ts';
import type { Report } from '../../src/report/report.ts';
import { listRuns } from '../../src/store/runs.ts';
import { storeRun } from './stored.ts';

const root = mkdtempSync(join(tmpdir(), 'dbench-verdicts-'));
afterAll(() => rmSync(root, { recursive: true }));

/** From few connections to many. */
const implementations = [
  { topology: { kind: 'ring' }, connections: 2 },
  { topology: { kind: 'one-peer-exponential' }, connections: 2.2 },
  { topology: { kind: 'exponential' }, connections: 2.4 },
  { topology: { kind: 'ada', k0: 3, kEnd: 2 }, connections: 2.6 },
  { topology: { kind: 'complete' }, connections: 3 },
];

let report: Report;
beforeAll(async () => {
  for (const seed of [1, 2, 3, 4, 5])
    for (const { topology, connections } of implementations)
      await storeRun(root, { settings: { name: topology.kind, seed, topology }, accuracy: [0.9], connections });
  report = await buildReport(listRuns(root));
});

/** How often the claim about connections is said to hold, if accuracy changes by `size` from the fewest to the most, in noise of deviation `noise`. */
function holding(size: number, noise: number, draws = 400): number {
  const places = implementations.map(({ topology }) => topology.kind as string);
  let holds = 0;
  for (let draw = 0; draw < draws; draw++) {
    const random = new Random(draw, 'test');
    const runs = report.runs.map((run) => {
      const place = places.indexOf(run.experiment.topology.kind) / (places.length - 1);
      const accuracy = { ...run.summary.accuracy!, mean: 0.9 + size * place + noise * random.normal() };
      return { ...run, summary: { ...run.summary, accuracy } };
    });
    const { holds: told } = observe({ ...report, runs }).find(({ kind }) => kind === 'connections')!;
    if (told === true) holds++;
  }
  return holds / draws;
}

it('a planted trend of two points is called by its name in four of five reports or more, with five seeds', () => {
  expect(holding(0.02, 0.005)).toBeGreaterThan(0.8);
});

it('pure noise is called a trend in one of twenty at most', () => {
  for (const noise of [0.002, 0.005, 0.02]) expect(holding(0, noise)).toBeLessThanOrEqual(0.05);
});

it('the page says that peak Gini leaves out tensors that start at 0', () => {
  expect(reportHtml(report)).toMatch(/Peak Gini is a mean over the weight tensors, .* start at 0/);
});
