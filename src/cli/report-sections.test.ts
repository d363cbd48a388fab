import { expect, it } from 'vitest';
import type { Markup } from '../report/markup.ts';
import type { Report } from '../report/report.ts';
import { networkTimes } from '../report/tables.ts';
import { sectionsOf } from './report-sections.ts';

const estimate = (mean: number) => ({ mean, half: null, seeds: 1 });
const timed = (seconds: number) => ({
  elsewhere: false,
  asListed: null,
  reached: [{ accuracy: 0.9, seconds: estimate(seconds), steps: estimate(10), sentBytes: estimate(100), runs: 1 }],
});
const figures = ['accuracy', 'error', 'mergedAccuracy', 'mergedError', 'loss', 'connections', 'gossips', 'control'];
const others = ['peakGini', 'peakGiniAt', 'finalDistance', 'sentBytes', 'seconds'];
const group = (name: string) => ({
  ...Object.fromEntries([...figures, ...others].map((figure) => [figure, null])),
  ...{ name, replicas: 2, complete: 1, runs: [0], seeds: [1], reached: [] },
});
const unknown = { rho: null, p: null, points: 0 };

/** Two implementations that take so many seconds to 90 %. */
const report = (...seconds: readonly number[]) =>
  ({
    title: 'free',
    runs: [{ experiment: { name: 'a', consensus: { kind: 'none' } }, summary: { status: 'complete' } }],
    groups: [group('a'), group('b')],
    comparisons: [
      {
        label: 'n = 2',
        replicas: 2,
        groups: [0, 1],
        differences: [],
        ranked: [],
        rank: { all: [] },
        connectionsAccuracy: unknown,
        varianceAccuracy: unknown,
      },
    ],
    scaling: [],
    networks: [{ name: 'lan', compute: '0 ns', groups: seconds.map(timed) }],
  }) as unknown as Report;

it('times on a network are told as ratios to the fastest, unless that takes no time', () => {
  const cells = (given: Report) => sectionsOf(given, false).find(({ title }) => title.startsWith('Time to'))!.rows;
  expect(cells(report(1, 2))).toEqual([
    ['a', '1 s · 100 B · 1 ×'],
    ['b', '2 s · 100 B · 2 ×'],
  ]);
  expect(cells(report(0, 2))).toEqual([
    ['a', '0 ns · 100 B · –'],
    ['b', '2 s · 100 B · –'],
  ]);
  const page = (...seconds: number[]) => (networkTimes(report(...seconds)) as Markup).text;
  expect(page(1, 2)).toContain('<small>2 ×</small>');
  expect(page(0, 2)).not.toMatch(/NaN|Infinity/);
  expect(page(0, 2)).toContain('<small>–</small>');
});
