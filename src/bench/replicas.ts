import { type BackendChoice, backendChoices, chooseBackend } from '../backends.ts';
import { number } from '../base/format.ts';
import { quantile } from '../base/statistics.ts';
import type { PhaseMs } from '../engine/columns.ts';
import { train } from '../engine/engine.ts';
import type { StepEvent } from '../engine/event.ts';
import { prepare } from '../engine/prepare.ts';
import { resolve } from '../experiment/experiment.ts';
import type { Experiment } from '../experiment/schema.ts';
import { type Bench, whole, wholes, word } from './bench.ts';

export interface ReplicasOptions {
  readonly n: readonly number[];
  readonly model: keyof typeof models;
  readonly algorithm: keyof typeof algorithms;
  readonly workers: number;
  readonly backend: BackendChoice;
  readonly steps: number;
}

/** Each with data of the kind it is made for: what they are does not matter here, but reading them takes its time in a step. */
const models = {
  mlp: { model: { kind: 'mlp', hidden: [128] }, data: { kind: 'mnist' } },
  resnet20: { model: { kind: 'resnet20' }, data: { kind: 'synthetic', shape: [3, 32, 32], train: 4_096 } },
} as const;

/** Steps of all replicas together, or each when it has computed, on devices whose steps differ. */
const algorithms = {
  dpsgd: { algorithm: { kind: 'dpsgd' } },
  'ad-psgd': {
    algorithm: { kind: 'ad-psgd' },
    network: '10gbe',
    devices: { compute: '1ms', noise: { kind: 'lognormal', sigma: 0.2 } },
  },
} as const;

const batch = 32;
const median = (values: readonly number[]) => quantile(values, 0.5);
/** Steps that are not counted: memory is touched for the first time, code is compiled. */
const warmup = 5;

/** Training and nothing else: no probes, no evaluation before the last epoch, which is never reached. */
function experimentOf({ model, algorithm, steps }: ReplicasOptions, n: number): Experiment {
  const epochs = warmup + steps + 1;
  const settings = {
    ...models[model],
    ...algorithms[algorithm],
    name: 'bench',
    replicas: n,
    batch,
    epochs,
    optimizer: { kind: 'sgd', momentum: 0.9 },
    learningRate: { base: 0.05 },
    topology: { kind: 'ring' },
    probes: { everySteps: 1_000_000, norms: false, distance: false },
    evaluation: { everyEpochs: epochs, replicas: 1, samples: 1, merged: false },
  };
  return resolve(settings, 'bench replicas')[0]!;
}

interface Measured {
  readonly n: number;
  readonly parameters: number;
  /** Between the arrivals of two steps' events, median. */
  readonly stepMs: number;
  /** Of the same steps, median, mean over the workers. */
  readonly phasesMs: PhaseMs;
  readonly computeShare: number;
  readonly replicaStepsPerSecond: number;
  /** The most that the process held so far. */
  readonly peakBytes: number;
}

async function measure(options: ReplicasOptions, n: number): Promise<Measured> {
  const experiment = experimentOf(options, n);
  const prepared = await prepare(experiment);
  const steps: StepEvent[] = [];
  const arrivals: number[] = [];
  let parameters = 0;
  const end = warmup + options.steps;
  const enough = new AbortController();
  const backend = await chooseBackend(options.backend);
  const { signal } = enough;
  for await (const event of train(experiment, prepared, { workers: options.workers, backend, signal })) {
    if (event.type === 'start') parameters = event.tensors.reduce((sum, { size }) => sum + size, 0);
    if (event.type !== 'step') continue;
    arrivals.push(performance.now());
    steps.push(event);
    if (steps.length === end) enough.abort();
  }
  const stepMs = median(arrivals.slice(warmup, end).map((at, i) => at - arrivals[warmup + i - 1]!));
  const phase = (name: keyof PhaseMs) => median(steps.slice(warmup, end).map(({ ms }) => ms[name]));
  const phasesMs = {
    data: phase('data'),
    compute: phase('compute'),
    mix: phase('mix'),
    wait: phase('wait'),
    probe: phase('probe'),
  };
  return {
    n,
    parameters,
    stepMs,
    phasesMs,
    computeShare: phasesMs.compute / stepMs,
    replicaStepsPerSecond: (1000 * n) / stepMs,
    peakBytes: 1024 * process.resourceUsage().maxRSS,
  };
}

/** Training through the real engine; bench/replicas.ts sets it against PyTorch. */
export const replicasBench: Bench<ReplicasOptions> = {
  options: [
    wholes('-n, --n <replicas>', 'numbers of replicas, in turn', [16, 64, 256], 1, 1_875),
    word('--model <kind>', 'what they train', 'mlp', Object.keys(models)),
    word('--algorithm <kind>', 'how they step', 'dpsgd', Object.keys(algorithms)),
    whole('--workers <count>', 'worker threads', 2, 1, 64),
    word('--backend <name>', 'what computes the models', 'auto', backendChoices),
    whole('--steps <count>', `steps that are timed, after ${warmup} others`, 60, 1, 100_000),
  ],
  async run(options) {
    const measured: Measured[] = [];
    // Ascending, so that the memory of one is not hidden behind that of a larger one before it.
    for (const n of options.n.toSorted((a, b) => a - b)) measured.push(await measure(options, n));
    return {
      data: {
        ...options,
        batch,
        topology: 'ring',
        runs: measured,
      },
      title: `Training ${options.model} by ${options.algorithm}, ${number(measured[0]!.parameters)} parameters, batch ${batch}, ring, ${options.workers} worker${options.workers === 1 ? '' : 's'}, ${await chooseBackend(options.backend)}`,
      headers: ['n', 'ms a step', 'data', 'compute', 'mix', 'wait', 'replicas × steps / s', 'peak MB'],
      rows: measured.map(({ n, stepMs, phasesMs: { data, compute, mix, wait }, replicaStepsPerSecond, peakBytes }) => [
        String(n),
        ...[stepMs, data, compute, mix, wait].map((ms) => ms.toFixed(2)),
        replicaStepsPerSecond.toFixed(0),
        (peakBytes / 1e6).toFixed(0),
      ]),
      note: `median of ${options.steps} steps · phases: mean over the workers · peak: of the process so far`,
    };
  },
};
