/**
 * Training steps of DBench against PyTorch: both on one thread of the same core, in turns, so that whatever else the
 * machine does meets both alike. Needs Debian's python3-torch, python3-torchvision and libopenblas0-pthread, and Linux's taskset. Which kernels
 * OpenBLAS takes, by itself or by OPENBLAS_CORETYPE, makes a difference of up to 3 times: PyTorch is tried with each kind
 * first, and compared with the one it is fastest with. `--backend` may be given several times: all take turns. `--isa avx2`
 * keeps oneDNN and PyTorch to AVX2, as on a processor without AVX-512; onnxruntime cannot be told.
 *
 *     npx tsx bench/compare.ts [--backend auto] [--isa avx2] [--seconds 16] [--core 0] [--json] [mlp cnn lstm resnet20 …]
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

/** What tells PyTorch and oneDNN, ours and PyTorch's, which instructions to do without; and kernels of OpenBLAS to try. */
const instructionSets = {
  // OpenBLAS's own choice first. A processor without AVX-512 ends the process with the third.
  all: { environment: {}, coreTypes: ['', 'Haswell', 'SkylakeX', 'Zen'] },
  avx2: {
    environment: { ONEDNN_MAX_CPU_ISA: 'AVX2', DNNL_MAX_CPU_ISA: 'AVX2', ATEN_CPU_CAPABILITY: 'avx2' },
    coreTypes: ['Haswell', 'Zen'],
  },
} as const;
type InstructionSet = (typeof instructionSets)[keyof typeof instructionSets];

/** PyTorch with the kernels that make this step fastest. */
async function fastestTorch(name: string, core: string, { coreTypes, environment: limits }: InstructionSet) {
  const tried = [];
  for (const coreType of coreTypes) {
    const environment = { ...limits, OPENBLAS_CORETYPE: coreType };
    const side = new Side(core, ['/usr/bin/python3', here('torch_step.py'), name], environment);
    try {
      const { version, openblas } = (await side.answer()) as { version: string; openblas: boolean };
      if (!openblas)
        throw new Error('PyTorch computes without OpenBLAS, many times slower: install libopenblas0-pthread');
      tried.push({ coreType, version, side, ms: quantile(await side.measure(1), 0.1) });
    } catch (error) {
      if (coreType === coreTypes[0]) throw error;
    }
  }
  const fastest = tried.reduce((best, each) => (each.ms < best.ms ? each : best));
  for (const each of tried) if (each !== fastest) each.side.close();
  return fastest;
}

async function compare(
  name: string,
  backends: readonly BackendName[],
  seconds: number,
  core: string,
  instructions: InstructionSet,
) {
  const ours = backends.map((backend) => {
    const own = [here('compare.ts'), '--serve', name, '--backend', backend];
    const side = new Side(core, [process.execPath, ...process.execArgv, ...own], instructions.environment);
    return { backend, side, times: [] as number[] };
  });
  for (const { side } of ours) await side.answer();
  const { side: torch, version, coreType } = await fastestTorch(name, core, instructions);
  const torchTimes: number[] = [];
  const rounds = 8;
  const turn = seconds / rounds / (ours.length + 1);
  for (let round = 0; round < rounds; round++) {
    for (const { side, times } of ours) times.push(...(await side.measure(turn)));
    torchTimes.push(...(await torch.measure(turn)));
  }
  for (const { side } of ours) side.close();
  torch.close();
  return ours.map(({ backend, times }) => {
    const ratio = (q: number) => quantile(torchTimes, q) / quantile(times, q);
    return {
      name,
      title: cases[name]!.title,
      backend,
      oursMs: quantile(times, 0.5),
      torchMs: quantile(torchTimes, 0.5),
      ratio: ratio(0.5),
      // Of the runs that other processes disturbed least.
      undisturbedRatio: ratio(0.1),
      torchVersion: version,
      torchKernels: coreType || 'own choice',
    };
  });
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '16' },
    core: { type: 'string', default: '0' },
    json: { type: 'boolean', default: false },
    backend: { type: 'string', multiple: true, default: ['auto'] },
    isa: { type: 'string', default: 'all' },
    serve: { type: 'string' },
  },
});
const backends = await Promise.all(values.backend.map((choice) => chooseBackend(choice as BackendChoice)));
if (values.serve !== undefined) await serve(values.serve, backends[0]!);
else {
  const instructions = instructionSets[values.isa as keyof typeof instructionSets];
  const found = [];
  for (const name of positionals.length > 0 ? positionals : Object.keys(cases))
    found.push(...(await compare(name, backends, Number(values.seconds), values.core, instructions)));
  const context = {
    isa: values.isa,
    cpu: cpus()[0]!.model.trim(),
    node: process.version,
    torch: found[0]!.torchVersion,
    load: loadavg(),
  };
  if (values.json) console.log(JSON.stringify({ ...context, found }, null, 2));
  else {
    console.log(
      `one thread of ${context.cpu}, instructions: ${context.isa}, Node ${context.node}, PyTorch ${context.torch}, load ${number(context.load[0]!, 3)}; median step`,
    );
    console.log(
      table(
        ['step', 'backend', 'DBench ms', 'PyTorch ms', 'PyTorch / DBench', 'fastest tenth', 'its kernels'],
        found.map(({ title, backend, oursMs, torchMs, ratio, undisturbedRatio, torchKernels }) => [
          title,
          backend,
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
