import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Random } from '../../src/base/random.ts';
import { samplesIn, survives } from './mutated.ts';

/** By hand as many as wanted: npx tsx scripts/fuzz-data.ts 100000. Tables take a database each. */
const count = (name: string) => (/np[yz]$/.test(name) ? 500 : 10);

it('damaged files of users are refused in a sentence, or read', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dbench-fuzz-data-'));
  try {
    for (const sample of await samplesIn(folder)) {
      expect(await survives(folder, sample), sample.name).toBe(true);
      let refused = 0;
      for (let seed = 0; seed < count(sample.name); seed++)
        refused += (await survives(folder, sample, new Random(seed, 'test'))) ? 0 : 1;
      // Some changes make another sound file, others do not.
      expect(refused, sample.name).toBeGreaterThan(0);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
