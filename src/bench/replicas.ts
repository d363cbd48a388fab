import { type BackendChoice, backendChoices, chooseBackend } from '../backends.ts';
import { number } from '../base/format.ts';
import { quantile } from '../base/statistics.ts';
import { phases as phaseNames } from '../engine/clock.ts';
import type { Phase, PhaseMs } from '../engine/columns.ts';
import { train } from '../engine/engine.ts';
import type { StepEvent } from '../engine/event.ts';
import { prepare } from '../engine/prepare.ts';
import { resolve } from '../experiment/experiment.ts';
import type { Experiment } from '../experiment/schema.ts';
import { kinds } from '../topology/kinds.ts';
import { type Bench, flag, whole, wholes, word } from './bench.ts';
import { type Floors, floorsOf, warmupMs } from './floors.ts';

export interface ReplicasOptions {
  readonly n: readonly number[];
  readonly model: keyof typeof models;
  readonly algorithm: keyof typeof algorithms;
  readonly hidden: number;
  readonly batch: number;
  readonly topology: string;
  readonly probes: keyof typeof probes;
  readonly floors?: true;
  readonly workers: number;
  readonly backend: BackendChoice;
  readonly steps: number;
}

const mnistSamples = 60_000;

/** Each with data of the kind it is made for: what they are does not matter here, but reading them takes its time in a step. */
const models = {
  mlp: ({ hidden, batch }: ReplicasOptions, n: number) => ({
    model: { kind: 'mlp', hidden: [hidden] },
    data:
      n * batch <= mnistSamples
        ? { kind: 'mnist' }
        : { kind: 'synthetic', shape: [28, 28], train: n * batch, test: 10 },
  }),
  resnet20: () => ({
    model: { kind: 'resnet20' },
    data: { kind: 'synthetic', shape: [3, 32, 32], train: 4_096 },
  }),
};

/** Steps of all replicas together, or each when it has computed, on devices whose steps differ. */
const algorithms = {
  dpsgd: { algorithm: { kind: 'dpsgd' } },
  'ad-psgd': {
    algorithm: { kind: 'ad-psgd' },
    network: '10gbe',
    devices: { compute: '1ms', noise: { kind: 'lognormal', sigma: 0.2 } },
  },
} as const;

const median = (values: readonly number[]) => quantile(values, 0.5);
/** Steps that are not counted, at least. */
const warmup = 5;
/** Events of short steps arrive several at a time, so that only many steps together have a time. */
const windowMs = 150;
const leastMs = 10 * windowMs;
/** More than are ever reached: training ends when enough steps were timed. */
const epochs = 1_000_000;

const probes = {
  none: { everySteps: 1_000_000, norms: false, distance: false },
  usual: {},
  all: { everySteps: 1, norms: true, distance: true, edges: true },
};

/** Training and nothing else: no evaluation before the last epoch, which is never reached. */
function experimentOf(options: ReplicasOptions, n: number): Experiment {
  const { batch, topology } = options;
  const settings = {
    ...models[options.model](options, n),
    ...algorithms[options.algorithm],
    name: 'bench',
    replicas: n,
    batch,
    epochs,
    optimizer: { kind: 'sgd', momentum: 0.9 },
    learningRate: { base: 0.05 },
    topology: { kind: topology },
    probes: probes[options.probes],
    evaluation: { everyEpochs: epochs, replicas: 1, samples: 1, merged: false },
  };
  return resolve(settings, 'bench replicas')[0]!;
}

interface Measured {
  readonly n: number;
  readonly parameters: number;
  /** Median over windows of time. */
  readonly stepMs: number;
  /** Of the same steps, median, mean over the workers. */
  readonly phasesMs: PhaseMs;
  readonly computeShare: number;
  readonly replicaStepsPerSecond: number;
  /** The most that the process held so far. */
  readonly peakBytes: number;
  readonly floors: Floors | undefined;
  /** n cold single steps ÷ (workers × the step), if the floors were measured. */
  readonly efficiency: number | undefined;
}

async function measure(options: ReplicasOptions, n: number): Promise<Measured> {
  const experiment = experimentOf(options, n);
  const prepared = await prepare(experiment);
  const backend = await chooseBackend(options.backend, options.model);
  const floors = options.floors && (await floorsOf(experiment, prepared, backend, options.workers));
  const steps: { readonly event: StepEvent; readonly at: number }[] = [];
  let parameters = 0;
  /** The first step that counts, and the time since it. */
  let first = 0;
  const lasted = () => steps.at(-1)!.at - steps[first]!.at;
  const enough = new AbortController();
  const { signal } = enough;
  for await (const event of train(experiment, prepared, { workers: options.workers, backend, signal })) {
    if (event.type === 'start') parameters = event.tensors.reduce((sum, { size }) => sum + size, 0);
    if (event.type !== 'step' || signal.aborted) continue;
    steps.push({ event, at: performance.now() });
    if (first === 0) {
      if (steps.length > warmup && lasted() >= warmupMs) first = steps.length - 1;
    } else if (steps.length > first + options.steps && lasted() >= leastMs) enough.abort();
  }
  const counted = steps.slice(first);
  const width = Math.ceil(windowMs / (lasted() / counted.length));
  const windows = counted.flatMap(({ at }, i) => (i % width === 0 && i > 0 ? [at - counted[i - width]!.at] : []));
  const stepMs = median(windows) / width;
  const phase = (name: Phase) => median(counted.map(({ event }) => event.ms[name]));
  const phasesMs = Object.fromEntries(phaseNames.map((name) => [name, phase(name)])) as unknown as PhaseMs;
  return {
    n,
    parameters,
    stepMs,
    phasesMs,
    computeShare: phasesMs.compute / stepMs,
    replicaStepsPerSecond: (1000 * n) / stepMs,
    peakBytes: 1024 * process.resourceUsage().maxRSS,
    floors,
    efficiency: floors && (n * floors.coldMs) / (options.workers * stepMs),
  };
}

/** Training through the real engine; bench/engine.ts sets it against its floors, bench/replicas.ts sets it against PyTorch. */
export const replicasBench: Bench<ReplicasOptions> = {
  options: [
    wholes('-n, --n <replicas>', 'numbers of replicas, in turn', [16, 64, 256], 1, 100_000),
    word('--model <kind>', 'what they train', 'mlp', Object.keys(models)),
    word('--algorithm <kind>', 'how they step', 'dpsgd', Object.keys(algorithms)),
    whole('--hidden <width>', 'hidden units of the mlp', 128, 1, 100_000),
    whole('--batch <samples>', 'samples per step and replica', 32, 1, 10_000),
    word(
      '--topology <kind>',
      'who averages with whom',
      'ring',
      kinds.map(({ name }) => name),
    ),
    word('--probes <which>', 'what is measured in every step', 'none', Object.keys(probes)),
    whole('--workers <count>', 'worker threads', 2, 1, 64),
    word('--backend <name>', 'what computes the models', 'auto', backendChoices),
    whole('--steps <count>', 'steps that are timed at least', 60, 1, 100_000),
    flag('--floors', 'time single steps and a memory copy as well, and what share of the step they are'),
  ],
  async run(options) {
    const measured: Measured[] = [];
    const shared = options.floors ? ['cold single step', 'hot', 'efficiency', 'against hot'] : [];
    // Ascending, so that the memory of one is not hidden behind that of a larger one before it.
    for (const n of options.n.toSorted((a, b) => a - b)) measured.push(await measure(options, n));
    return {
      data: { ...options, runs: measured },
      title: `Training ${options.model} by ${options.algorithm}, ${number(measured[0]!.parameters)} parameters, batch ${options.batch}, ${options.topology}, ${options.workers} worker${options.workers === 1 ? '' : 's'}, ${await chooseBackend(options.backend, options.model)}`,
      headers: ['n', 'ms per step', ...phaseNames, 'replicas × steps / s', 'peak MB', ...shared],
      rows: measured.map(({ n, stepMs, phasesMs, replicaStepsPerSecond, peakBytes, floors, efficiency }) => [
        String(n),
        ...[stepMs, ...phaseNames.map((name) => phasesMs[name])].map((ms) => ms.toFixed(2)),
        replicaStepsPerSecond.toFixed(0),
        (peakBytes / 1e6).toFixed(0),
        ...(floors === undefined
          ? []
          : [
              floors.coldMs.toFixed(3),
              floors.hotMs.toFixed(3),
              efficiency!.toFixed(2),
              ((n * floors.hotMs) / (options.workers * stepMs)).toFixed(2),
            ]),
      ]),
      note: `medians of at least ${options.steps} steps · phases: mean over the workers · peak: of the process so far`,
    };
  },
};
