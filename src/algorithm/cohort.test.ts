import { describe, expect, it } from 'vitest';
import { parse } from '../base/schema.ts';
import { devicesOf } from '../network/devices.ts';
import { buildNetwork } from '../network/network.ts';
import { gossipPattern } from '../network/pattern.ts';
import { Timetable } from '../network/timetable.ts';
import { type Cohort, cohortOf, heardIn, type ServersByClient } from '../topology/cohort.ts';
import { apply, type Mixing } from '../topology/mixing.ts';
import { algorithmSchema } from './choose.ts';
import { cohortFor, problemsOfServers } from './cohort.ts';
import { type RoundTimes, serverEndNs } from './scheduler.ts';
import { schedulers } from './schedulers.ts';
import { predictedTimes } from './times.ts';

const algorithm = (settings: object) => parse(algorithmSchema, { kind: 'parallel-servers', ...settings }, 'algorithm');
const cohort = (clients: number, servers: number, scheduler: object, more: object = {}, seed = 1, times?: RoundTimes) =>
  cohortFor(algorithm({ servers, scheduler, ...more }), clients + servers, { seed, times })!;
const each = <T>(count: number, value: (i: number) => T) => Array.from({ length: count }, (_, i) => value(i));
const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
const rowSums = ({ n, start, weight }: Mixing) =>
  each(n, (i) => weight.subarray(start[i], start[i + 1]).reduce((a, b) => a + b, 0));

/** Six clients that compute 1 to 6 s, two servers, latency .1 s, a model takes 1 s. */
const [second, latency] = [1e9, 0.1e9];
const network = { kind: 'uniform', latency: '100ms', rate: '1GB/s', sharing: 'serial' };
const devices = devicesOf({}, { compute: '1s', each: [1, 2, 3, 4, 5, 6, 1, 1] });
const round = { replicas: 8, clients: 6, seed: 1, batch: 1, bytes: 1e9, localSteps: 1 };
const times = predictedTimes({ network, devices }, round);
/** Seconds until all servers have all that is sent, if client k speaks with served[k]. */
const endOf = (served: readonly number[]) =>
  Math.max(
    ...[0, 1].map((s) =>
      serverEndNs(
        times,
        s,
        served.flatMap((own, k) => (own === s ? [k] : [])),
      ),
    ),
  ) / second;

describe('how long a round takes', () => {
  it('of 64 ways to deal six clients to two servers, 8 are the best', () => {
    const ends = each(64, (bits) => endOf(each(6, (k) => (bits >> k) & 1)));
    const best = Math.min(...ends);
    expect(best).toBeCloseTo(8.2, 9);
    expect(ends.filter((end) => end < best + 1e-9)).toHaveLength(8);
    expect(mean(ends)).toBeCloseTo(9.8563, 4);
    expect(endOf([0, 1, 0, 1, 0, 1])).toBeCloseTo(8.2, 9);
    expect(endOf([0, 0, 0, 1, 1, 1])).toBeCloseTo(10.2, 9);
    expect(endOf([0, 0, 0, 0, 0, 0])).toBeCloseTo(13.2, 9);
  });

  it('the timetable of messages says the same, whoever speaks with whom', () => {
    const built = buildNetwork(network, 8);
    const compute = (i: number) => (i < 6 ? (i + 1) * second : 0);
    for (let bits = 0; bits < 64; bits++) {
      const served = each(6, (k) => (bits >> k) & 1);
      const slowness = each(8, compute);
      const timetable = new Timetable(built, compute, {}, undefined, slowness);
      const down = each(8, (i) => (i < 6 ? [6 + served[i]!] : []));
      const up = each(8, (i) => (i < 6 ? [] : served.flatMap((own, k) => (own === i - 6 ? [k] : []))));
      const { work } = gossipPattern(1e9);
      const gossip = (between: 'up' | 'down') => ({ do: 'gossip', bytes: 1e9, rows: [[0, 0]], between }) as const;
      const pattern = { rows: 2, work: [gossip('down'), work[0]!, gossip('up')], kept: [0], rowBytes: 0 };
      timetable.step(0, pattern, (_, between) => (between === 'up' ? up : down));
      const ends = timetable.state.finished.subarray(6).map((end) => end / second);
      expect(Math.max(...ends)).toBeCloseTo(endOf(served), 9);
    }
  });

  it('least-loaded is as good as the best, nearest and deadlines go by what is predicted', () => {
    const by = (scheduler: object) => cohort(6, 2, scheduler, {}, 1, times).serversOf(0);
    expect(endOf(by({ kind: 'least-loaded' }).flat())).toBeCloseTo(8.2, 9);
    expect(by({ kind: 'nearest' })).toEqual(each(6, () => [0]));
    // At home are 0, 2, 4 and 1, 3, 5: alone they take 1 to 6 s and 2.2 s for both ways.
    expect(by({ kind: 'fastest', clients: 2 })).toEqual([[0], [1], [0], [1], [], []]);
    expect(by({ kind: 'deadline', time: '5.2s' })).toEqual([[0], [1], [0], [], [], []]);
    expect(() => by({ kind: 'deadline', time: '1s' })).toThrow(/no client would train/);
    expect(times.computeNs[5]).toBe(6 * second);
    expect(times.up(0, 1)).toEqual({ leavesNs: second, entersNs: second, latencyNs: latency });
  });
});

describe('who speaks with whom', () => {
  const [clients, servers] = [20, 4];
  it('random: idle servers, clients met, and rounds until all are met are as often as they should be', () => {
    const draws = 3000;
    const idle: number[] = [];
    const met: number[] = [];
    const rounds: number[] = [];
    for (let seed = 0; seed < draws; seed++) {
      const { serversOf } = cohort(clients, servers, { kind: 'random' }, {}, seed);
      const seen = new Set<number>();
      idle.push(mean(each(servers, (s) => (serversOf(0).some((own) => own[0] === s) ? 0 : 1))));
      const at = each(10, (r) => serversOf(r));
      met.push(
        mean(each(servers, (s) => each(clients, (k) => k).filter((k) => at.some((each) => each[k]![0] === s)).length)),
      );
      let r = 0;
      for (; seen.size < servers; r++) seen.add(serversOf(r)[0]![0]!);
      rounds.push(r);
    }
    // Within four standard errors.
    expect(Math.abs(mean(idle) - 0.75 ** 20)).toBeLessThan(4 * Math.sqrt(0.003171 / (4 * draws)));
    expect(mean(met)).toBeCloseTo(18.8737, 1);
    expect(Math.abs(mean(rounds) - 25 / 3)).toBeLessThan((4 * 3.8) / Math.sqrt(draws));
  });

  it('loads of round-robin are equal if the servers divide the clients', () => {
    for (let r = 0; r < 9; r++) {
      const served = cohort(clients, servers, { kind: 'round-robin' }).serversOf(r).flat();
      expect(each(servers, (s) => served.filter((own) => own === s).length)).toEqual([5, 5, 5, 5]);
    }
  });

  it('oldest: everybody in turn', () => {
    const { serversOf } = cohort(6, 2, { kind: 'oldest', clients: 1 });
    const trained = each(6, (r) => serversOf(r).flatMap((own, k) => (own.length > 0 ? [k] : [])));
    expect(trained).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
      [0, 1],
      [2, 3],
      [4, 5],
    ]);
    // In any order of asking.
    expect(cohort(6, 2, { kind: 'oldest', clients: 1 }).serversOf(5)).toEqual(serversOf(5));
  });

  it('nobody speaks with a server that is not in reach', () => {
    const reach = [[0], [1, 2], [2], [0, 2], [1]];
    const own = predictedTimes({ network, devices: devicesOf({}, { compute: '1s' }) }, { ...round, clients: 5 });
    for (const { name } of schedulers) {
      const { serversOf } = cohort(5, 3, { kind: name }, { reach }, 1, own);
      for (let r = 0; r < 12; r++)
        serversOf(r).forEach((servers, k) => {
          for (const s of servers) expect(reach[k]).toContain(s);
        });
    }
    expect(cohort(4, 3, { kind: 'all' }, { reach: 2 }).serversOf(0)).toEqual([
      [0, 1],
      [1, 2],
      [0, 2],
      [0, 1],
    ]);
  });
});

/** Variance between servers after three rounds in which clients carry what servers have, as a share of that before; mean over seeds. */
function leftAfter(make: (seed: number) => Cohort): number {
  let [before, after] = [0, 0];
  const variance = (y: Float64Array) => mean([...y].map((v) => (v - mean([...y])) ** 2));
  for (let seed = 0; seed < 60; seed++) {
    const { clients, servers, mixing } = make(seed);
    // All starts at once: a server alone is 1.
    for (let s = 0; s < servers; s++) {
      let x: Float64Array = Float64Array.from({ length: clients + servers }, (_, i) => (i === clients + s ? 1 : 0));
      const mix = (by: Mixing) => {
        const out = new Float64Array(x.length);
        apply(by, x, out);
        x = out;
      };
      before += variance(x.subarray(clients));
      mix(mixing('down', -1));
      for (let r = 0; r < 3; r++) {
        mix(mixing('up', r));
        mix(mixing('down', r));
      }
      after += variance(x.subarray(clients));
    }
  }
  return after / before;
}

describe('what carrying alone does to the differences between servers', () => {
  it.each([
    ['all', 0, 1e-12],
    ['random', 0.005, 0.002],
    ['round-robin', 0.35, 0.03],
    ['fixed', 1, 1e-12],
  ])('%s leaves %d', (kind, left, within) => {
    expect(Math.abs(leftAfter((seed) => cohort(20, 4, { kind }, {}, seed)) - left)).toBeLessThanOrEqual(within);
  });

  it('if all clients went the same way round, cohorts would never mix', () => {
    const serversOf = (r: number): ServersByClient => each(20, (k) => [(k + r + 4) % 4]);
    const rotation = cohortOf({
      ...{ clients: 20, servers: 4, period: 4, serversOf, carry: true, gamma: 1 },
      samples: each(20, () => 1),
    });
    expect(leftAfter(() => rotation)).toBeCloseTo(1, 12);
  });
});

describe('the matrices of an exchange', () => {
  it('have rows that sum to 1; a server moves by gamma to the mean of the samples, and stays if nobody sends', () => {
    const served = [[0], [0], [], [1]];
    const made = cohortOf({
      ...{ clients: 4, servers: 3, period: 1, serversOf: () => served, carry: false, gamma: 0.5 },
      samples: [1, 3, 5, 7],
    });
    const [up, down] = [made.mixing('up', 0), made.mixing('down', 0)];
    for (const by of [up, down]) for (const sum of rowSums(by)) expect(sum).toBeCloseTo(1, 12);
    const moved = new Float64Array(7);
    apply(up, Float64Array.from([4, 8, 100, 6, 1, 2, 3]), moved);
    expect([...moved]).toEqual([4, 8, 100, 6, 0.5 + 0.5 * 7, 1 + 3, 3]);
    expect(heardIn(down)).toEqual([[4], [4], [], [5], [], [], []]);
    expect([0, 2, 4].map((i) => made.trains(i, 0))).toEqual([true, false, false]);
    // The same exchange is the same object: what is made for it is kept.
    expect(made.mixing('up', 5)).toBe(up);
  });

  it('who carries sends to the servers of the next round, and to the last ones if it rests then', () => {
    const rounds = [
      [[0], [0]],
      [[1], []],
    ];
    const made = cohortOf({
      ...{ clients: 2, servers: 2, period: 2, serversOf: (r: number) => rounds[r % 2]!, carry: true, gamma: 1 },
      samples: [1, 1],
    });
    expect(heardIn(made.mixing('up', 0))).toEqual([[], [], [1], [0]]);
  });
});

it.each([
  [{ servers: 8 }, /8 of 8 replicas cannot be servers/],
  [{ servers: 2, scheduler: { kind: 'nearest' } }, /nearest goes by predicted times, so it needs network and devices/],
  [{ servers: 2, reach: 3 }, /there are 2 servers, so that a client cannot reach 3/],
  [{ servers: 2, reach: [[0], [1]] }, /has 2 lists, but there are 6 clients/],
  [{ servers: 2, reach: [[0], [1], [2], [0], [0], [0]] }, /reach\[2\]: there is no server 2; there are 2, from 0 to 1/],
  [{ servers: 2, reach: each(6, () => [0]) }, /no client reaches server 1/],
])('%j is refused', (settings, message) => {
  expect(problemsOfServers(algorithm(settings), { replicas: 8, timed: false, faulty: false }).join()).toMatch(message);
});
