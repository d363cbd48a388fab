import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { circulant } from '../topology/kind.ts';
import { buildTopology } from '../topology/topology.ts';
import { readSchedule } from './assign/settings.ts';
import { timesInGroups } from './assign/steps.ts';
import { collectiveOf } from './collective.ts';
import { cycleMeans, largestCycleMean } from './cycle.ts';
import { devicesOf } from './devices.ts';
import { buildNetwork, type NetworkSettings } from './network.ts';
import { gossipPattern } from './pattern.ts';
import { pipelineNs } from './pipeline.ts';
import { fastOrders } from './placement.ts';
import { inPipelines, premisesOf } from './premises.ts';
import { Timetable } from './timetable.ts';

const eight = ['Oregon', 'Virginia', 'Ohio', 'Tokyo', 'Seoul', 'London', 'Frankfurt', 'Ireland'];
const aws8 = { kind: 'aws', use: eight };
const devices = devicesOf({}, { compute: '10ms' });

function placed(network: NetworkSettings, kind: string, n: number, more: object = {}) {
  const topology = buildTopology({ kind, ...more }, n, 1);
  const rounds = () => Array.from({ length: topology.period }, (_, t) => topology.round(t).sources);
  return premisesOf({ network, devices }, { n, seed: 1, batch: 1, bytes: 407_080, rounds });
}

describe('placement: fastest', () => {
  it('finds the best order of a directed ring over eight regions', () => {
    const { placement, network } = placed({ ...aws8, placement: 'fastest' }, 'exponential', 8, { k: 1 });
    expect(placement!.listedNs / 1e6).toBeCloseTo(54.7293, 4);
    expect(placement!.stepNs / 1e6).toBeCloseTo(46.5123, 4);
    expect(placement!.all).toBe(true);
    const order = ['Oregon', 'Ohio', 'Virginia', 'Ireland', 'London', 'Frankfurt', 'Seoul', 'Tokyo'];
    expect(network.names).toEqual(order);
  });

  it('is the same again, never slower than the listed order, and as good as all orders where those can be tried', () => {
    for (const kind of ['ring', 'one-peer-exponential']) {
      const { placement } = placed({ ...aws8, placement: 'fastest' }, kind, 8);
      expect(placement).toEqual(placed({ ...aws8, placement: 'fastest' }, kind, 8).placement);
      expect(placement!.stepNs).toBeLessThan(placement!.listedNs);
    }
    // Ten devices on a line with the time of a message as their distance, in no order: a ring visits them there and back.
    const place = [...new Random(3, 'test').permutation(10)];
    const values = place.map((a) => place.map((b) => Math.abs(a - b)));
    const line = {
      kind: 'matrix',
      latencies: { unit: 'ms', values },
      rates: { unit: 'Gb/s', values: values.map((row) => row.map(() => 1e6)) },
      placement: 'fastest',
    };
    const { placement } = placed(line, 'exponential', 10, { k: 1 });
    expect(placement!.all).toBe(false);
    // 2 · 9 / 10 a message in the mean, and 10 ms of compute.
    expect(placement!.stepNs / 1e6).toBeCloseTo(11.8, 4);
  });

  it('compares orders with messages that come no faster than their receiver hears', () => {
    // From each to the next little latency at 100 Mb/s, else more latency at 1 Gb/s: but all hear at 50 Mb/s.
    const ahead = (near: number, far: number) =>
      [0, 1, 2, 3].map((from) => [0, 1, 2, 3].map((to) => (to === (from + 1) % 4 ? near : far)));
    const given = {
      kind: 'matrix',
      latencies: { unit: 'ms', values: ahead(1, 10) },
      rates: { unit: 'Mb/s', values: ahead(100, 1000) },
      down: '50Mb/s',
    };
    const gossip = { compute: () => 10e6, rounds: [circulant(4, [1]).sources], bytes: 1e6 };
    expect(fastOrders({ ...gossip, network: buildNetwork(given, 4) }, 1, 1).orders).toEqual([[0, 1, 2, 3]]);
  });

  it('takes an order of one’s own, and devices with their compute time', () => {
    const order = [1, 0, 2, 3, 4, 5, 6, 7];
    const each = [2, 1, 1, 1, 1, 1, 1, 1];
    const topology = { n: 8, seed: 1, batch: 1, bytes: 8, rounds: () => [circulant(8, [1]).sources] };
    const { compute, network } = premisesOf(
      { network: { ...aws8, placement: order }, devices: devicesOf({}, { compute: '10ms', each }) },
      topology,
    );
    expect([compute(0, 0), compute(1, 0)]).toEqual([10e6, 20e6]);
    expect(network.names![0]).toBe('Virginia');
    expect(() => placed({ ...aws8, placement: [0, 0, 1] }, 'ring', 8)).toThrow(/each of 8 devices once, from 0 to 7/);
  });

  it('means over cycles are those of Karp with its cycle', () => {
    for (let draw = 0; draw < 1000; draw++) {
      const random = new Random(9, 'test', 0, draw);
      const n = 2 + random.below(7);
      const edges = Array.from({ length: n + random.below(3 * n) }, (_, e) => ({
        from: e < n ? e : random.below(n),
        to: e < n ? (e + 1) % n : random.below(n),
        ns: random.below(1000),
      }));
      const column = (key: 'from' | 'to') => Int32Array.from(edges, (edge) => edge[key]);
      const ns = Float64Array.from(edges, (edge) => edge.ns);
      expect(cycleMeans(n, column('from'), column('to'))(ns)).toBe(largestCycleMean(n, edges)!.meanNs);
    }
  });
});

const even = (parts: number, stages: number, f: number, b: number, e: number, latencyNs = 0) =>
  pipelineNs({
    parts,
    forwardNs: new Array(stages).fill(f),
    backwardNs: new Array(stages).fill(b),
    hops: new Array(stages - 1).fill({ busyNs: e, latencyNs }),
    returns: new Array(stages - 1).fill({ busyNs: e, latencyNs }),
  });

describe('a replica that is a pipeline', () => {
  it('takes (m + D − 1)(f + b) + 2(D − 1)e if a hop takes at most a forward pass, and what the recurrence says if not', () => {
    expect(even(4, 3, 2, 4, 1)).toBe(40);
    expect(even(4, 3, 2, 4, 3)).toBe(51);
    // Latency keeps no link: with it instead, nothing but the way is longer.
    expect(even(4, 3, 2, 4, 0, 3)).toBe(6 * 6 + 4 * 3);
    expect(even(5, 1, 2, 4, 0)).toBe(30);
    for (let draw = 0; draw < 1000; draw++) {
      const random = new Random(4, 'test', 0, draw);
      const [m, d, f, b] = [1 + random.below(9), 1 + random.below(6), 1 + random.below(50), 1 + random.below(50)];
      const e = random.below(Math.min(f, b) + 1);
      expect(even(m, d, f, b, e)).toBe((m + d - 1) * (f + b) + 2 * (d - 1) * e);
    }
  });

  // Four devices, two stages of two: 0 → 2 and 1 → 3 are pipelines. 1 ns latency, 1 byte a ns.
  const network = buildNetwork({ kind: 'uniform', latency: '1ns', rate: '1GB/s' }, 4);
  const groups = [
    [0, 1],
    [2, 3],
  ];
  const compute = (device: number) => [12, 12, 12, 24][device]!;

  it('each stage exchanges its half of the model in its own group, and waits for the slower one', () => {
    const pipelines = { groups, parts: 2, activationBytes: 4 };
    const pair = inPipelines(network, compute, pipelines, true);
    // Replica 0: f = 1, b = 2, hops of 2 and latency 1. Forward 1, 2 → 4, 6 → 5, 7; back from 7: 9, 11 → 12, 14 → 16.
    expect(pair.compute(0, 0)).toBe(16);
    // Replica 1: its second stage is twice as slow. Forward 1, 2 → 4, 6 → 6, 8; back from 8: 12, 16 → 15, 19 → 21.
    expect(pair.compute(1, 0)).toBe(21);
    const timetable = new Timetable(pair.network, pair.compute);
    // Ten bytes are two messages of five, at once: 1 + 5. Both wait for the slower pipeline.
    timetable.step(0, gossipPattern(10), () => [[1], [0]]);
    expect([...timetable.state.finished]).toEqual([27, 22]);
    // An all-reduce of two sends half of each half twice: 2(1 + 10/4), or a tree 2(1 + 5).
    expect(collectiveOf(pair.network, 10)).toEqual({ name: 'ring', ns: 7 });
  });

  it('a network may say so: the devices of a step are found by the schedule, or named', () => {
    const given = {
      kind: 'uniform',
      latency: '1ns',
      rate: '1GB/s',
      pipeline: { stages: 2, activations: '4B', parts: 2 },
    };
    const inhabitants = { n: 2, seed: 1, batch: 1, bytes: 10, rounds: () => [] };
    const one = (pipeline: object) =>
      premisesOf(
        {
          network: { ...given, pipeline: { ...given.pipeline, ...pipeline } },
          devices: devicesOf({}, { compute: '12ns' }),
        },
        inhabitants,
      );
    expect([one({}).compute(0, 0), one({}).network.n]).toEqual([16, 2]);
    expect(one({ groups }).compute(1, 0)).toBe(16);
    expect(() => one({ groups: [[0, 1]] })).toThrow(/2 groups of 2 devices, with each from 0 to 3 once/);
  });

  it('one stage is a network without pipelines', () => {
    const given = { kind: 'lan' };
    const whole = premisesOf({ network: given, devices }, { n: 4, seed: 1, batch: 1, bytes: 1e6, rounds: () => [] });
    const piped = premisesOf(
      { network: { ...given, pipeline: { stages: 1, activations: '1MB', parts: 1 } }, devices },
      { n: 4, seed: 1, batch: 1, bytes: 1e6, rounds: () => [] },
    );
    expect(piped.compute(0, 0)).toBe(whole.compute(0, 0));
    expect(collectiveOf(piped.network, 1e6)).toEqual(collectiveOf(whole.network, 1e6));
  });

  it('dbench schedule times a step with all-reduce and with gossip in the groups', () => {
    const given = { network: 'aws', devices: 16, stages: 4, gradients: '100MB', activations: '10MB', compute: '2s' };
    const read = readSchedule(given, 'file');
    const stages = Array.from({ length: 4 }, (_, s) => [0, 1, 2, 3].map((i) => 4 * i + s));
    const times = timesInGroups(read.network, read.settings, stages);
    expect(times.parts).toBe(16);
    // At least the work of 16 + 3 parts through equal stages.
    expect(times.pipelineNs).toBeGreaterThan((2e9 * 19) / 16 / 4);
    expect(times.exchanges.map(({ name }) => name)).toContain('all-reduce');
    for (const { stepNs } of times.exchanges) expect(stepNs).toBeGreaterThan(times.pipelineNs);
  });

  it('leaves out topologies that a group is too small or not made for', () => {
    const given = { network: 'aws', devices: 6, stages: 2, gradients: '100MB', activations: '10MB', compute: '2s' };
    const { network, settings } = readSchedule(given, 'file');
    const names = timesInGroups(network, settings, [
      [0, 1, 2],
      [3, 4, 5],
    ]).exchanges.map(({ name }) => name);
    expect(names).not.toContain('gossip, torus');
    expect(names).toEqual(expect.arrayContaining(['all-reduce', 'gossip, ring', 'gossip, complete']));
  });
});
