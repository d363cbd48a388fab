/**
 * What it takes to look at many stored runs: time and memory of the commands that read them. Twenty runs are trained and stored again and again
 * under other seeds, which is what a large sweep leaves behind as far as readers can tell.
 *
 *     npm run build && npx tsx bench/stored.ts [--count 2000] [--against ANOTHER_CHECKOUT] [--folder KEEP_THEM_HERE]
 *
 * With --against, the other checkout, built too, is timed after this one at each command.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '2000' }, against: { type: 'string' }, folder: { type: 'string' } },
});
const checkouts = ['.', ...(values.against === undefined ? [] : [values.against])].map((folder) => resolve(folder));
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'dbench-stored-'));
const root = join(folder, 'runs');
const count = Number(values.count);

/** Seconds and megabytes at most of `dbench` with these arguments. */
function measured(checkout: string, ...args: string[]): { readonly seconds: number; readonly megabytes: number } {
  const start = performance.now();
  const command = [process.execPath, join(checkout, 'dist/cli/main.js'), ...args];
  const { stderr, status } = spawnSync('/usr/bin/time', ['-f', 'peak %M', ...command], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (status !== 0) throw new Error(stderr);
  return { seconds: (performance.now() - start) / 1000, megabytes: Number(/peak (\d+)/.exec(stderr)![1]) / 1024 };
}

/** Two topologies at ten learning rates, and each of these runs again as if it had been made with other seeds. */
function make(): void {
  const file = join(folder, 'sweep.json');
  const settings = {
    name: 'stored',
    replicas: 16,
    data: { kind: 'synthetic', train: 4096, test: 128 },
    model: { kind: 'mlp', hidden: [16] },
    batch: 8,
    epochs: 2,
    learningRate: { base: 0.05 },
    compare: ['ring', 'exponential'].map((kind) => ({ name: kind, topology: { kind } })),
    sweep: { 'learningRate.base': Array.from({ length: 10 }, (_, i) => (i + 1) / 50) },
  };
  writeFileSync(file, JSON.stringify(settings));
  measured(checkouts[0]!, 'run', file, '--runs', root);
  const originals = readdirSync(root);
  for (let seed = 2; seed <= Math.ceil(count / originals.length); seed++)
    for (const id of originals) {
      const copy = join(root, `${id}-${seed}`);
      cpSync(join(root, id), copy, { recursive: true });
      const experiment = JSON.parse(readFileSync(join(copy, 'experiment.json'), 'utf8'));
      writeFileSync(join(copy, 'experiment.json'), JSON.stringify({ ...experiment, seed }));
    }
}

if (!existsSync(root)) make();
const one = readdirSync(root)[0]!;
const commands: Readonly<Record<string, readonly string[]>> = {
  runs: ['runs'],
  show: ['show', one],
  query: ['query', 'select name, avg(accuracy) as accuracy, avg(final_distance) as distance from runs group by name'],
  'query dispersion': ['query', 'select count(*) as rows, max(gini) as gini from dispersion'],
  report: ['report'],
  'report --html': ['report', '--html', join(folder, 'report.html')],
};
console.log(`${readdirSync(root).length} runs`);
for (const [name, args] of Object.entries(commands)) {
  const found = checkouts.map((checkout) => measured(checkout, ...args, '--runs', root));
  const cells = found.map(({ seconds, megabytes }) =>
    `${seconds.toFixed(1)} s ${megabytes.toFixed(0)} MB`.padStart(18),
  );
  console.log(`${name.padEnd(20)}${cells.join('   there ')}`);
}
if (values.folder === undefined) rmSync(folder, { recursive: true });
