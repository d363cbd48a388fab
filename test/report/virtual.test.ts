import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { reportMarkdown, reportText } from '../../src/cli/report-text.ts';
import { findNetwork } from '../../src/experiment/network.ts';
import { buildReport } from '../../src/report/build.ts';
import { networkChoices } from '../../src/report/choice.ts';
import { type Story, storeRun } from './stored.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'dbench-virtual-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const devices = { compute: '10ms' };
const slow = { kind: 'uniform', latency: '1ms', rate: '1kB/s', name: 'slow' };
const story = (name: string, settings: object, more: Partial<Story> = {}): Story => ({
  settings: { name, devices, ...settings },
  accuracy: [0.5, 0.9],
  ...more,
});
const stored = (stories: readonly Story[]) => Promise.all(stories.map((each) => storeRun(root, each)));

it('says who is first on a network, and whether steps or their length decide', async () => {
  const runs = await stored([
    story('D_ring', { topology: { kind: 'ring' } }, { accuracy: [0.5, 0.9] }),
    // As good after half of the steps; each takes longer.
    story('D_complete', { topology: { kind: 'complete' } }, { accuracy: [0.9, 0.9], sentBytes: 300 }),
  ]);
  const networks = [{ name: 'slow', network: slow, devices: {} }, findNetwork('a100')];
  const report = await buildReport(runs, { networks });
  const [onSlow, onFast] = networkChoices(report);
  // A message of 48 bytes takes 48 ms: two of them, or three, after 10 ms and a latency of 1 ms.
  expect(report.networks[0]!.groups.map(({ seconds }) => seconds!.mean)).toEqual([20 * 0.107, 20 * 0.155]);
  expect(onSlow).toMatchObject({ network: 'slow', accuracy: 0.89, name: 'D_complete' });
  expect(onSlow!.why).toBe(
    '1.55 s, 10 steps of 155 ms; next is D_ring, 2.14 s, 20 steps of 107 ms: fewer steps outweigh that they are longer; the least bytes are those of D_ring, 2 kB instead of 3 kB, which takes 2.14 s',
  );
  expect(onFast!.name).toBe('D_complete');
  expect(report.networks.map(({ compute }) => compute)).toEqual(['10 ms', '10 ms']);
  for (const text of [reportText(report, 100), reportMarkdown(report)]) {
    expect(text).toContain('What to use on each network');
    expect(text).toContain('slow: D_complete is first to 89 %, after 1.55 s');
  }
});

it('runs with a network are timed on it without being asked; --compute goes before what runs and networks say', async () => {
  const runs = await stored([story('D_ring', { network: slow })]);
  const own = await buildReport(runs);
  expect(own.networks.map(({ name, compute }) => [name, compute])).toEqual([['slow', '10 ms']]);
  const file = { name: 'mine', network: slow, devices: { compute: '20ms' } };
  expect((await buildReport(runs, { networks: [file] })).networks[0]!.compute).toBe('20 ms');
  expect((await buildReport(runs, { networks: [file], compute: '5ms' })).networks[0]!.compute).toBe('5 ms');
});

it('what learned by the times of a network is not timed on another', async () => {
  const runs = await stored([
    story('D_ring', {}),
    story('AD-PSGD', { algorithm: { kind: 'ad-psgd' }, topology: { kind: 'complete' }, network: 'lan' }),
  ]);
  const report = await buildReport(runs, { networks: [findNetwork('lan'), findNetwork('home')] });
  expect(report.networks.map(({ groups }) => groups.map(({ elsewhere }) => elsewhere))).toEqual([
    [false, false],
    [false, true],
  ]);
  expect(reportText(report, 100)).not.toMatch(/on home[\s\S]*AD-PSGD[\s\S]*What to use/);
});
