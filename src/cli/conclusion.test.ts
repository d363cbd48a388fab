import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { resolve } from '../experiment/experiment.ts';
import type { RunSummary } from '../metric/summary.ts';
import { conclusion, nextCommands } from './conclusion.ts';

const given = {
  replicas: 8,
  data: { kind: 'mnist' },
  model: { kind: 'mlp' },
  batch: 8,
  epochs: 1,
  learningRate: { base: 0.1 },
};

function ended(name: string, accuracy: number, sentBytes: number, settings: object = {}) {
  const [experiment] = resolve({ ...given, name, topology: { kind: name }, ...settings }, 'test');
  const summary = { name, status: 'complete', accuracy: { mean: accuracy }, sentBytes } as RunSummary;
  return { experiment: experiment!, summary };
}

afterEach(() => vi.unstubAllEnvs());

const complete = ended('complete', 0.951, 3200);
const ring = ended('ring', 0.9204, 100);

it('says who loses, who is level, and for how many bytes', () => {
  const runs = [complete, ended('exponential', 0.9554, 320), ended('torus', 0.9485, 3200), ring];
  expect(conclusion(runs)).toBe(
    'In this one run per variant, against complete with 95.10 %: ring loses 3.1 points. ' +
      'Within half a point are exponential for 10 times fewer bytes and torus for the same bytes. Other seeds will move these numbers.',
  );
});

it('takes the centralized run as the baseline if no topology is complete', () => {
  const central = ended('C', 0.9, 200, { algorithm: { kind: 'centralized' }, topology: { kind: 'complete' } });
  expect(conclusion([central, ring])).toContain('against C with 90.00 %: ring gains 2.0 points.');
  expect(conclusion([central, complete])).toContain('against complete with 95.10 %: C loses 5.1 points.');
});

it('compares errors where numbers are predicted', () => {
  const data = { kind: 'table', path: 'none.csv', task: 'regression', label: 'price' };
  const of = (name: string, error: number, sentBytes: number) => {
    const run = ended(name, 0, sentBytes, { data });
    return { ...run, summary: { ...run.summary, accuracy: null, error: { mean: error, min: error, max: error } } };
  };
  expect(
    conclusion([of('complete', 0.2, 400), of('ring', 0.25, 100), of('torus', 0.1, 400), of('star', 0.201, 200)]),
  ).toBe(
    'In this one run per variant, against complete with an error of 0.2: ring has an error 25.0 % larger and torus has an error 50.0 % smaller. ' +
      'Within 1 % is star for 2 times fewer bytes. Other seeds will move these numbers.',
  );
});

it('is silent without a baseline, over several seeds or tasks, and about runs that did not end', () => {
  expect(conclusion([ring, ended('torus', 0.9, 100)])).toBeUndefined();
  expect(conclusion([complete, ended('ring', 0.9, 100, { seed: 2 })])).toBeUndefined();
  expect(conclusion([complete, ended('ring', 0.9, 100, { epochs: 2 })])).toBeUndefined();
  expect(conclusion([complete, { ...ring, summary: { ...ring.summary, status: 'diverged' } }])).toBeUndefined();
});

it('names commands as the shell finds them', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dbench-path-'));
  const next = () => nextCommands([complete, ring], 'runs').split('\n')[1];
  vi.stubEnv('npm_command', undefined);
  vi.stubEnv('PATH', folder);
  expect(next()).toBe('  npx dbench report --html report.html');
  writeFileSync(join(folder, 'dbench'), '');
  expect(next()).toBe('  dbench report --html report.html');
  // npx puts it on the path of what it starts.
  vi.stubEnv('npm_command', 'exec');
  expect(next()).toBe('  npx dbench report --html report.html');
  rmSync(folder, { recursive: true });
});
