import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { command } from './schedule.ts';

const folder = mkdtempSync(join(tmpdir(), 'dbench-schedule-'));
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

it('has no ratio to a time of 0', async () => {
  const path = join(folder, 'free.yaml');
  const network = '{ kind: uniform, latency: 0s, rate: 1Gb/s }';
  writeFileSync(path, `network: ${network}\ndevices: 4\nstages: 2\ngradients: 0B\nactivations: 0B\ncompute: 0s\n`);
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((text = '') => void lines.push(String(text)));
  await command().parseAsync([path], { from: 'user' });
  const text = lines.join('\n');
  expect(text).not.toMatch(/NaN|Infinity/);
  expect(text).toMatch(/in the listed order\s+0 ns, – as long/);
  expect(text).toMatch(/all-reduce\s+0 ns\s+–/);
});
