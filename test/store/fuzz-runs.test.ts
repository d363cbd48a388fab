import { execFileSync } from 'node:child_process';
import { copyFileSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { UserError } from '../../src/base/error.ts';
import { Random } from '../../src/base/random.ts';
import { summarizeRun } from '../../src/metric/summary.ts';
import { buildReport } from '../../src/report/build.ts';
import { findRun, scanRuns, standing } from '../../src/store/runs.ts';
import { Tables } from '../../src/store/tables.ts';
import { mutateBytes, mutateValue } from './mutate.ts';

const stored = fileURLToPath(new URL('../golden/runs-0.1.tar.gz', import.meta.url));
const parts = ['experiment.json', 'context.json', 'result.json'] as const;

let folder: string;
let whole: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-fuzz-runs-'));
  execFileSync('tar', ['-xzf', stored, '-C', folder]);
  whole = join(folder, 'runs', 'small-6ee88785');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A run folder with one of its files damaged: its values, or its bytes. */
function damage(root: string, seed: number): void {
  const random = new Random(seed, 'test');
  const target = join(root, `small-${seed}`);
  mkdirSync(target, { recursive: true });
  for (const part of parts) copyFileSync(join(whole, part), join(target, part));
  const what = random.below(12);
  if (what === 0) writeFileSync(join(target, 'lock'), mutateBytes(Buffer.from('{"pid":1,"host":"a"}'), random));
  if (what === 1) {
    const bytes = readFileSync(join(whole, 'events.duckdb'));
    writeFileSync(join(target, 'events.duckdb'), mutateBytes(bytes, random));
    return;
  }
  // Opening databases is what takes time.
  if (seed % 10 === 0) linkSync(join(whole, 'events.duckdb'), join(target, 'events.duckdb'));
  const part = parts[random.below(parts.length)]!;
  const content = readFileSync(join(whole, part));
  const value = JSON.parse(content.toString());
  writeFileSync(
    join(target, part),
    random.below(4) === 0 ? mutateBytes(content, random) : JSON.stringify(mutateValue(value, random)),
  );
}

/** Fails on anything but a sentence for the user. */
async function refusedOrDone(what: string, work: () => unknown): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof UserError)) throw new Error(what, { cause: error });
  }
}

/** Everything that reads run folders, over a folder of damaged ones. */
async function readAll(root: string): Promise<{ readonly sound: number; readonly problems: readonly string[] }> {
  const { runs, problems } = scanRuns(root);
  const { experiment } = findRun(join(folder, 'runs'), 'small-6ee88785');
  await refusedOrDone('standing', () => standing(root, experiment));
  for (const run of runs) await refusedOrDone(run.id, () => summarizeRun(run));
  const tables = await Tables.open(runs, { thorough: true });
  for (const question of ['from runs', 'select count(*) from steps', 'select avg(gini) from dispersion'])
    await tables.ask(question);
  tables.close();
  await refusedOrDone('report', () => buildReport(runs, { mixed: true }));
  return { sound: runs.length, problems: [...problems, ...tables.problems] };
}

const count = Number(process.env.DBENCH_FUZZ_RUNS ?? 200);
const atOnce = 100;

it('damaged run folders are left out in one sentence each, and never in the way of others', async () => {
  for (let first = 0; first < count; first += atOnce) {
    const root = join(folder, `damaged-${first}`);
    for (let seed = first; seed < first + atOnce; seed++) damage(root, seed);
    const { sound, problems } = await readAll(root);
    for (const problem of problems) expect(problem).not.toMatch(/[\n\0]/);
    expect(sound).toBeLessThan(atOnce);
    expect(problems.length).toBeGreaterThan(atOnce / 4);
    rmSync(root, { recursive: true });
  }
});
