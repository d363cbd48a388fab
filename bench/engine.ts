/**
 * Where the time of a global step goes, against what it cannot be faster than: n single steps of the same program on rows that are not in
 * the cache, divided among the workers, and the bytes that must move at the speed of a memory copy.
 *
 *     npm run build && npx tsx bench/engine.ts [--rounds 5] [--steps 40] [--workers 2] [--backend auto] [--probes none,usual,all] [--json]
 *
 * A round is one process per case, in turn, which times single steps and then training; medians over the rounds count.
 *
 * efficiency   n × cold single step ÷ (workers × global step)
 * against hot  the same with a single step whose rows are in the cache
 * moved        rows that must come from memory or go there: parameters and optimizer slots, each read and written once
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { quantile } from '../src/base/statistics.ts';
import type { Floors } from '../src/bench/floors.ts';
import { table } from '../src/cli/print.ts';
import type { PhaseMs } from '../src/engine/columns.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    steps: { type: 'string', default: '40' },
    workers: { type: 'string', default: '2' },
    backend: { type: 'string', default: 'auto' },
    probes: { type: 'string', default: 'none' },
    json: { type: 'boolean', default: false },
  },
});

const models = [
  { hidden: 128, batch: 32, n: [16, 64, 256] },
  { hidden: 64, batch: 8, n: [64, 1008] },
];
const cases = options.probes
  .split(',')
  .flatMap((probes) => models.flatMap(({ n, ...model }) => n.map((replicas) => ({ ...model, n: replicas, probes }))));
type Case = (typeof cases)[number];

interface Run {
  readonly parameters: number;
  readonly stepMs: number;
  readonly phasesMs: PhaseMs;
  readonly floors: Floors;
}

const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

function measure({ n, hidden, batch, probes }: Case): Run {
  const { steps, workers, backend } = options;
  const settings = { n, hidden, batch, probes, steps, workers, backend };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const text = execFileSync(process.execPath, [main, 'bench', 'replicas', '--json', '--floors', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(text).runs[0];
}

const runs = cases.map((): Run[] => []);
for (let round = 0; round < Number(options.rounds); round++)
  for (const [at, each] of cases.entries()) runs[at]!.push(measure(each));

const workers = Number(options.workers);
const data = cases.map((each, at) => {
  const over = (value: (run: Run) => number) => quantile(runs[at]!.map(value), 0.5);
  const { n } = each;
  const movedBytes = 4 * 4 * n * runs[at]![0]!.parameters;
  return {
    ...each,
    stepMs: over(({ stepMs }) => stepMs),
    phasesMs: (['data', 'compute', 'mix', 'wait', 'probe'] as const).map((phase) =>
      over(({ phasesMs }) => phasesMs[phase]),
    ),
    coldFloorMs: over(({ floors }) => (n * floors.coldMs) / workers),
    hotFloorMs: over(({ floors }) => (n * floors.hotMs) / workers),
    movedBytes,
    movedMs: over(({ floors }) => (1000 * movedBytes) / floors.copyBytesPerSecond),
    efficiency: over(({ floors, stepMs }) => (n * floors.coldMs) / (workers * stepMs)),
    againstHot: over(({ floors, stepMs }) => (n * floors.hotMs) / (workers * stepMs)),
  };
});

const headers = [
  ...['mlp', 'n', 'probes', 'ms per step', 'data', 'compute', 'mix', 'wait', 'probe'],
  ...['cold floor', 'hot floor', 'MB moved', 'ms of that', 'efficiency', 'against hot'],
];
const rows = data.map((each) => [
  `784-${each.hidden}-10, batch ${each.batch}`,
  `${each.n}`,
  each.probes,
  ...[each.stepMs, ...each.phasesMs, each.coldFloorMs, each.hotFloorMs].map((ms) => ms.toFixed(2)),
  (each.movedBytes / 1e6).toFixed(0),
  each.movedMs.toFixed(2),
  each.efficiency.toFixed(2),
  each.againstHot.toFixed(2),
]);
console.log(
  options.json
    ? JSON.stringify(data, null, 2)
    : `A global step on a ring, ${workers} workers, against its floors: medians of ${options.rounds} rounds, ms\n\n${table(headers, rows)}`,
);
