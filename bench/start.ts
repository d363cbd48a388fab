/**
 * What a run costs besides its steps: load, spawn, compile, store, exit. Runs of two steps are made one and eight at a time by the built
 * command; what each of seven more takes is the fixed cost of a run within a list.
 *
 *     npm run build && npx tsx bench/start.ts [--against ANOTHER_CHECKOUT] [--times 5]
 *
 * With --against, the other checkout, built too, is timed in turns with this one.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { quantile } from '../src/base/statistics.ts';

const { values } = parseArgs({ options: { against: { type: 'string' }, times: { type: 'string', default: '5' } } });
const checkouts = ['.', ...(values.against === undefined ? [] : [values.against])].map((folder) => resolve(folder));
const folder = mkdtempSync(join(tmpdir(), 'dbench-start-'));

function experiment(runs: number): string {
  const file = join(folder, `${runs}.json`);
  const settings = {
    name: 'start',
    replicas: 4,
    data: { kind: 'synthetic', train: 64, test: 32 },
    model: { kind: 'mlp', hidden: [16] },
    batch: 8,
    epochs: 1,
    learningRate: { base: 0.05 },
    sweep: { seed: Array.from({ length: runs }, (_, seed) => seed + 1) },
  };
  writeFileSync(file, JSON.stringify(settings));
  return file;
}

/** Milliseconds of `dbench` with these arguments. */
function timed(checkout: string, ...args: string[]): number {
  const start = performance.now();
  execFileSync(process.execPath, [join(checkout, 'dist/cli/main.js'), ...args], { cwd: folder, stdio: 'ignore' });
  return performance.now() - start;
}

const cases: Readonly<Record<string, (checkout: string) => number>> = {
  '--version': (checkout) => timed(checkout, '--version'),
  validate: (checkout) => timed(checkout, 'validate', experiment(1)),
  'one run': (checkout) => timed(checkout, 'run', experiment(1), '--runs', mkdtempSync(join(folder, 'runs-'))),
  'each of eight runs': (checkout) => {
    const [one, eight] = [1, 8].map((runs) =>
      timed(checkout, 'run', experiment(runs), '--runs', mkdtempSync(join(folder, 'runs-'))),
    );
    return (eight! - one!) / 7;
  },
};

const seen = new Map<string, number[][]>();
for (let time = 0; time < Number(values.times); time++)
  for (const [name, measure] of Object.entries(cases)) {
    const before = seen.get(name) ?? checkouts.map(() => []);
    seen.set(
      name,
      before.map((list, index) => [...list, measure(checkouts[index]!)]),
    );
  }
rmSync(folder, { recursive: true });

for (const [name, lists] of seen) {
  const [own, other] = lists.map((list) => quantile(list, 0.5));
  const against =
    other === undefined ? '' : `   there ${other.toFixed(0)} ms   here ÷ there ${(own! / other).toFixed(2)}`;
  console.log(`${name.padEnd(20)}${own!.toFixed(0).padStart(6)} ms${against}`);
}
