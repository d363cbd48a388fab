import { appendFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { carryOut } from './study/carry-out.ts';
import { experimentOf, jobs } from './study/jobs.ts';
import { header, keyOf, lineOf, readRows, type StudyRow, stored } from './study/rows.ts';

/**
 * The study of docs/study.md. What is in docs/study/runs.csv, or in a file of the folder, is not run again.
 *
 *     npx tsx scripts/study.ts run study-runs --part 1/2      carries out what is missing, into study-runs/1-of-2.csv
 *     npx tsx scripts/study.ts collect study-runs              takes what is there into docs/study/runs.csv
 *     npx tsx scripts/study.ts missing study-runs              how many runs are left, by cell
 *     npm run docs && npx tsx scripts/study/figures.ts         tables, criteria and figures from docs/study/runs.csv
 */
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { part: { type: 'string', default: '1/1' }, only: { type: 'string', default: '' } },
});
const [command = 'missing', folder = 'study-runs'] = positionals;

const known = () => {
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.csv')) : [];
  const rows = [...readRows(stored), ...files.flatMap((file) => readRows(join(folder, file)))];
  return new Map(rows.map((row) => [keyOf(row), row]));
};
const wanted = () => jobs().filter((job) => keyOf(job).startsWith(values.only));

async function run(): Promise<void> {
  const [part, parts] = values.part.split('/').map(Number) as [number, number];
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${part}-of-${parts}.csv`);
  if (!existsSync(file)) writeFileSync(file, header);
  const all = wanted();
  const mine = all.filter((_, index) => index % parts === part - 1);
  for (;;) {
    // What replays the schedule of a run that is not finished is looked at again later.
    const done = known();
    const left = mine.filter((job) => !done.has(keyOf(job)));
    const job = left.find((each) => experimentOf(each, done) !== undefined);
    if (job === undefined) {
      console.log(left.length === 0 ? 'nothing is left' : `${left.length} runs wait for others`);
      return;
    }
    const start = performance.now();
    const row = await carryOut(job, experimentOf(job, done)!);
    appendFileSync(file, lineOf(row));
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(
      `${all.filter((each) => !done.has(keyOf(each))).length - 1} left  ${keyOf(job)}  ${(100 * row.mergedAccuracy).toFixed(2)} %  ${(row.bytes / row.modelBytes).toFixed(0)} copies  ${seconds} s`,
    );
  }
}

function collect(): void {
  const rows = known();
  const inOrder = jobs()
    .map((job) => rows.get(keyOf(job)))
    .filter((row): row is StudyRow => row !== undefined);
  mkdirSync(dirname(fileURLToPath(stored)), { recursive: true });
  writeFileSync(stored, header + inOrder.map(lineOf).join(''));
  console.log(`${inOrder.length} runs in docs/study/runs.csv`);
}

function missing(): void {
  const done = known();
  const left = new Map<string, [number, number]>();
  for (const job of wanted()) {
    const [found, all] = left.get(job.cell) ?? [0, 0];
    left.set(job.cell, [found + (done.has(keyOf(job)) ? 1 : 0), all + 1]);
  }
  for (const [cell, [found, all]] of left) console.log(`${cell}: ${found} of ${all} runs done`);
}

if (command === 'run') await run();
else if (command === 'collect') collect();
else missing();
