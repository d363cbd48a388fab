import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { resolve } from '../experiment/experiment.ts';
import { machineContext } from './context.ts';
import { createRun, findRun, lock, refuseSecond, scanRuns, statusOf, unlock, writeResult } from './runs.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'dbench-runs-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const [experiment] = resolve(
  {
    name: 'small',
    replicas: 2,
    data: { kind: 'mnist' },
    model: { kind: 'mlp' },
    batch: 4,
    epochs: 2,
    learningRate: { base: 0.1 },
  },
  'test',
);
const create = () => createRun(root, experiment!, machineContext(1, { name: 'onnx', version: '1.2.3' }));
/** No process has it: numbers end at 2²². */
const nobody = String(2 ** 30);

it('the status of a run follows from who writes it and how it ended', async () => {
  const run = create();
  expect(statusOf(run)).toBe('interrupted');
  lock(run);
  expect(statusOf(run)).toBe('running');
  await expect(refuseSecond(run)).resolves.toBeUndefined();
  writeResult(run, { status: 'stopped', step: 3, paramsSha256: '', seconds: 1 });
  unlock(run);
  expect(statusOf(run)).toBe('stopped');
  // Resumed and killed.
  writeFileSync(join(run.folder, 'lock'), nobody);
  expect(statusOf(run)).toBe('interrupted');
  writeFileSync(join(run.folder, 'lock'), String(process.ppid));
  expect(statusOf(run)).toBe('running');
  await expect(refuseSecond(run)).rejects.toThrow(/is being written by process/);
  // Killed after it had said how it ended.
  writeFileSync(join(run.folder, 'lock'), nobody);
  writeResult(run, { status: 'complete', step: 3, paramsSha256: '', seconds: 1 });
  expect(statusOf(run)).toBe('complete');
});

it('a folder that is taken, whatever is in it, is never used again', () => {
  const first = create();
  rmSync(join(first.folder, 'experiment.json'));
  const second = create();
  expect(second.id).toBe(`${first.id}-2`);
  expect(readdirSync(first.folder)).toEqual(['context.json']);
  expect(scanRuns(root).runs.map(({ id }) => id)).toEqual([second.id]);
});

it('what is wrong with a run that cannot be read is said', () => {
  const run = create();
  rmSync(join(run.folder, 'context.json'));
  expect(scanRuns(root)).toMatchObject({ runs: [], problems: [expect.stringMatching(/context\.json/)] });
  expect(() => findRun(root, run.id)).toThrow(/context\.json/);
  const other = create();
  writeFileSync(join(other.folder, 'result.json'), '{');
  expect(scanRuns(root).problems).toEqual(expect.arrayContaining([expect.stringMatching(/result\.json is damaged/)]));
  for (const [file, part] of [
    ['result', 'status'],
    ['context', 'startedAt'],
    ['experiment', 'name'],
  ] as const)
    for (const wrong of ['{}', '[]', 'null']) {
      const third = create();
      writeFileSync(join(third.folder, `${file}.json`), wrong);
      expect(scanRuns(root).problems).toContain(
        `${join(third.folder, `${file}.json`)} is damaged or of another version: it has no "${part}"`,
      );
    }
  writeFileSync(join(root, 'file'), '');
  // A loop of links can be read by nobody, not even by root.
  mkdirSync(join(root, 'loop'));
  symlinkSync('experiment.json', join(root, 'loop', 'experiment.json'));
  expect(scanRuns(root).problems).toContainEqual(expect.stringMatching(/cannot read the file .*loop/));
  expect(() => scanRuns(join(root, 'file'))).toThrow(/cannot read the folder .*: a part of the path is not a folder/);
});
