import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '../src/base/random.ts';
import { samplesIn, survives } from '../test/data/mutated.ts';

/** Reads so many mutated files of users, of each format alike: `npx tsx scripts/fuzz-data.ts 100000 [first seed]`. */
const [count = 10_000, first = 0] = process.argv.slice(2).map(Number);
const folder = mkdtempSync(join(tmpdir(), 'dbench-fuzz-data-'));
const samples = await samplesIn(folder);
const refused = new Map<string, number>();
let slowest = 0;
for (let i = 0; i < count; i++) {
  const sample = samples[i % samples.length]!;
  const start = performance.now();
  try {
    if (!(await survives(folder, sample, new Random(first + i, 'test'))))
      refused.set(sample.name, (refused.get(sample.name) ?? 0) + 1);
  } catch (cause) {
    throw new Error(`mutation ${first + i} of ${sample.name}`, { cause });
  }
  slowest = Math.max(slowest, performance.now() - start);
}
rmSync(folder, { recursive: true });
console.log(`${count} files, refused ${JSON.stringify(Object.fromEntries(refused))}`);
console.log(
  `slowest ${slowest.toFixed(0)} ms, at most ${(process.resourceUsage().maxRSS / 1e3).toFixed(0)} MB of memory`,
);
