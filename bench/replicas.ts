/**
 * Training of n replicas against what an expert writes in one PyTorch process (replicas_torch.py), in turn on the same machine.
 *
 *     npm run build && npx tsx bench/replicas.ts [--rounds 3] [--threads 1,2] [--backend auto] [--json]
 *     npx tsx bench/replicas.ts --scaling     time and memory from 126 to 1008 replicas
 *     npx tsx bench/replicas.ts --asynchronous     AD-PSGD against synchronous gossip, samples per second
 *     npx tsx bench/replicas.ts --resnet     share of computation, and what a second worker brings
 *
 * Each measurement is a process of its own and reports a median over steps; of the rounds the best counts, on both sides, because
 * other programs only ever add to it. PyTorch runs with each number of threads; its plain loop over n models is what is required to
 * be beaten, the faster of two hand-tuned forms is shown beside it. PYTHON names the interpreter that has torch.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { table } from '../src/cli/print.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '1,2' },
    scaling: { type: 'boolean', default: false },
    resnet: { type: 'boolean', default: false },
    asynchronous: { type: 'boolean', default: false },
    backend: { type: 'string', default: 'auto' },
    json: { type: 'boolean', default: false },
  },
});
const rounds = Array.from({ length: Number(options.rounds) }, (_, round) => round);
const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

interface Ours {
  readonly stepMs: number;
  readonly computeShare: number;
  readonly parameters: number;
  readonly peakBytes: number;
}

interface Theirs {
  readonly stepMs: number;
  readonly variant: string;
  readonly threads: number;
  readonly peakBytes: number;
}

const run = (command: string, args: readonly string[]) =>
  JSON.parse(execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));

function ours(n: number, steps: number, more: readonly string[] = []): Ours {
  const args = [
    path('../dist/cli/main.js'),
    'bench',
    'replicas',
    '--json',
    '-n',
    `${n}`,
    '--steps',
    `${steps}`,
    '--backend',
    options.backend,
    ...more,
  ];
  return run(process.execPath, args).runs[0];
}

function theirs(n: number, steps: number, variant: string, threads: number): Theirs {
  const args = ['-n', `${n}`, '--steps', `${steps}`, '--variant', variant, '--threads', `${threads}`];
  return run(process.env.PYTHON ?? '/usr/bin/python3', [path('replicas_torch.py'), ...args]);
}

const fastest = <T extends { readonly stepMs: number }>(runs: readonly T[]): T =>
  runs.reduce((best, run) => (run.stepMs < best.stepMs ? run : best));

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);
const verdict = (reached: boolean) => (reached ? 'yes' : 'NO');

interface Report {
  readonly data: object;
  readonly title: string;
  readonly headers: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

function againstTorch(): Report {
  const settings = [
    { n: 16, steps: 100, required: 1.5, mostBytes: Number.POSITIVE_INFINITY },
    { n: 64, steps: 60, required: 2.5, mostBytes: 400e6 },
    { n: 256, steps: 20, required: 3.5, mostBytes: Number.POSITIVE_INFINITY },
  ];
  const threadCounts = options.threads.split(',').map(Number);
  const measured = settings.map(({ n, steps, required, mostBytes }) => {
    const torch = (variant: string) => threadCounts.map((threads) => theirs(n, steps, variant, threads));
    const all = rounds.map(() => ({
      ours: ours(n, steps),
      loop: torch('models'),
      tuned: [...torch('rows'), ...torch('batched')],
    }));
    const own = fastest(all.map((round) => round.ours));
    const loop = fastest(all.flatMap((round) => round.loop));
    const tuned = fastest(all.flatMap((round) => round.tuned));
    const ratio = loop.stepMs / own.stepMs;
    const reached = ratio >= required && own.peakBytes < mostBytes;
    return { n, required, ratio, reached, tunedRatio: tuned.stepMs / own.stepMs, ours: own, loop, tuned };
  });
  return {
    data: measured,
    title: 'Training of n replicas: MLP 784-128-10, batch 32, ring, 2 workers; PyTorch: n models, and hand-tuned',
    headers: ['n', 'DBench ms', 'loop', 'ratio', 'required', 'reached', 'tuned', 'ratio ', 'DBench MB', 'loop MB'],
    rows: measured.map(({ n, required, ratio, reached, tunedRatio, ours, loop, tuned }) => [
      `${n}`,
      ours.stepMs.toFixed(2),
      loop.stepMs.toFixed(2),
      ratio.toFixed(2),
      required.toFixed(1),
      verdict(reached),
      `${tuned.stepMs.toFixed(2)} (${tuned.variant})`,
      tunedRatio.toFixed(2),
      megabytes(ours.peakBytes),
      megabytes(loop.peakBytes),
    ]),
  };
}

/** A step of either is as many gradients as there are replicas. */
function asynchronous(): Report {
  const [n, steps, required] = [64, 60, 0.7];
  const kinds = ['dpsgd', 'ad-psgd'];
  const turns = rounds.map(() => kinds.map((kind) => ours(n, steps, ['--algorithm', kind])));
  const [together, pairs] = kinds.map((_, k) => fastest(turns.map((turn) => turn[k]!))) as [Ours, Ours];
  const ratio = together.stepMs / pairs.stepMs;
  return {
    data: { n, ratio, required, reached: ratio >= required, together, pairs },
    title: `AD-PSGD against synchronous gossip: ${n} replicas, MLP 784-128-10, batch 32, ring, 2 workers`,
    headers: ['n', 'D-PSGD ms', 'AD-PSGD ms', 'samples/s, ratio', 'required', 'reached'],
    rows: [
      [
        `${n}`,
        together.stepMs.toFixed(2),
        pairs.stepMs.toFixed(2),
        ratio.toFixed(2),
        required.toFixed(1),
        verdict(ratio >= required),
      ],
    ],
  };
}

function scaling(): Report {
  const measured = [126, 252, 504, 1008].map((n) => {
    const best = fastest(rounds.map(() => ours(n, 95)));
    const mostBytes = 3.5 * n * best.parameters * 4 + 1e9;
    return { n, msPerReplica: best.stepMs / n, mostBytes, reached: best.peakBytes < mostBytes, ...best };
  });
  return {
    data: measured,
    title: 'From 126 to 1008 replicas: MLP 784-128-10 on MNIST, batch 32, ring, 100 steps, 2 workers',
    headers: ['n', 'ms a step', 'ms a replica', 'peak MB', 'allowed', 'reached'],
    rows: measured.map(({ n, stepMs, msPerReplica, peakBytes, mostBytes, reached }) => [
      `${n}`,
      stepMs.toFixed(1),
      msPerReplica.toFixed(3),
      megabytes(peakBytes),
      megabytes(mostBytes),
      verdict(reached),
    ]),
  };
}

function resnet(): Report {
  const all = rounds.map(() =>
    [1, 2].map((workers) => ours(16, 5, ['--model', 'resnet20', '--workers', `${workers}`])),
  );
  const [one, two] = [0, 1].map((at) => fastest(all.map((round) => round[at]!))) as [Ours, Ours];
  const speedup = one.stepMs / two.stepMs;
  return {
    data: { one, two, speedup },
    title: 'ResNet20, 16 replicas, batch 32, ring',
    headers: ['', 'measured', 'required', 'reached'],
    rows: [
      ['ms a step, 1 worker', one.stepMs.toFixed(0), '', ''],
      ['ms a step, 2 workers', two.stepMs.toFixed(0), '', ''],
      ['two workers against one', speedup.toFixed(2), '1.8', verdict(speedup >= 1.8)],
      ['share of computation', two.computeShare.toFixed(3), '0.85', verdict(two.computeShare >= 0.85)],
      ['peak MB', megabytes(two.peakBytes), '', ''],
    ],
  };
}

const wanted = options.scaling ? scaling : options.resnet ? resnet : options.asynchronous ? asynchronous : againstTorch;
const { data, title, headers, rows } = wanted();
console.log(options.json ? JSON.stringify(data, null, 2) : `${title}\n\n${table(headers, rows)}`);
