import { expect, it } from 'vitest';
import { stepOf } from '../algorithm/actions.ts';
import { rowCompressor } from '../algorithm/compressors.ts';
import { factsOf } from '../algorithm/facts.ts';
import { methods } from '../algorithm/methods.ts';
import { algorithmSchema } from '../algorithm/schema.ts';
import { type By, isBetween } from '../algorithm/stage.ts';
import { gossipTraffic, trafficOf } from '../algorithm/traffic.ts';
import { UserError } from '../base/error.ts';
import { Random } from '../base/random.ts';
import { planOfRun } from '../engine/edges.ts';
import { planner } from '../engine/plan.ts';
import { type TimedStep, VirtualTime } from '../engine/virtual.ts';
import { resolve } from '../experiment/experiment.ts';
import type { Experiment } from '../experiment/schema.ts';
import { gossips as averages } from '../network/steady.ts';
import { LinkCounter } from '../network/usage.ts';
import { retime } from './retime.ts';
import type { RunSeries } from './series.ts';

const [count, epochs, stepsPerEpoch] = [1000, 3, 4];
const steps = epochs * stepsPerEpoch;
const topologies = [
  'ring',
  'complete',
  'star',
  'torus',
  'exponential',
  'one-peer-exponential',
  'epidemic',
  'ada',
  'piecewise',
];

/** Those whose learning does not follow time. */
const synchronous = methods.filter(({ name }) => !factsOf(algorithmSchema.parse({ kind: name })).asynchronous);

/** A random run on a random network; undefined if its method does not go with its topology. */
function randomRun(seed: number): { experiment: Experiment; sizes: number[]; random: Random } | undefined {
  const random = new Random(seed, 'test');
  const of = <T>(all: readonly T[]): T => all[random.below(all.length)]!;
  const between = (least: number, most: number) => least + random.below(most - least + 1);
  const time = () => `${between(1, 9000)}us`;
  const rate = () => `${between(1, 2000)}kB/s`;
  const n = between(4, 9);
  const square = (unit: string, least: number) => ({
    unit,
    values: Array.from({ length: n }, () => Array.from({ length: n }, () => between(least, 50))),
  });
  const link = () => ({ latency: time(), rate: rate() });
  const network = of([
    () => ({ kind: 'uniform', ...link(), up: rate() }),
    () => ({ kind: 'hosts', devices: between(1, 4), inner: link(), outer: link() }),
    () => ({ kind: 'matrix', latencies: square('ms', 0), rates: square('kB/s', 1), down: rate() }),
    () => ({ kind: 'aws', tcp: true }),
    () => ({ kind: 'silos', efficiency: 0.5 }),
  ])();
  const devices = {
    compute: time(),
    noise: of([
      { kind: 'constant' },
      { kind: 'exponential' },
      { kind: 'lognormal' },
      { kind: 'trace', factors: [1, 3] },
    ]),
    ...of([
      {},
      { slow: { kind: 'devices', share: 0.3, factor: 4 } },
      { slow: { kind: 'steps', probability: 0.2, factor: 6 } },
    ]),
  };
  const { name, settings } = of(synchronous);
  const kind = of(topologies);
  const topology = {
    ada: { kind, k0: n - 1, kEnd: 2 },
    piecewise: {
      kind,
      phases: [
        { from: 0, topology: { kind: 'ring' } },
        { from: 1, topology: { kind: 'complete' } },
      ],
    },
    epidemic: { kind, k: 2 },
  }[kind] ?? { kind };
  try {
    const [experiment] = resolve(
      {
        name: 'random',
        seed,
        replicas: n,
        data: { kind: 'synthetic' },
        model: { kind: 'mlp' },
        batch: between(1, 8),
        epochs,
        learningRate: { base: 0.1 },
        algorithm: 'period' in settings ? { kind: name, period: between(1, 4) } : { kind: name },
        topology,
        network: { sharing: of(['none', 'fair', 'serial']), collective: of(['auto', 'ring', 'tree']), ...network },
        devices,
      },
      'random',
    );
    return { experiment: experiment!, sizes: Array.from({ length: between(1, 3) }, () => between(1, 4000)), random };
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/** The steps as consensus control could have made them: `round` as the engine counts it. */
function randomSteps({ experiment, sizes, random }: NonNullable<ReturnType<typeof randomRun>>): TimedStep[] {
  const { course } = timedBy(experiment, sizes);
  const controlled = random.uniform() < 0.3;
  let round = 0;
  return Array.from({ length: steps }, (_, t) => {
    const mixes = averages(course.pattern(t));
    const gossips = mixes ? (controlled ? 1 + random.below(3) : 1) : 0;
    const step = {
      t,
      epoch: Math.floor(t / stepsPerEpoch),
      round,
      gossips,
      measured: controlled && random.uniform() < 0.5,
    };
    round += gossips;
    return step;
  });
}

const shaped = (sizes: readonly number[]) =>
  sizes.map((size) => ({ size, shape: size % 4 === 0 ? [4, size / 4] : [size] }));

const timedBy = (experiment: Experiment, sizes: readonly number[], links?: LinkCounter) => {
  const tensors = shaped(sizes);
  return new VirtualTime(
    experiment,
    { network: experiment.network!, devices: experiment.devices! },
    tensors,
    steps,
    links,
  );
};

const told = ({ started, computed, finished }: VirtualTime) => [...started, ...computed, ...finished];

/** What a replica sends in these steps, as the engine counts it. */
function sentBytes(experiment: Experiment, sizes: readonly number[], all: readonly TimedStep[]): number {
  const { replicas, algorithm, batch } = experiment;
  const planned = planner(experiment, stepsPerEpoch);
  const { plan, edges } = planOfRun(experiment);
  const columns = sizes.reduce((sum, size) => sum + size, 0);
  const { compressor } = algorithm as { compressor?: Parameters<typeof rowCompressor>[0] };
  const offsets = [0, ...sizes.map((_, i) => sizes.slice(0, i + 1).reduce((sum, size) => sum + size, 0))];
  const compressedBytes = compressor === undefined ? 0 : rowCompressor(compressor, offsets).bytes;
  const tensors = shaped(sizes).map((tensor, i) => ({ ...tensor, offset: offsets[i]! }));
  let total = 0;
  for (const { t, epoch, round } of all) {
    const { topology } = planned(epoch);
    const degree = edges?.degree ?? gossipTraffic(topology.mixing(round), replicas, 0).messages;
    const degreeBy = (by: By) =>
      isBetween(by) ? gossipTraffic(topology.cohort!.mixing(by, round), replicas, 0).messages : degree;
    const step = stepOf(plan, { t, steps, eta: 1, etaBefore: 1 });
    const answers = { samples: batch, classes: sizes.at(-1)! };
    total += trafficOf(plan, step, { replicas, degree, degreeBy, columns, tensors, compressedBytes, answers }).bytes;
  }
  return total;
}

function* randomRuns() {
  for (let [seed, made] = [0, 0]; made < count; seed++) {
    const run = randomRun(seed);
    if (run === undefined) continue;
    made += 1;
    yield run;
  }
}

it(`${count} random runs on random networks: the same times straight through, resumed, and timed again from what was stored; bytes on links are those sent`, () => {
  const wrong: string[] = [];
  const used = new Set<string>();
  for (const run of randomRuns()) {
    const { experiment, sizes, random } = run;
    used.add(experiment.algorithm.kind).add(experiment.topology.kind);
    const all = randomSteps(run);
    const links = new LinkCounter(experiment.replicas);
    const whole = timedBy(experiment, sizes, links);
    const stop = random.below(steps);
    let resumed: VirtualTime | undefined;
    const last: number[] = [];
    for (const step of all) {
      whole.step(step);
      last.push(whole.lastNs / 1e9);
      resumed?.step(step);
      if (resumed !== undefined && told(resumed).join() !== told(whole).join())
        wrong.push(`${experiment.seed}: resumed`);
      if (step.t !== stop) continue;
      // As a checkpoint holds it.
      resumed = timedBy(experiment, sizes);
      resumed.state = JSON.parse(JSON.stringify(whole.state)) as VirtualTime['state'];
    }
    const column = (value: (step: TimedStep) => number) => Float64Array.from(all, value);
    const series = {
      tensors: shaped(sizes).map(({ size, shape }, i) => ({ name: String(i), shape: shape.join('×'), size })),
      stepsPerEpoch,
      steps: {
        step: column(({ t }) => t),
        epoch: column(({ epoch }) => epoch),
        gossips: column(({ gossips }) => gossips),
        controlledDistance: column(({ measured }) => (measured ? 1 : Number.NaN)),
        branch: column(() => Number.NaN),
      },
    } as unknown as RunSeries;
    const given = { network: experiment.network!, devices: experiment.devices! };
    if (retime(experiment, series, given).seconds.join() !== last.join()) wrong.push(`${experiment.seed}: timed again`);
    if (all.some(({ gossips, measured }) => gossips > 1 || measured)) continue;
    const bytes = (links.take()?.bytes ?? []).reduce((sum, each) => sum + each, 0);
    const expected = experiment.replicas * sentBytes(experiment, sizes, all);
    if (Math.abs(bytes - expected) > 1e-9 * expected) wrong.push(`${experiment.seed}: ${bytes} bytes, not ${expected}`);
  }
  expect(wrong).toEqual([]);
  expect([...used].sort()).toEqual([...synchronous.map(({ name }) => name), ...topologies].sort());
}, 120_000);
