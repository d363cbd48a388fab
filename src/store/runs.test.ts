import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { resolve } from '../experiment/experiment.ts';
import { machineContext } from './context.ts';
import { identityOf } from './identity.ts';
import { createRun, findRun, listRuns, lock, refuseSecond, scanRuns, standing, statusOf, writeResult } from './runs.ts';

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
  const unlock = lock(run);
  expect(statusOf(run)).toBe('running');
  await expect(refuseSecond(run)).resolves.toBeUndefined();
  writeResult(run, { status: 'stopped', step: 3, paramsSha256: '', seconds: 1 });
  unlock();
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
  expect(scanRuns(root).problems).toEqual(
    expect.arrayContaining([expect.stringMatching(/result\.json is damaged: it is not JSON/)]),
  );
  for (const [file, part] of [
    ['result', 'status'],
    ['context', 'startedAt'],
    ['experiment', 'name'],
  ] as const)
    for (const [wrong, problem] of [
      ['{}', `${part}: is missing; it must be `],
      ['null', 'must be a group of settings, got null'],
    ]) {
      const third = create();
      const path = join(third.folder, `${file}.json`);
      writeFileSync(path, wrong!);
      expect(scanRuns(root).problems).toContainEqual(
        expect.stringContaining(`${path} is damaged or of another version: ${problem}`),
      );
    }
  writeFileSync(join(root, 'file'), '');
  // A loop of links can be read by nobody, not even by root.
  mkdirSync(join(root, 'loop'));
  symlinkSync('experiment.json', join(root, 'loop', 'experiment.json'));
  expect(scanRuns(root).problems).toContainEqual(expect.stringMatching(/cannot read the file .*loop/));
  expect(() => scanRuns(join(root, 'file'))).toThrow(/cannot read the folder .*: a part of the path is not a folder/);
});

/** Settings and fields that did not exist yet when a run was stored. */
function forget(folder: string, file: string, ...paths: readonly string[]): void {
  const content = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  for (const path of paths) {
    const [key, ...above] = path.split('.').reverse();
    delete above.reduceRight((group, each) => group[each], content)[key!];
  }
  writeFileSync(join(folder, file), JSON.stringify(content));
}

it('a run that is older than some settings has their defaults, and is still the same run', () => {
  const run = create();
  forget(run.folder, 'experiment.json', 'probes', 'optimizer.nesterov', 'learningRate.scaling', 'description');
  forget(run.folder, 'context.json', 'format');
  const old = { ...run, folder: join(root, 'small-01234567') };
  renameSync(run.folder, old.folder);
  const [read] = listRuns(root);
  expect(read!.experiment).toEqual(experiment);
  expect(JSON.stringify(read!.experiment)).toBe(JSON.stringify({ ...experiment, description: undefined }));
  expect(standing(root, experiment!)).toMatchObject({ run: { id: 'small-01234567' }, status: 'interrupted' });
});

it('a run is known by the settings that differ from their defaults', () => {
  const { description: _, ...bare } = experiment!;
  expect(JSON.parse(identityOf(experiment!))).toEqual({
    batch: 4,
    data: { kind: 'mnist' },
    epochs: 2,
    learningRate: { base: 0.1 },
    model: { kind: 'mlp' },
    name: 'small',
    replicas: 2,
  });
  expect(identityOf({ ...bare, description: 'other words' })).toBe(identityOf(experiment!));
  expect(identityOf({ ...bare, seed: 2 })).not.toBe(identityOf(experiment!));
  expect(identityOf({ ...bare, probes: { ...bare.probes, norms: false } })).not.toBe(identityOf(experiment!));
});

it('a run in a newer format is left out, with a word', () => {
  const run = create();
  const path = join(run.folder, 'context.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), format: 7, dbench: '9.9.9' }));
  expect(scanRuns(root).problems).toEqual([
    `${run.folder} was stored by dbench 9.9.9 in format 7; this version reads up to 1`,
  ]);
});
