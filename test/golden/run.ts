import { readFileSync } from 'node:fs';
import { arch, platform } from 'node:os';
import { type BackendName, openBackend } from '../../src/backends.ts';
import { Random } from '../../src/base/random.ts';
import { type Dataset, sharedInts, type Text } from '../../src/data/dataset.ts';
import { loadData } from '../../src/data/load.ts';
import type { EvaluationEvent, StepEvent } from '../../src/engine/event.ts';
import { feedOf } from '../../src/engine/feed.ts';
import { loop } from '../../src/engine/loop.ts';
import { prepare } from '../../src/engine/prepare.ts';
import { resolve } from '../../src/experiment/experiment.ts';
import type { Experiment } from '../../src/experiment/schema.ts';
import { shareTransport } from '../../src/transport/shared.ts';
import { openTransport } from '../../src/transport/threads.ts';

/** What any backend must give, each list over the steps. */
export interface Course {
  /** Equal up to rounding. `loss` is the mean over the replicas, of the test set the mean over the local models. */
  readonly near: {
    readonly loss: readonly number[];
    readonly distance: readonly number[];
    /** Of the first tensor, mean over the replicas. */
    readonly norm: readonly number[];
    readonly learningRate: readonly number[];
    readonly targetDistance: readonly number[];
    readonly testLoss: readonly number[];
    readonly mergedLoss: readonly number[];
  };
  readonly exact: {
    readonly connections: readonly number[];
    readonly gossips: readonly number[];
    readonly sentBytes: readonly number[];
    readonly sentMessages: readonly number[];
    /** samples[replica][step]: which training samples are in a batch; of a text, the places of its first tokens. */
    readonly samples: Readonly<Record<string, readonly (readonly number[])[]>>;
  };
}

/** Texts are downloads: this stands for one. Half of its tokens follow from the one before, so that there is something to learn. */
export function drawnText(): Text {
  const words = 12;
  const tokens = (length: number, stream: number) => {
    const random = new Random(1, 'test', stream);
    const drawn = new Int32Array(length);
    for (let i = 1; i < length; i++)
      drawn[i] = random.below(2) === 0 ? (5 * drawn[i - 1]! + 1) % words : random.below(words);
    return { tokens: sharedInts(drawn) };
  };
  const vocabulary = Array.from({ length: words }, (_, i) => `${i}`);
  return { task: 'language', name: 'drawn', vocabulary, train: tokens(480, 0), test: tokens(60, 1) };
}

/** The same data set with each sample's own index as its only feature, or each token's place as the token. */
function indexed(dataset: Dataset): Dataset {
  const indices = (count: number) => Array.from({ length: count }, (_, i) => i);
  if (dataset.task === 'language')
    return { ...dataset, train: { tokens: sharedInts(indices(dataset.train.tokens.length)) } };
  const { labels, count } = dataset.train;
  return {
    ...dataset,
    shape: [1],
    train: { count, labels, shape: [1], features: Float32Array.from(indices(count)) },
  };
}

/** What the feed itself puts into the first batches of a few replicas. */
function samplesOf(experiment: Experiment, dataset: Dataset): Course['exact']['samples'] {
  const feed = feedOf(experiment, indexed(dataset));
  const buffer = () => (dataset.task === 'language' ? new Int32Array(1000) : new Float32Array(1000));
  const batch = (replica: number, step: number) => {
    const [x, labels] = [buffer(), new Int32Array(1000)];
    return [...x.subarray(0, feed.train(replica, step, x, labels).size)];
  };
  const { replicas } = experiment;
  // The first batches, and the first of the second pass over the data.
  const steps = [0, 1, feed.stepsPerEpoch];
  return Object.fromEntries(
    [0, 1, replicas - 1].map((replica) => [replica, steps.map((step) => batch(replica, step))]),
  );
}

const mean = (values: readonly (number | null)[]) =>
  values.reduce<number>((sum, value) => sum + value!, 0) / values.length;

/** Carries out a run in this thread: from the sources, whatever was built. */
export async function measure(
  settings: object,
  backend: BackendName,
): Promise<{ readonly course: Course; readonly paramsSha256: string }> {
  const [experiment] = resolve(settings, 'golden');
  const dataset =
    experiment!.model.kind === 'lstm' ? drawnText() : await loadData(experiment!.data, { seed: experiment!.seed });
  const steps: StepEvent[] = [];
  const norms: number[] = [];
  const evaluations: EvaluationEvent[] = [];
  let paramsSha256 = '';
  const { shares, columns } = await prepare(experiment!, { dataset });
  const shared = shareTransport(1, experiment!.replicas, columns);
  const transport = await openTransport(shared, 0);
  for await (const event of loop(
    experiment!,
    feedOf(experiment!, dataset, shares),
    transport,
    await openBackend(backend),
    undefined,
  )) {
    if (event.type === 'step') steps.push(event);
    if (event.type === 'norms') norms.push(mean(event.norms[0]!));
    if (event.type === 'evaluation') evaluations.push(event);
    if (event.type === 'end') paramsSha256 = event.paramsSha256;
  }
  transport.close();
  const course: Course = {
    near: {
      loss: steps.map(({ loss }) => mean(loss)),
      distance: steps.map(({ distance }) => distance!),
      norm: norms,
      learningRate: steps.map(({ learningRate }) => learningRate),
      targetDistance: steps.flatMap(({ targetDistance }) => targetDistance ?? []),
      testLoss: evaluations.map(({ local }) => mean(local.map(({ loss }) => loss))),
      mergedLoss: evaluations.flatMap(({ merged }) => merged?.loss ?? []),
    },
    exact: {
      connections: steps.map(({ connections }) => connections),
      gossips: steps.map(({ gossips }) => gossips),
      sentBytes: steps.map(({ sentBytes }) => sentBytes),
      sentMessages: steps.map(({ sentMessages }) => sentMessages),
      samples: samplesOf(experiment!, dataset),
    },
  };
  return { course, paramsSha256 };
}

/** Instruction sets by which libraries choose their loops, the widest first, by the flags that Linux shows. */
const sets: readonly (readonly [name: string, ...flags: string[]])[] = [
  ['amx', 'amx_tile'],
  ['avx512-bf16', 'avx512_bf16'],
  ['avx512-vnni', 'avx512_vnni', 'avx512bw', 'avx512vl'],
  ['avx512', 'avx512f', 'avx512bw', 'avx512vl', 'avx512dq'],
  ['avx2-vnni', 'avx_vnni'],
  ['avx2', 'avx2', 'fma'],
];

/** What decides the bits besides a library and its version. */
export function instructionSet(): string {
  if (platform() !== 'linux' || arch() !== 'x64') return `${platform()} ${arch()}`;
  const flags = new Set(/^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1]?.split(' '));
  return sets.find(([, ...needed]) => needed.every((flag) => flags.has(flag)))?.[0] ?? 'sse';
}
