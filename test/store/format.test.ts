import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildReport } from '../../src/report/build.ts';
import { findRun, listRuns, readResult, standing, statusOf } from '../../src/store/runs.ts';
import { Tables } from '../../src/store/tables.ts';

// Ranks are worker threads of the built package.
const built = new URL('../../dist/run.js', import.meta.url);
const { run, resume } = (await import(built.href)) as typeof import('../../src/run.ts');

/** Two runs of one experiment as version 0.1 stored them: one complete, one stopped in its fifth of six steps. */
const stored = fileURLToPath(new URL('../golden/runs-0.1.tar.gz', import.meta.url));
const [complete, stopped] = ['small-6ee88785', 'small-6ee88785-2'] as const;

let folder: string;
let root: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-format-'));
  root = join(folder, 'runs');
  execFileSync('tar', ['-xzf', stored, '-C', folder]);
});
afterAll(() => rmSync(folder, { recursive: true }));

it('runs of version 0.1 are listed, asked and reported', async () => {
  const runs = listRuns(root);
  expect(runs.map(({ id }) => [id, statusOf(findRun(root, id))])).toEqual([
    [complete, 'complete'],
    [stopped, 'stopped'],
  ]);
  const tables = await Tables.open(runs);
  expect(tables.problems).toEqual([]);
  const asked = await tables.ask(
    'select run, count(*) as steps, sum(sent_bytes) as bytes from steps group by run order by run',
  );
  expect(asked.rows).toEqual([
    { run: complete, steps: 6, bytes: 10848 },
    { run: stopped, steps: 5, bytes: 9040 },
  ]);
  tables.close();
  const { runs: reported, notes } = await buildReport(runs);
  expect(reported.map(({ id }) => id)).toEqual([complete]);
  expect(notes).toEqual([`${stopped} is left out: it repeats ${complete}.`]);
});

it('a run of version 0.1 is resumed to what a straight run gives', async () => {
  const { experiment } = findRun(root, complete);
  expect(standing(root, experiment)).toMatchObject({ run: { id: complete }, status: 'complete' });
  for await (const _ of resume(findRun(root, stopped), { workers: 1 }));
  const straight = join(folder, 'straight');
  for await (const _ of run(experiment, { root: straight, backend: 'onnx', workers: 2 }));
  const [before, resumed, now] = [findRun(root, complete), findRun(root, stopped), listRuns(straight)[0]!].map(
    (each) => readResult(each)!,
  );
  expect(resumed).toMatchObject({ status: 'complete', step: 6 });
  // Bits are those of the library and of the processor's vectors: where they are as they were then, so are the parameters.
  if (now!.paramsSha256 === before!.paramsSha256) expect(resumed!.paramsSha256).toBe(before!.paramsSha256);
  // To a report the new run is the old one again.
  const { groups, notes } = await buildReport([findRun(root, complete), ...listRuns(straight)]);
  expect(groups).toHaveLength(1);
  expect(notes).toEqual([expect.stringMatching(/^small-\w+ is left out: it repeats small-\w+\.$/)]);
  const tables = await Tables.open(listRuns(root));
  const asked = await tables.ask('select loss from evaluations where step = 6');
  const [first, second] = asked.rows.map(({ loss }) => Number(loss));
  expect(second).toBeCloseTo(first!, 5);
  tables.close();
});
