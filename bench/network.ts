/**
 * What virtual time costs.
 *
 *     npm run build && npx tsx bench/network.ts [--rounds 7] [--json]
 *
 * A run with a network against the same run without, in turn in one process, over the second half of its steps with all that is stored: the quickstart's D_torus, 64 replicas of an mlp, with noise
 * and the default queues. And the timetable alone of 1008 replicas on a torus over 10,000 steps, with its memory, in a process of its own.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { quantile } from '../src/base/statistics.ts';
import { table } from '../src/cli/print.ts';
import type { run as runOf } from '../src/run.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    json: { type: 'boolean', default: false },
    timetable: { type: 'boolean', default: false },
  },
});

// The package as it is built: workers of it start as they do for users.
const built = (file: string) => import(new URL(`../dist/${file}`, import.meta.url).href);

/** Seconds, bytes at the height, and the virtual time of the last step. */
async function timetable(): Promise<{ seconds: number; peakBytes: number; virtualSeconds: number }> {
  const { VirtualTime } = await built('engine/virtual.js');
  const { resolve } = await built('experiment/experiment.js');
  const [n, steps] = [1008, 10_000];
  const [experiment] = resolve(
    {
      name: 'torus',
      replicas: n,
      data: { kind: 'synthetic' },
      model: { kind: 'mlp' },
      batch: 32,
      epochs: 1,
      learningRate: { base: 0.1 },
      topology: { kind: 'torus' },
      network: 'summit',
      devices: { compute: '50ms', noise: { kind: 'lognormal', sigma: 0.1 } },
    },
    'torus',
  );
  const start = performance.now();
  const virtual = new VirtualTime(experiment, experiment, [25_557_032], steps);
  for (let t = 0; t < steps; t++) virtual.step({ t, epoch: 0, round: t, gossips: 1, measured: false });
  return {
    seconds: (performance.now() - start) / 1000,
    peakBytes: 1024 * process.resourceUsage().maxRSS,
    virtualSeconds: virtual.lastNs / 1e9,
  };
}

/** Milliseconds per step over the second half of a run: in the first, programs are compiled. */
async function stepMs(run: typeof runOf, experiment: Parameters<typeof runOf>[0], root: string): Promise<number> {
  let [first, last, from, steps] = [0, 0, 0, 0];
  for await (const event of run(experiment, { root })) {
    if (event.type === 'start') from = Math.floor(event.steps / 2);
    if (event.type !== 'step') continue;
    last = performance.now();
    if (event.step === from) first = last;
    steps = event.step - from;
  }
  return (last - first) / steps;
}

async function turns(rounds: number): Promise<{ without: number; with: number; ratios: number[] }> {
  const { run } = (await built('run.js')) as { run: typeof runOf };
  const { loadExperiment } = await built('experiment/experiment.js');
  const settings = ['epochs=24', 'evaluation.everyEpochs=24', 'evaluation.samples=1', 'checkpoints.everyEpochs=24'];
  const torus = (more: readonly string[]) =>
    loadExperiment('quickstart', [...settings, ...more]).find(({ name }: { name: string }) => name === 'D_torus');
  const timed = ['network=lan', 'devices={ compute: 1ms, noise: { kind: lognormal } }'];
  const [plain, virtual] = [torus([]), torus(timed)];
  const root = mkdtempSync(join(tmpdir(), 'dbench-network-'));
  try {
    await stepMs(run, plain, root);
    const found = { plain: [] as number[], virtual: [] as number[] };
    for (let round = 0; round < rounds; round++)
      for (const which of round % 2 === 0 ? (['plain', 'virtual'] as const) : (['virtual', 'plain'] as const))
        found[which].push(await stepMs(run, which === 'plain' ? plain : virtual, root));
    const ratios = found.virtual.map((ms, round) => ms / found.plain[round]!);
    return { without: quantile(found.plain, 0.5), with: quantile(found.virtual, 0.5), ratios };
  } finally {
    rmSync(root, { recursive: true });
  }
}

if (options.timetable) console.log(JSON.stringify(await timetable()));
else {
  const ran = await turns(Number(options.rounds));
  const child = ['--import', import.meta.resolve('tsx'), fileURLToPath(import.meta.url), '--timetable'];
  const alone = JSON.parse(execFileSync(process.execPath, child, { encoding: 'utf8' }));
  const ratio = quantile(ran.ratios, 0.5);
  if (options.json) console.log(JSON.stringify({ ...ran, ratio, timetable: alone }));
  else {
    const [least, most] = [Math.min(...ran.ratios), Math.max(...ran.ratios)].map((value) => value.toFixed(3));
    console.log(
      table(
        ['what', 'measured', 'asked for'],
        [
          ['step without a network', `${ran.without.toFixed(2)} ms`, ''],
          ['step with a network', `${ran.with.toFixed(2)} ms`, ''],
          ['ratio, median of the rounds', `${ratio.toFixed(3)} (${least} to ${most})`, '≤ 1.03'],
          ['1008 on a torus, 10,000 steps', `${alone.seconds.toFixed(1)} s`, '≤ 20 s'],
          ['its memory', `${(alone.peakBytes / 1e6).toFixed(0)} MB`, '≤ 300 MB'],
        ],
        ['what'],
      ),
    );
  }
}
