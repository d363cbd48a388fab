/**
 * Ten thousand replicas on one machine: time per step, memory and what is stored, against a thousand.
 *
 *     npm run build && npx tsx bench/large.ts [--kinds exponential,one-peer-exponential,complete] [--counts 1008,10080] [--steps 4] [--folder KEEP_THEM_HERE]
 *
 * The mlp 784-64-10 at batch 8, plain SGD, all probes as they are by default; one evaluation of 16 replicas and one checkpoint at the end. A step is the
 * median without the first, which meets its memory for the first time. The bound of memory is 2.2 × n × P × 4 bytes + 1 GB.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { quantile } from '../src/base/statistics.ts';
import { bytes, table } from '../src/cli/print.ts';
import { listRuns } from '../src/store/runs.ts';
import { readEvents } from '../src/store/views.ts';

const { values } = parseArgs({
  options: {
    kinds: { type: 'string', default: 'exponential,one-peer-exponential,complete' },
    counts: { type: 'string', default: '1008,10080' },
    steps: { type: 'string', default: '4' },
    folder: { type: 'string' },
  },
});
const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'dbench-large-'));
const steps = Number(values.steps);
const parameters = 784 * 64 + 64 + 64 * 10 + 10;

interface Found {
  readonly stepMs: number;
  readonly phases: string;
  readonly evaluationMs: number;
  readonly seconds: number;
  readonly peak: number;
  readonly stored: number;
}

async function measured(kind: string, replicas: number): Promise<Found> {
  const root = join(folder, `${kind}-${replicas}`);
  const settings = {
    name: `${kind}-${replicas}`,
    replicas,
    data: { kind: 'synthetic', shape: [784], train: 8 * replicas, test: 64 },
    model: { kind: 'mlp', hidden: [64] },
    batch: 8,
    epochs: steps,
    learningRate: { base: 0.05 },
    topology: { kind },
    evaluation: { replicas: 16, everyEpochs: steps },
    checkpoints: { everyEpochs: steps },
  };
  const file = join(folder, `${kind}-${replicas}.json`);
  writeFileSync(file, JSON.stringify(settings));
  const start = performance.now();
  const command = [process.execPath, resolve('dist/cli/main.js'), 'run', file, '--runs', root];
  const { stderr, status } = spawnSync('/usr/bin/time', ['-f', 'peak %M', ...command], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  const seconds = (performance.now() - start) / 1000;
  const [run] = listRuns(root);
  const rows = await readEvents(run!.database, (events) => events.rows('select * from steps where step > 0'));
  const [evaluation] = (await readEvents(run!.database, (events) => events.rows('select ms from evaluations')))!;
  const median = (column: string) =>
    quantile(
      rows!.map((row) => row[column] as number),
      0.5,
    );
  const phases = ['data', 'compute', 'mix', 'wait', 'probe'].map(
    (phase) => `${phase} ${median(`${phase}_ms`).toFixed(0)}`,
  );
  const stored = statSync(run!.database).size;
  if (values.folder === undefined) rmSync(root, { recursive: true });
  return {
    stepMs: median('ms'),
    phases: phases.join(' '),
    evaluationMs: evaluation!.ms as number,
    seconds,
    peak: 1024 * Number(/peak (\d+)/.exec(stderr)![1]),
    stored,
  };
}

const lines: string[][] = [];
for (const kind of values.kinds.split(',')) {
  let before: { readonly replicas: number; readonly stepMs: number } | undefined;
  for (const replicas of values.counts.split(',').map(Number)) {
    const { stepMs, phases, evaluationMs, seconds, peak, stored } = await measured(kind, replicas);
    const bound = 2.2 * 4 * replicas * parameters + 1e9;
    lines.push([
      kind,
      `${replicas}`,
      stepMs.toFixed(0),
      before === undefined
        ? ''
        : `${(stepMs / before.stepMs).toFixed(1)} (n × ${(replicas / before.replicas).toFixed(0)})`,
      bytes(peak),
      (peak / bound).toFixed(2),
      evaluationMs.toFixed(0),
      bytes(stored),
      seconds.toFixed(0),
      phases,
    ]);
    before = { replicas, stepMs };
  }
}
if (values.folder === undefined) rmSync(folder, { recursive: true });
const headers = [
  'topology',
  'n',
  'ms per step',
  'ratio',
  'peak',
  '÷ bound',
  'evaluation ms',
  'stored',
  's in all',
  'ms',
];
console.log(table(headers, lines, ['topology', 'ms']));
