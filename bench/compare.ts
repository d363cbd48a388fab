/**
 * Training steps of DBench against PyTorch: both on one thread of the same core, in turns, so that whatever else the
 * machine does meets both alike. Needs Debian's python3-torch and libopenblas0-pthread, and Linux's taskset. Which kernels
 * OpenBLAS takes, by itself or by OPENBLAS_CORETYPE, makes a difference of up to 3 times: PyTorch is tried with each kind
 * first, and compared with the one it is fastest with.
 *
 *     npx tsx bench/compare.ts [--backend auto] [--seconds 10] [--core 0] [--json] [mlp cnn lstm resnet20 …]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type BackendChoice, type BackendName, chooseBackend } from '../src/backends.ts';
import { quantile } from '../src/base/statistics.ts';
import { prepareStep, timed } from '../src/bench/step.ts';
import { number, table } from '../src/cli/print.ts';
import { modelSchema, usualTask } from '../src/model/models.ts';
import { optimizerSchema } from '../src/optim/optimizer.ts';

interface Case {
  readonly title: string;
  readonly model: Readonly<Record<string, unknown>>;
  readonly classes?: number;
  readonly batch: number;
}

const cases: Readonly<Record<string, Case>> = {
  mlp: { title: 'mlp 784-128-10, batch 32', model: { kind: 'mlp' }, batch: 32 },
  cnn: { title: 'cnn (defaults), batch 32', model: { kind: 'cnn' }, batch: 32 },
  lstm: {
    title: 'lstm 2×256, 2,000 words, batch 20, bptt 30',
    model: { kind: 'lstm', layers: 2, hidden: 256 },
    classes: 2000,
    batch: 20,
  },
  gpt: {
    title: 'gpt 4×128, context 64, batch 12',
    model: { kind: 'gpt', dropout: 0 },
    batch: 12,
  },
  resnet20: { title: 'resnet20, batch 32', model: { kind: 'resnet20' }, batch: 32 },
  'resnet20-128': { title: 'resnet20, batch 128', model: { kind: 'resnet20' }, batch: 128 },
  densenet100: {
    title: 'densenet100 (BC), batch 32',
    model: { kind: 'densenet100', bottleneck: true },
    batch: 32,
  },
};

/** Our side: the same protocol as torch_step.py. */
async function serve(name: string, backend: BackendName): Promise<void> {
  const { model: settings, classes, batch } = cases[name]!;
  const model = modelSchema.parse(settings);
  const usual = usualTask(model.kind);
  const optimizer = optimizerSchema.parse({ kind: 'sgd', momentum: 0.9, weightDecay: 1e-4, decayExcept: [] });
  const task = { ...usual, classes: classes ?? usual.classes };
  const { run } = await prepareStep({ model, task, optimizer, batch, threads: 1, backend });
  await timed(run, 0, 3);
  console.log('{}');
  for await (const line of createInterface(process.stdin))
    console.log(JSON.stringify(await timed(run, 1000 * Number(line))));
}

class Side {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(core: string, command: readonly string[], environment: NodeJS.ProcessEnv = {}) {
    this.#process = spawn('taskset', ['-c', core, ...command], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, OPENBLAS_NUM_THREADS: '1', OMP_NUM_THREADS: '1', ...environment },
    });
    this.#lines = createInterface(this.#process.stdout!)[Symbol.asyncIterator]();
  }

  async answer(): Promise<unknown> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('the process ended; is python3-torch installed?');
    return JSON.parse(value);
  }

  measure(seconds: number): Promise<number[]> {
    this.#process.stdin!.write(`${seconds}\n`);
    return this.answer() as Promise<number[]>;
  }

  close(): void {
    this.#process.stdin!.end();
  }
}

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** Kernels of OpenBLAS; the first is its own choice. A processor without AVX-512 ends the process with the third. */
const coreTypes = ['', 'Haswell', 'SkylakeX', 'Zen'];

/** PyTorch with the kernels that make this step fastest. */
async function fastestTorch(name: string, core: string) {
  const tried = [];
  for (const coreType of coreTypes) {
    const environment = { OPENBLAS_CORETYPE: coreType };
    const side = new Side(core, ['/usr/bin/python3', here('torch_step.py'), name], environment);
    try {
      const { version, openblas } = (await side.answer()) as { version: string; openblas: boolean };
      if (!openblas)
        throw new Error('PyTorch computes without OpenBLAS, many times slower: install libopenblas0-pthread');
      tried.push({ coreType, version, side, ms: quantile(await side.measure(1), 0.1) });
    } catch (error) {
      if (coreType === '') throw error;
    }
  }
  const fastest = tried.reduce((best, each) => (each.ms < best.ms ? each : best));
  for (const each of tried) if (each !== fastest) each.side.close();
  return fastest;
}

async function compare(name: string, backend: BackendName, seconds: number, core: string) {
  const own = [here('compare.ts'), '--serve', name, '--backend', backend];
  const ours = new Side(core, [process.execPath, ...process.execArgv, ...own]);
  await ours.answer();
  const { side: torch, version, coreType } = await fastestTorch(name, core);
  const times: { ours: number[]; torch: number[] } = { ours: [], torch: [] };
  const rounds = 8;
  for (let round = 0; round < rounds; round++) {
    times.ours.push(...(await ours.measure(seconds / rounds / 2)));
    times.torch.push(...(await torch.measure(seconds / rounds / 2)));
  }
  ours.close();
  torch.close();
  const ratio = (q: number) => quantile(times.torch, q) / quantile(times.ours, q);
  return {
    name,
    title: cases[name]!.title,
    oursMs: quantile(times.ours, 0.5),
    torchMs: quantile(times.torch, 0.5),
    ratio: ratio(0.5),
    // Of the runs that other processes disturbed least.
    undisturbedRatio: ratio(0.1),
    torchVersion: version,
    torchKernels: coreType || 'own choice',
  };
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '16' },
    core: { type: 'string', default: '0' },
    json: { type: 'boolean', default: false },
    backend: { type: 'string', default: 'auto' },
    serve: { type: 'string' },
  },
});
const backend = await chooseBackend(values.backend as BackendChoice);
if (values.serve !== undefined) await serve(values.serve, backend);
else {
  const found = [];
  for (const name of positionals.length > 0 ? positionals : Object.keys(cases))
    found.push(await compare(name, backend, Number(values.seconds), values.core));
  const context = {
    backend,
    cpu: cpus()[0]!.model.trim(),
    node: process.version,
    torch: found[0]!.torchVersion,
    load: loadavg(),
  };
  if (values.json) console.log(JSON.stringify({ ...context, found }, null, 2));
  else {
    console.log(
      `${backend}, one thread of ${context.cpu}, Node ${context.node}, PyTorch ${context.torch}, load ${number(context.load[0]!, 3)}; median step`,
    );
    console.log(
      table(
        ['step', 'DBench ms', 'PyTorch ms', 'PyTorch / DBench', 'fastest tenth', 'its kernels'],
        found.map(({ title, oursMs, torchMs, ratio, undisturbedRatio, torchKernels }) => [
          title,
          number(oursMs, 4),
          number(torchMs, 4),
          `${ratio.toFixed(2)}×`,
          `${undisturbedRatio.toFixed(2)}×`,
          torchKernels,
        ]),
      ),
    );
  }
}
