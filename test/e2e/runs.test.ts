import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findRun, lock } from '../../src/store/runs.ts';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
let folder: string;

function dbench(...args: string[]) {
  return spawnSync(process.execPath, [main, ...args], { cwd: folder, encoding: 'utf8' });
}
const json = (...args: string[]) => JSON.parse(dbench(...args, '--json').stdout);
const ids = () => readdirSync(join(folder, 'runs')).sort();

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-house-'));
  const experiment = {
    name: 'small',
    replicas: 4,
    data: { kind: 'synthetic', train: 64, test: 16, shape: [8] },
    model: { kind: 'mlp', hidden: [4] },
    batch: 4,
    epochs: 1,
    learningRate: { base: 0.05 },
    compare: [
      { name: 'ring' },
      { name: 'torus', topology: { kind: 'torus' } },
      { name: 'star', topology: { kind: 'star' } },
    ],
  };
  writeFileSync(join(folder, 'small.json'), JSON.stringify(experiment));
  expect(dbench('run', 'small.json').status).toBe(0);
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (name: string) => findRun(join(folder, 'runs'), name);
const checkpoints = (name: string) => existsSync(run(name).checkpoints);

it('sizes are those of the files', () => {
  const sized = Number(
    spawnSync('du', ['-sb', '--apparent-size', run('ring').folder], { encoding: 'utf8' }).stdout.split('\t')[0],
  );
  const { bytes } = json('runs').find(({ name }: { name: string }) => name === 'ring');
  // du counts the folders themselves.
  expect(sized - bytes).toBeGreaterThanOrEqual(0);
  expect(sized - bytes).toBeLessThan(20_000);
});

it('nothing is removed without a yes, or in a dry run', () => {
  const before = ids();
  const refused = dbench('runs', 'delete', '*');
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
  expect(json('runs', 'delete', '*', '--dry-run')).toMatchObject({ removed: false, runs: [{}, {}, {}] });
  expect(dbench('runs', 'prune').status).toBe(2);
  expect(ids()).toEqual(before);
  expect(checkpoints('ring')).toBe(true);
});

it('a running run is refused, and with it all that was asked for', () => {
  const unlock = lock(run('star'));
  const refused = dbench('runs', 'delete', '*', '--yes');
  expect([refused.status, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/star-\w+ is running; nothing was removed/),
  ]);
  expect(ids()).toHaveLength(3);
  // Of all runs, only those that have ended are pruned.
  expect(json('runs', 'prune', '--yes').runs).toHaveLength(2);
  expect([checkpoints('ring'), checkpoints('star')]).toEqual([false, true]);
  unlock();
});

it('prune keeps results: the run is shown and reported as before', () => {
  expect(dbench('runs', 'prune', '--yes').stdout).toMatch(/removed the checkpoints of 1 run, /);
  expect(dbench('runs', 'prune', '--yes').stdout).toBe('nothing to prune in runs\n');
  expect(json('show', 'star')).toMatchObject({ status: 'complete', accuracy: { mean: expect.any(Number) } });
  expect(dbench('report').status).toBe(0);
});

it('delete takes ids and patterns, but no beginning that fits several', () => {
  expect(dbench('run', 'small.json', '--set', 'seed=2').status).toBe(0);
  expect(dbench('runs', 'delete', 'ring', '--yes')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('may be'),
  });
  expect(json('runs', 'delete', 'ring-*', 't*', '--yes')).toMatchObject({ removed: true, runs: [{}, {}, {}, {}] });
  expect(ids().map((id) => id.split('-')[0])).toEqual(['star', 'star']);
  expect(dbench('runs', 'delete', 'ring-*', '--yes').status).toBe(2);
});
