import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { circulant, undirected } from '../topology/kind.ts';
import { buildTopology } from '../topology/topology.ts';
import { collectiveTimes } from './collective.ts';
import type { ComputeTimes } from './devices.ts';
import { buildNetwork, type Network, type NetworkSettings } from './network.ts';
import { allReducePattern, gossipPattern, type Pattern } from './pattern.ts';
import { type Course, criticalCycle, steadyState } from './steady.ts';
import { Timetable } from './timetable.ts';

type Sources = readonly (readonly number[])[];

/** Latency 1 ns, and 2 ns per message at every port. */
const toy = (n: number, sharing: Network['sharing']) =>
  buildNetwork({ kind: 'uniform', latency: '1ns', rate: '1GB/s', sharing }, n);
const toyBytes = 2;

const sourcesOf = (kind: string, n: number): Sources => buildTopology({ kind }, n, 1).round(0).sources;

function course(network: Network, sources: Sources, compute: ComputeTimes, pattern: Pattern): Course {
  return {
    network,
    compute,
    steady: true,
    pattern: () => pattern,
    patternPeriod: 1,
    hearing: () => sources,
    hearingPeriod: 1,
  };
}

/** F_i(t) for the first steps. */
function finishes(
  network: Network,
  sources: Sources,
  compute: ComputeTimes,
  pattern: Pattern,
  steps: number,
): number[][] {
  const timetable = new Timetable(network, compute);
  return Array.from({ length: steps }, (_, t) => {
    timetable.step(t, pattern, () => sources);
    return [...timetable.state.finished];
  });
}

const directedRing = (n: number): Sources => circulant(n, [1]).sources;
const ring = (n: number): Sources => circulant(n, [1, -1]).sources;

describe('the time of a step with compute 10, latency 1 and messages of 2', () => {
  it.each([
    ['directed ring', directedRing(8), 13, 13],
    ['ring 8', sourcesOf('ring', 8), 15, 15],
    ['exponential 16', sourcesOf('exponential', 16), 19, 19],
    ['complete 8', sourcesOf('complete', 8), 25, 25],
    ['torus 4×4', sourcesOf('torus', 16), 21, 19],
    ['star 8', sourcesOf('star', 8), 19, 25],
  ] as const)('%s', (_, sources, serial, fair) => {
    const at = (sharing: Network['sharing']) =>
      steadyState(course(toy(sources.length, sharing), sources, () => 10, gossipPattern(toyBytes)));
    expect(at('serial')).toMatchObject({ stepNs: serial, exact: true });
    expect(at('fair')).toMatchObject({ stepNs: fair, exact: true });
    expect(at('none')).toMatchObject({ stepNs: 13, exact: true });
  });

  it('is not shorter than the bits take through a port that hears slowly', () => {
    // 50 kB pass 10 Mb/s in 40 ms, whatever the sender can do.
    const at = (sharing: Network['sharing'], sources: Sources, overhead = '0us') => {
      const given = { kind: 'uniform', latency: '1ms', rate: '1Gb/s', down: '10Mb/s', sharing, overhead };
      const network = buildNetwork(given, sources.length);
      return steadyState(course(network, sources, () => 50e6, gossipPattern(50_000)));
    };
    for (const sharing of ['none', 'fair', 'serial'] as const)
      expect(at(sharing, directedRing(4)), sharing).toMatchObject({ stepNs: 91e6, exact: true });
    expect(at('serial', directedRing(4), '2ms')).toMatchObject({ stepNs: 93e6, exact: true });
    // The second message waits until the first has passed.
    expect(at('serial', ring(4))).toMatchObject({ stepNs: 131e6, exact: true });
  });

  it('has the hub of a star finish at 25, 39, 63, 77', () => {
    const all = finishes(toy(8, 'serial'), sourcesOf('star', 8), () => 10, gossipPattern(toyBytes), 4);
    expect(all.map(([hub]) => hub)).toEqual([25, 39, 63, 77]);
  });
});

describe('a ring with delays, fair, link 5', () => {
  const [n, w, delta] = [40, 5, 8];

  it('passes a delay on as the formula says', () => {
    const sources = ring(n);
    const late: ComputeTimes = (i, t) => 10 + (i === 0 && t === 0 ? delta : 0);
    const [on, off] = [late, () => 10].map((compute) =>
      finishes(toy(n, 'fair'), sources, compute, gossipPattern(toyBytes), 12),
    );
    for (let t = 0; t < 12; t++)
      for (let i = 0; i < n; i++) {
        const d = Math.min(i, n - i);
        const expected = d > t + 1 ? 0 : Math.max(0, delta - w * ((t + 1 - d) % 2));
        expect(on![t]![i]! - off![t]![i]!, `step ${t}, replica ${i}`).toBe(expected);
      }
  });

  it.each([
    [3, 16.5, 18],
    [8, 19, 23],
    [20, 30, 35],
  ])('always late by %i: %f per step, with a barrier %i', (always, mean, barrier) => {
    const compute: ComputeTimes = (i) => (i === 0 ? 10 + always : 10);
    expect(steadyState(course(toy(8, 'fair'), ring(8), compute, gossipPattern(toyBytes))).stepNs).toBe(mean);
    expect(10 + always + w).toBe(barrier);
  });
});

describe('orders of computing and averaging on a ring', () => {
  it('combine-then-adapt takes as long; averaging while computing hides the shorter of both', () => {
    const at = (order: 'adapt' | 'combine' | 'overlap', c: number) =>
      steadyState(course(toy(8, 'serial'), ring(8), () => c, gossipPattern(toyBytes, order))).stepNs;
    expect(at('adapt', 10)).toBe(15);
    expect(at('combine', 10)).toBe(15);
    expect(at('overlap', 10)).toBe(10);
    expect(at('overlap', 2)).toBe(5);
  });

  it('more gossips of consensus control come one after the other', () => {
    const timetable = new Timetable(toy(8, 'fair'), () => 10);
    timetable.step(0, gossipPattern(toyBytes), () => ring(8), 3);
    expect([...timetable.state.finished]).toEqual(new Array(8).fill(10 + 3 * 5));
  });
});

/** Steps per second against compute times that are exponential with mean 1, on a network that takes no time. */
function noisyStep(sources: Sources, steps: number, seed = 1): number {
  const { length: n } = sources;
  const free = buildNetwork({ kind: 'uniform', latency: '0ns', rate: '1TB/s', sharing: 'none' }, n);
  const compute: ComputeTimes = (i, t) => Math.round(-1e9 * Math.log(1 - new Random(seed, 'test', i, t).uniform()));
  const timetable = new Timetable(free, compute);
  const pattern = gossipPattern(0);
  let first = 0;
  for (let t = 0; t < steps; t++) {
    timetable.step(t, pattern, () => sources);
    if (t === Math.floor(steps / 5)) first = timetable.state.finished[0]!;
  }
  return (timetable.state.finished[0]! - first) / 1e9 / (steps - 1 - Math.floor(steps / 5));
}

describe('exponential compute times on a free network', () => {
  it.each([
    [4, 2.0833],
    [16, 3.3807],
    [64, 4.7439],
  ])('complete, %i replicas: each step waits for the slowest of all, H_n = %f', (n, expected) => {
    expect(Math.abs(noisyStep(sourcesOf('complete', n), 4000) - expected)).toBeLessThan(0.1);
  });

  it.each([
    ['directed ring', 16, 1.93],
    ['directed ring', 64, 1.97],
    ['ring', 16, 2.27],
    ['ring', 64, 2.35],
    ['exponential', 16, 2.71],
    ['exponential', 64, 3.32],
  ])('%s of %i: %f', (kind, n, expected) => {
    const sources = kind === 'directed ring' ? directedRing(n) : sourcesOf(kind, n);
    expect(Math.abs(noisyStep(sources, n === 16 ? 30_000 : 6000) - expected)).toBeLessThan(0.02);
  });
});

describe('the same with 1008 replicas', () => {
  const [n, steps, from] = [1008, 2400, 1000];
  const drawn = Array.from({ length: steps }, (_, t) =>
    Float64Array.from({ length: n }, (_, i) => Math.round(-1e9 * Math.log(1 - new Random(2, 'test', i, t).uniform()))),
  );
  const free = buildNetwork({ kind: 'uniform', latency: '0ns', rate: '1TB/s', sharing: 'none' }, n);

  /** Mean over the replicas, from the step at which the start no longer shows. */
  function perStep(sources: Sources, pattern: Pattern): number {
    const timetable = new Timetable(free, (i, t) => drawn[t]![i]!);
    const mean = () => timetable.state.finished.reduce((sum, time) => sum + time, 0) / n;
    let first = 0;
    for (let t = 0; t < steps; t++) {
      timetable.step(t, pattern, () => sources);
      if (t === from) first = mean();
    }
    return (mean() - first) / 1e9 / (steps - 1 - from);
  }

  it.each([
    ['directed ring', directedRing(n), 2],
    ['ring', ring(n), 2.39],
    ['exponential', sourcesOf('exponential', n), 4.15],
  ])('%s', (_, sources, expected) => {
    expect(Math.abs(perStep(sources, gossipPattern(0)) - expected)).toBeLessThan(0.02);
  });

  it('with a barrier each step waits for the slowest of all, H_n = 7.4934', () => {
    // The largest of 1008 varies by 1.28 from step to step.
    const nobody = Array.from({ length: n }, () => []);
    expect(Math.abs(perStep(nobody, allReducePattern(0)) - 7.4934)).toBeLessThan((3 * 1.28) / Math.sqrt(steps - from));
  });
});

const regions = ['Oregon', 'Virginia', 'Ohio', 'Tokyo', 'Seoul', 'London', 'Frankfurt', 'Ireland'];

describe('eight cloud regions, compute 10 ms, 407,080 bytes around a directed ring', () => {
  const cycleMs = (use: readonly string[]) => {
    const network = buildNetwork({ kind: 'aws', use } as NetworkSettings, 8);
    return steadyState(course(network, directedRing(8), () => 10e6, gossipPattern(407_080))).stepNs / 1e6;
  };

  it('takes the mean over the ring, not the slowest link', () => {
    expect(cycleMs(regions)).toBeCloseTo(54.7293, 4);
    expect(cycleMs(['Oregon', 'Ohio', 'Virginia', 'Ireland', 'London', 'Frankfurt', 'Seoul', 'Tokyo'])).toBeCloseTo(
      46.5123,
      4,
    );
  });
});

describe('models of the paper', () => {
  const ms = (network: NetworkSettings, sources: Sources, bytes: number) =>
    steadyState(
      course(buildNetwork(network, sources.length), sources, () => 0, gossipPattern(bytes)),
      12,
    ).stepNs / 1e6;
  const resnet20 = 1_089_896;
  const resnet50 = 4 * 25_557_032;

  it('ResNet20 on 10gbe', () => {
    expect(ms({ kind: '10gbe' }, ring(16), resnet20)).toBeCloseTo(1.763834, 5);
    expect(ms({ kind: '10gbe' }, sourcesOf('complete', 16), resnet20)).toBeCloseTo(13.098752, 5);
    expect(collectiveTimes(buildNetwork({ kind: '10gbe' }, 16), resnet20).ring / 1e6).toBeCloseTo(2.234844, 5);
  });

  it('ResNet50 on 1008 GPUs of Summit at peak', () => {
    const peak = { kind: 'summit', efficiency: 1 };
    expect(collectiveTimes(buildNetwork(peak, 1008), resnet50).hierarchical / 1e6).toBeCloseTo(15.484, 2);
    const [first] = finishes(buildNetwork(peak, 1008), ring(1008), () => 0, gossipPattern(resnet50), 1);
    expect(Math.max(...first!) / 1e6).toBeCloseTo(8.899, 3);
    // Later steps hide the latency: a port carries what is ready first.
    expect(ms(peak, ring(1008), resnet50)).toBeGreaterThan(8.889);
    expect(ms(peak, ring(1008), resnet50)).toBeLessThanOrEqual(8.8991);
    const [all] = finishes(buildNetwork(peak, 1008), sourcesOf('complete', 1008), () => 0, gossipPattern(resnet50), 1);
    expect(Math.max(...all!) / 1e9).toBeCloseTo(26.7, 1);
  });
});

describe('gradient buckets behind the backward pass', () => {
  it.each([
    [1, 6, 18],
    [4, 1.5, 13.5],
    [4, 3, 18],
  ])('%i parts of %f end at %f', (buckets, each, end) => {
    // Two devices: 2(n−1)(α + M/(nB)) = M/B for all parts together.
    const network = buildNetwork({ kind: 'uniform', latency: '0ns', rate: '1GB/s', collective: 'ring', buckets }, 2);
    const timetable = new Timetable(network, () => 12e6);
    timetable.step(0, allReducePattern(each * buckets * 1e6), () => [[], []]);
    expect(timetable.state.finished[0]! / 1e6).toBe(end);
  });
});

it('refuses times beyond 2^53 ns in one sentence', () => {
  const slow = buildNetwork({ kind: 'uniform', latency: '100min', rate: '1b/s' }, 2);
  const timetable = new Timetable(slow, () => 0);
  expect(() => timetable.step(0, gossipPattern(1e9), () => [[1], [0]])).toThrow(/104 days/);
});

it('names the replicas on the critical cycle', () => {
  const slow: ComputeTimes = (i) => (i === 3 ? 100 : 10);
  const alone = course(toy(8, 'serial'), ring(8), slow, gossipPattern(toyBytes));
  expect(steadyState(alone)).toMatchObject({ stepNs: 100, exact: true });
  expect(criticalCycle(alone)).toEqual({ replicas: [3], steps: 1 });
  for (const sharing of ['serial', 'fair'] as const) {
    const around = criticalCycle(course(toy(6, sharing), directedRing(6), () => 10, gossipPattern(toyBytes)));
    expect(new Set(around!.replicas)).toEqual(new Set([0, 1, 2, 3, 4, 5]));
    const path = undirected(3, [
      [0, 1],
      [1, 2],
    ]).sources;
    const pair = criticalCycle(course(toy(3, sharing), path, (i) => (i === 2 ? 14 : 10), gossipPattern(toyBytes)));
    expect([...pair!.replicas].sort()).toEqual([1, 2]);
  }
});
