import { describe, expect, it } from 'vitest';
import { Random } from '../../base/random.ts';
import { parse } from '../../base/schema.ts';
import { circulant, undirected } from '../../topology/kind.ts';
import { apply, columnStochastic, type Mixing, mixingOf } from '../../topology/mixing.ts';
import { buildNetwork, type Network } from '../network.ts';
import { gossipPattern } from '../pattern.ts';
import { inPipelines } from '../premises.ts';
import { Timetable, type Watcher } from '../timetable.ts';
import { awayOf } from './away.ts';
import { downloadNs, Faults, receptionOf } from './faults.ts';
import { mixingHeard, pushHeard } from './heard.ts';
import { lossesOf, type Sources } from './loss.ts';
import { type ChurnSettings, type FaultSettings, faultsSchema } from './settings.ts';

const settingsOf = (given: object): FaultSettings => parse(faultsSchema, given, 'faults');
const churnOf = (churn: object): ChurnSettings => settingsOf({ churn }).churn!;

function mixed(W: Mixing, x: readonly number[]): number[] {
  const out = new Float64Array(W.n);
  apply(W, Float64Array.from(x), out);
  return [...out];
}

const sums = ({ n, start, source, weight }: Mixing) => {
  const [rows, columns] = [new Float64Array(n), new Float64Array(n)];
  for (let i = 0; i < n; i++)
    for (let e = start[i]!; e < start[i + 1]!; e++) {
      rows[i]! += weight[e]!;
      columns[source[e]!]! += weight[e]!;
    }
  return { rows: [...rows], columns: [...columns] };
};

describe('a ring of 4 with x = 0, 4, 8, 12', () => {
  const W = mixingOf(circulant(4, [1, -1]), undefined, 'uniform');
  const x = [0, 4, 8, 12];

  it('keeps the weight of the message 1 → 0 that is lost', () => {
    const found = mixed(mixingHeard(W, [], new Set([1 * 4 + 0])), x);
    for (const [i, value] of [4, 4, 8, 20 / 3].entries()) expect(found[i]).toBeCloseTo(value, 12);
    expect(found.reduce((a, b) => a + b) / 4).toBeCloseTo(17 / 3, 12);
  });

  it('keeps the mean if the edge is lost', () => {
    const found = mixed(mixingHeard(W, [], new Set([1 * 4 + 0, 0 * 4 + 1])), x);
    for (const [i, value] of [4, 16 / 3, 8, 20 / 3].entries()) expect(found[i]).toBeCloseTo(value, 12);
    expect(found.reduce((a, b) => a + b) / 4).toBeCloseTo(6, 12);
  });

  it('is W itself if nothing is missing', () => {
    expect(mixingHeard(W, [], new Set())).toBe(W);
  });
});

describe('messages that are lost', () => {
  it('are sent again p/(1−p) times, mean, and at all with probability p', () => {
    const sources = circulant(100, [1, 2, 3, 4, 5]).sources;
    const losses = lossesOf({ kind: 'retransmit', probability: 0.3, after: '1s' }, 7);
    const drawn = Array.from({ length: 100 }, (_, gossip) => losses(gossip, sources)).flat(2);
    const mean = drawn.reduce((a, b) => a + b) / drawn.length;
    const share = drawn.filter((times) => times > 0).length / drawn.length;
    // 50,000 draws: three standard errors.
    expect(Math.abs(mean - 0.3 / 0.7)).toBeLessThan(3 * Math.sqrt(0.3 / 0.49 / drawn.length));
    expect(Math.abs(share - 0.3)).toBeLessThan(3 * Math.sqrt(0.21 / drawn.length));
  });

  it('go by receiver and gossip, whoever else there is', () => {
    const losses = lossesOf({ kind: 'keep', probability: 0.5, scope: 'message' }, 1);
    const few = losses(3, [[1], [0]]);
    const many = losses(3, [
      [1, 2],
      [0, 2],
      [0, 1],
    ]);
    expect([many[0]![0], many[1]![0]]).toEqual([few[0]![0], few[1]![0]]);
    const u = new Random(1, 'loss', 1, 3);
    expect(many[1]!.map((times) => times > 0)).toEqual([u.uniform() < 0.5, u.uniform() < 0.5]);
  });

  it('always and never', () => {
    for (const [probability, lost] of [
      [0, 0],
      [1, 1],
    ] as const)
      expect(lossesOf({ kind: 'keep', probability, scope: 'message' }, 1)(0, [[1], [0]])).toEqual([[lost], [lost]]);
  });

  it('come later on the timetable, and nothing else changes', () => {
    // Directed ring of 2, compute 10, latency 1, transfer 2: a message that is lost twice comes 2 · 100 later.
    const network = buildNetwork({ kind: 'uniform', latency: '1ns', rate: '1GB/s' }, 2);
    const faults = settingsOf({ loss: { kind: 'retransmit', probability: 0.5, after: '100ns' } });
    const timetable = new Timetable(network, () => 10, {}, receptionOf(faults));
    const troubles = { absent: [], given: new Map(), lost: () => new Map([[1 * 2 + 0, 2]]) };
    timetable.step(0, gossipPattern(2), () => [[1], [0]], 1, false, troubles);
    expect([...timetable.state.finished]).toEqual([213, 13]);
  });
});

/** F_i(t) of the first steps, and whom each heard. */
function timed(
  given: object,
  sources: Sources,
  compute: readonly number[],
  steps: number,
  missing?: ReadonlyMap<number, number>,
) {
  const n = sources.length;
  const network = buildNetwork({ kind: 'uniform', latency: '1ns', rate: '1GB/s', sharing: 'none' }, n);
  const heard: number[][][] = [];
  const watcher = {
    exchange: ({ from, to }: { from: Int32Array; to: Int32Array }, times: { heard: Uint8Array }) => {
      heard.push(sources.map((_, i) => Array.from(from).filter((_, m) => to[m] === i && times.heard[m] === 1)));
    },
  };
  const timetable = new Timetable(network, (i) => compute[i]!, watcher, receptionOf(settingsOf(given)));
  const finished = Array.from({ length: steps }, (_, t) => {
    const lost = () => missing ?? new Map<number, number>();
    timetable.step(t, gossipPattern(2), () => sources, 1, false, { absent: [], given: new Map(), lost });
    return [...timetable.state.finished];
  });
  return { finished, heard };
}

describe('waiting, with messages that take 3', () => {
  const ring = circulant(3, [1]).sources;
  const slow = [10, 10, 50];

  it('for all: the slow one holds up those who hear it', () => {
    const { finished } = timed({}, ring, slow, 2);
    expect(ring).toEqual([[2], [0], [1]]);
    expect(finished).toEqual([
      [53, 13, 50],
      [103, 66, 100],
    ]);
  });

  it('until a timeout: who is not heard by then is left out', () => {
    const { finished, heard } = timed({ wait: { kind: 'timeout', time: '5ns' } }, ring, slow, 2);
    // 2 computes until 50: 0 goes on at 10 + 5. In the next step 0 sends at 25, which 1 hears at 28 = 23 + 5.
    expect(finished).toEqual([
      [15, 13, 50],
      [30, 28, 100],
    ]);
    expect(heard).toEqual([
      [[], [0], [1]],
      [[], [0], [1]],
    ]);
  });

  it('for a quorum: the first k, and what has come by then', () => {
    const complete = circulant(4, [1, 2, 3]).sources;
    const { finished, heard } = timed({ wait: { kind: 'quorum', count: 1 } }, complete, [10, 12, 20, 50], 1);
    expect(finished).toEqual([[15, 13, 20, 50]]);
    // 2 had both when it had computed, 0 and 1 have each other, 3 all.
    expect(heard[0]!.map((row) => row.toSorted())).toEqual([[1], [0], [0, 1], [0, 1, 2]]);
  });

  /** Of three replicas that hear each other, whom each heard in full. */
  function heardWhole(network: Network, count: number, computeNs: readonly number[]) {
    const heard = [0, 1, 2].map((i) => new Set([0, 1, 2].filter((j) => j !== i)));
    const watcher: Watcher = {
      exchange: ({ from, to }, times) => {
        for (const [m, i] of to.entries()) if (times.heard[m] === 0) heard[i]!.delete(from[m]!);
      },
    };
    const reception = receptionOf(settingsOf({ wait: { kind: 'quorum', count } }));
    const timetable = new Timetable(network, (i) => computeNs[i]!, watcher, reception);
    timetable.step(0, gossipPattern(2), () => circulant(3, [1, 2]).sources);
    return { heard: heard.map((row) => [...row]), finished: [...timetable.state.finished] };
  }

  it.each(['none', 'serial'])(
    'for a quorum of neighbours, each with all parts of its model; sharing: %s',
    (sharing) => {
      // Stages [0, 1, 2] and [3, 4, 5]; the second takes longer, and longest from 1 to 0.
      const values = Array.from({ length: 6 }, (_, a) =>
        Array.from({ length: 6 }, (_, b) => (a === 4 && b === 3 ? 50 : a > 2 && b > 2 ? 5 : 1)),
      );
      const given = {
        kind: 'matrix',
        latencies: { unit: 'ns', values },
        rates: { unit: 'GB/s', values: values.map((row) => row.map(() => 1)) },
        sharing,
      };
      const pipelines = {
        groups: [
          [0, 1, 2],
          [3, 4, 5],
        ],
        parts: 1,
        activationBytes: 0,
      };
      const { network } = inPipelines(buildNetwork(given, 6), () => 0, pipelines, true);
      // One byte of each stage. Messages take 6 or, from 1 to 0, 51.
      const { heard, finished } = heardWhole(network, 1, [10, 10, 20]);
      expect(heard).toEqual([[2], [0], [0, 1]]);
      expect(finished[0]).toBeGreaterThanOrEqual(20 + 6);
      expect(finished[0]).toBeLessThan(10 + 51);
      expect(heardWhole(network, 2, [10, 10, 20]).heard).toEqual([
        [1, 2],
        [0, 2],
        [0, 1],
      ]);
    },
  );

  it('for a quorum by time, if a replica hears through several ports', () => {
    // 0 and 1 are in one machine, 2 in another: what 1 sends comes later than what 2 does.
    const link = (latency: string) => ({ latency, rate: '1GB/s' });
    const network = buildNetwork({ kind: 'hosts', devices: 2, inner: link('1ns'), outer: link('1ns') }, 3);
    const { heard, finished } = heardWhole(network, 1, [10, 50, 10]);
    expect(heard[0]).toEqual([2]);
    expect(finished[0]).toBeLessThan(50);
  });

  it('for what is lost: as long as it would have taken, or as long as the timeout', () => {
    const lost = new Map([[0 * 3 + 1, 1]]);
    const keep = { loss: { kind: 'keep', probability: 0.5 } };
    expect(timed(keep, ring, [10, 10, 10], 1, lost)).toEqual({ finished: [[13, 13, 13]], heard: [[[2], [], [1]]] });
    const wait = { kind: 'timeout', time: '20ns' };
    expect(timed({ ...keep, wait }, ring, [10, 10, 10], 1, lost).finished).toEqual([[13, 30, 13]]);
  });
});

describe('replicas that come and go', () => {
  it('who leaves while it computes is not heard, and is back with the mean of its neighbours at their step', () => {
    const sources = circulant(3, [1, 2]).sources;
    const away = [{ replica: 1, from: '15ns', to: '42ns' }];
    const settings = settingsOf({ churn: { kind: 'list', away, noticed: '7ns' } });
    const faults = new Faults(settings, { n: 3, seed: 1 });
    const network = buildNetwork({ kind: 'uniform', latency: '0ns', rate: '1000TB/s' }, 3);
    const timetable = new Timetable(network, () => 10);
    const { finished } = timetable.state;
    const seen = Array.from({ length: 6 }, (_, t) => {
      const clock = { finished, compute: () => 10, downloadNs: () => 3 };
      const { absent, left, returned } = faults.begin(t, sources, clock);
      const troubles = faults.troubles((gossip) => ({ gossip, sources }));
      timetable.step(t, gossipPattern(2), () => faults.sent(sources), 1, false, troubles);
      return { absent, left, returned: returned.map(({ replica, from }) => [replica, ...from]), ends: [...finished] };
    });
    const none = { left: [], returned: [] };
    expect(seen).toEqual([
      { absent: [], ...none, ends: [10, 10, 10] },
      // The others know at 15 + 7.
      { absent: [1], left: [1], returned: [], ends: [22, 10, 22] },
      { absent: [1], ...none, ends: [32, 10, 32] },
      { absent: [1], ...none, ends: [42, 10, 42] },
      // At 42 it is back, but has not yet heard the others.
      { absent: [1], ...none, ends: [52, 10, 52] },
      { absent: [], left: [], returned: [[1, 0, 2]], ends: [62, 62, 62] },
    ]);
  });

  it('by steps: away from ≤ t < to, whatever the time', () => {
    const sources = circulant(3, [1, 2]).sources;
    const churn = { kind: 'list', away: [{ replica: 2, from: 1, to: 3 }] };
    const faults = new Faults(settingsOf({ churn }), { n: 3, seed: 1 });
    const absent = Array.from({ length: 4 }, (_, t) => faults.begin(t, sources, undefined).absent);
    expect(absent).toEqual([[], [2], [2], []]);
  });

  it('time passes until somebody is there', () => {
    const churn = { kind: 'onOff', on: '30ns', off: '1us' };
    const faults = new Faults(settingsOf({ churn }), { n: 2, seed: 3 });
    const finished = new Float64Array(2);
    for (let t = 0; t < 50; t++) {
      const before = Math.max(...finished);
      const { absent } = faults.begin(t, [[1], [0]], { finished, compute: () => 10, downloadNs: () => 0 });
      expect(absent.length).toBeLessThan(2);
      for (const i of [0, 1]) if (!absent.includes(i)) finished[i]! += 10;
      expect(Math.max(...finished)).toBeGreaterThanOrEqual(before);
    }
  });

  it('is the same again from who was away', () => {
    const churn = { kind: 'onOff', on: 5, off: 3 };
    const make = () => new Faults(settingsOf({ churn }), { n: 6, seed: 2 });
    const sources = circulant(6, [1, -1]).sources;
    const [whole, resumed] = [make(), make()];
    for (let t = 0; t < 20; t++) whole.begin(t, sources, undefined);
    resumed.out = whole.out;
    for (let t = 20; t < 40; t++)
      expect(resumed.begin(t, sources, undefined)).toEqual(whole.begin(t, sources, undefined));
  });

  it('on and off: shares of time and mean durations', () => {
    const away = awayOf(churnOf({ kind: 'onOff', on: '30s', off: '10s' }), { n: 200, seed: 5 });
    let [gone, count] = [0, 0];
    const end = 4000e9;
    for (let i = 0; i < 200; i++)
      for (let next = away.next(i, 0); next !== undefined && next.from < end; next = away.next(i, next.to)) {
        gone += Math.min(end, next.to) - next.from;
        count += 1;
      }
    expect(gone / (200 * end)).toBeCloseTo(0.25, 2);
    expect(gone / count / 1e9).toBeCloseTo(10, 0);
  });

  it('by day and night: a share between least and most is there', () => {
    const n = 2000;
    const away = awayOf(churnOf({ kind: 'diurnal', period: '100s' }), { n, seed: 5 });
    const there = (time: number) =>
      Array.from({ length: n }, (_, i) => away.last(i, time)).filter((last) => (last?.to ?? 0) <= time).length / n;
    for (const turns of [0.001, 0.25, 0.5, 0.8, 1, 1.3, 2.5]) {
      const expected = 0.1 + (0.7 * (1 + Math.cos(2 * Math.PI * turns))) / 2;
      expect(Math.abs(there(turns * 100e9) - expected)).toBeLessThan(4 * Math.sqrt(0.25 / n));
    }
  });

  it('a download takes the latency and k rows at the own port', () => {
    const network = buildNetwork({ kind: 'uniform', latency: '5ns', rate: '1GB/s' }, 4);
    expect(downloadNs(network, 0, [1, 2, 3], 100)).toBe(5 + 3 * 100);
  });

  it('a download of a pipeline takes as long as its slowest stage, each with its part of the row', () => {
    // Two stages of two devices: the first takes 1 ns a byte, the second 4.
    const values = Array.from({ length: 4 }, (_, a) =>
      Array.from({ length: 4 }, (_, b) => (a > 1 && b > 1 ? 0.25 : 1)),
    );
    const latencies = { unit: 'ns', values: values.map((row) => row.map(() => 5)) };
    const network = buildNetwork({ kind: 'matrix', latencies, rates: { unit: 'GB/s', values } }, 4);
    const groups = [
      [0, 1],
      [2, 3],
    ];
    const pair = inPipelines(network, () => 0, { groups, parts: 1, activationBytes: 0 }, true);
    expect(downloadNs(pair.network, 0, [1], 100)).toBe(5 + 4 * 50);
    expect(downloadNs(pair.network, 0, [], 100)).toBe(0);
  });
});

it('1,200 random networks: rows sum to 1 under loss and churn, columns too if edges are lost; shares of push-sum divide all that is not lost', () => {
  const off = (values: readonly number[]) => values.some((sum) => Math.abs(sum - 1) > 1e-12);
  const broken: string[] = [];
  let missed = 0;
  for (let seed = 0; seed < 1200; seed++) {
    const random = new Random(seed, 'test');
    const n = 2 + random.below(8);
    const pairs = Array.from({ length: n }, (_, i) => i).flatMap((i) =>
      Array.from({ length: i }, (_, j) => [i, j] as const).filter(([, j]) => j === i - 1 || random.uniform() < 0.4),
    );
    const round = undirected(n, pairs);
    const W = mixingOf(round, 'metropolis', 'metropolis');
    for (const scope of ['message', 'edge'] as const) {
      const loss = { kind: 'keep', probability: random.uniform(), scope };
      const faults = new Faults(settingsOf({ loss, churn: { kind: 'onOff', on: 4, off: 2 } }), { n, seed });
      for (let t = 0; t < 6; t++) {
        const { absent } = faults.begin(t, round.sources, undefined);
        const missing = new Set(faults.lost(t, round.sources).keys());
        missed += missing.size + absent.length;
        const { rows, columns } = sums(mixingHeard(W, absent, missing));
        if (off(rows)) broken.push(`seed ${seed}, ${scope}: rows ${rows}`);
        if (scope === 'edge' && off(columns)) broken.push(`seed ${seed}: columns ${columns}`);
        const push = columnStochastic(round);
        const sent = faults.sent(round.sources);
        const shares = sums(pushHeard(push, sent, scope === 'edge' ? missing : new Set(), scope === 'edge'));
        if (off(shares.columns)) broken.push(`seed ${seed}: shares ${shares.columns}`);
      }
    }
  }
  expect(broken).toEqual([]);
  expect(missed).toBeGreaterThan(10_000);
});
