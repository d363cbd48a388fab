import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { distances, isConnected, targetsOf } from '../topology/kind.ts';
import { largestCycleMean } from './cycle.ts';
import type { ComputeTimes } from './devices.ts';
import { messagesOf } from './messages.ts';
import { buildNetwork, type Network } from './network.ts';
import { allReducePattern, gossipPattern } from './pattern.ts';
import { Timetable } from './timetable.ts';

type Sources = readonly (readonly number[])[];

/** A random network: connected, unequal links, ports and compute times. Times are small whole numbers. */
interface Case {
  readonly n: number;
  readonly sources: Sources;
  readonly latencies: number[][];
  /** Nanoseconds that the message takes on each path, and at each port. */
  readonly paths: number[][];
  readonly ups: number[];
  readonly downs: number[];
  readonly compute: number[][];
}

const steps = 6;

function randomCase(seed: number): Case {
  const random = new Random(seed, 'test');
  const n = 2 + random.below(5);
  const square = (most: number) => Array.from({ length: n }, () => Array.from({ length: n }, () => random.below(most)));
  const list = (most: number) => Array.from({ length: n }, () => 1 + random.below(most));
  for (;;) {
    const share = random.uniform();
    const sources = Array.from({ length: n }, (_, i) =>
      Array.from({ length: n }, (_, j) => j).filter((j) => j !== i && random.uniform() < 0.2 + share),
    );
    if (!isConnected(sources)) continue;
    return {
      n,
      sources,
      latencies: square(20),
      paths: square(12),
      ups: list(10),
      downs: list(10),
      compute: Array.from({ length: n }, () => list(40)).map((row) => row.concat(row)),
    };
  }
}

/** The message has 1 byte: a rate of 1e9/ns takes `ns` for it. */
const network = ({ n, latencies, paths, ups, downs }: Case, sharing: Network['sharing'], scale = 1): Network => {
  const rates = (times: readonly number[]) => Float64Array.from(times, (ns) => 1e9 / (ns * scale));
  const way = (from: number, to: number) => ({
    latencyNs: latencies[from]![to]! * scale,
    rate: paths[from]![to] === 0 ? Number.POSITIVE_INFINITY : 1e9 / (paths[from]![to]! * scale),
    up: from,
    down: to,
  });
  return {
    n,
    sharing,
    overheadNs: 0,
    collective: 'auto',
    buckets: 1,
    upRates: rates(ups),
    downRates: rates(downs),
    way,
    stages: 1,
    ways: (from, to) => [way(from, to)],
  };
};

const computeOf =
  ({ compute }: Case, scale = 1): ComputeTimes =>
  (i, t) =>
    compute[i]![t % compute[i]!.length]! * scale;

function run(one: Case, sharing: Network['sharing'], scale = 1): number[][] {
  const timetable = new Timetable(network(one, sharing, scale), computeOf(one, scale));
  return Array.from({ length: steps }, (_, t) => {
    timetable.step(t, gossipPattern(1), () => one.sources);
    return [...timetable.state.finished];
  });
}

const count = 1200;
const cases = Array.from({ length: count }, (_, seed) => randomCase(seed));
const sharings = ['none', 'fair', 'serial'] as const;

/** What does not hold, as words; an expectation for each of a million numbers would take minutes. */
function violations(check: (one: Case, seed: number, broken: (what: string) => void) => void): string[] {
  const found: string[] = [];
  for (const [seed, one] of cases.entries()) check(one, seed, (what) => found.push(`seed ${seed}: ${what}`));
  return found;
}

describe(`${count} random networks`, () => {
  it('nothing ends later if a device, a latency or a rate gets better', () => {
    const found = violations((one, seed, broken) => {
      const random = new Random(seed, 'test', 1);
      const faster = (rows: readonly (readonly number[])[], least: number) =>
        rows.map((row) =>
          row.map((value) => (random.uniform() < 0.2 ? Math.max(least, Math.floor(value / 2)) : value)),
        );
      const better: Case = {
        ...one,
        latencies: faster(one.latencies, 0),
        paths: faster(one.paths, 1).map((row, i) => row.map((ns, j) => Math.min(ns, one.paths[i]![j]!))),
        ups: faster([one.ups], 1)[0]!,
        downs: faster([one.downs], 1)[0]!,
        compute: faster(one.compute, 0),
      };
      for (const sharing of sharings) {
        const [before, after] = [run(one, sharing).flat(), run(better, sharing).flat()];
        if (after.some((time, place) => time > before[place]!)) broken(sharing);
      }
    });
    expect(found).toEqual([]);
  });

  it('own compute ≤ F ≤ with a barrier after every step', () => {
    const found = violations((one, _, broken) => {
      const compute = computeOf(one);
      for (const sharing of sharings) {
        const barrier = new Timetable(network(one, sharing), compute);
        const own = new Float64Array(one.n);
        for (const [t, row] of run(one, sharing).entries()) {
          barrier.step(t, gossipPattern(1), () => one.sources);
          const last = Math.max(...barrier.state.finished);
          barrier.state.finished.fill(last);
          for (const [i, time] of row.entries()) {
            own[i]! += compute(i, t);
            if (time < own[i]! || time > last) broken(`${sharing}, step ${t}, replica ${i}`);
          }
        }
      }
    });
    expect(found).toEqual([]);
  });

  it('a replica is ahead of another by at most the hops from that one to it', () => {
    const found = violations((one, _, broken) => {
      const ends = run(one, 'serial');
      const hops = one.sources.map((_, j) => distances(targetsOf(one.sources), j));
      for (const time of ends.flat()) {
        const done = one.sources.map((_, i) => ends.filter((row) => row[i]! <= time).length);
        for (let i = 0; i < one.n; i++)
          for (let j = 0; j < one.n; j++)
            if (done[i]! - done[j]! > hops[j]![i]!) broken(`at ${time}, ${i} before ${j}`);
      }
    });
    expect(found).toEqual([]);
  });

  it('without queues times repeat in the end, later by the largest cycle mean per step', () => {
    const near = (a: number, b: number) => Math.abs(a - b) < 1e-9;
    const found = violations((one, _, broken) => {
      for (const sharing of ['none', 'fair'] as const) {
        const wires = network(one, sharing);
        const steady: ComputeTimes = (i) => one.compute[i]![0]!;
        const { from, to, wholeNs } = messagesOf(wires, one.sources, 1);
        const edges = [
          ...one.sources.map((_, i) => ({ from: i, to: i, ns: steady(i, 0) })),
          ...Array.from(from, (j, m) => ({ from: j, to: to[m]!, ns: steady(j, 0) + wholeNs[m]! })),
        ];
        const { meanNs, nodes } = largestCycleMean(one.n, edges)!;
        const weight = new Map(edges.map((edge) => [`${edge.from} ${edge.to}`, edge.ns]));
        const along = nodes.map((node, k) => weight.get(`${node} ${nodes[(k + 1) % nodes.length]}`)!);
        if (!near(along.reduce((a, b) => a + b, 0) / along.length, meanNs)) broken(`${sharing}: the cycle ${nodes}`);
        const timetable = new Timetable(wires, steady);
        // After the transient the times of q steps grow by q λ, for q a multiple of all lengths of cycles up to 6.
        const [transient, q] = [300, 60];
        let early = new Float64Array(0);
        for (let t = 0; t < transient + q; t++) {
          if (t === transient) early = timetable.state.finished.slice();
          timetable.step(t, gossipPattern(1), () => one.sources);
        }
        if (!timetable.state.finished.every((time, i) => near((time - early[i]!) / q, meanNs))) broken(sharing);
      }
    });
    expect(found).toEqual([]);
  });

  it('all times three times as long: everything ends three times as late', () => {
    const found = violations((one, _, broken) => {
      for (const sharing of sharings) {
        const [once, thrice] = [run(one, sharing).flat(), run(one, sharing, 3).flat()];
        if (thrice.some((time, place) => time !== 3 * once[place]!)) broken(sharing);
      }
    });
    expect(found).toEqual([]);
  });

  it('takes compute alone on a network that takes no time', () => {
    const found = violations(({ n, sources }, _, broken) => {
      const free = buildNetwork({ kind: 'uniform', latency: '0ns', rate: '1000TB/s' }, n);
      const timetable = new Timetable(free, () => 7);
      for (let t = 0; t < steps; t++) {
        timetable.step(t, gossipPattern(1), () => sources);
        if (timetable.state.finished.some((time) => time !== 7 * (t + 1))) broken(`step ${t}`);
      }
    });
    expect(found).toEqual([]);
  });

  it('is the same again from the state after any step', () => {
    const found = violations((one, seed, broken) => {
      const [whole, half] = [0, 1].map(() => new Timetable(network(one, 'serial'), computeOf(one)));
      const cut = 1 + (seed % (steps - 1));
      for (let t = 0; t < steps; t++) {
        whole!.step(t, gossipPattern(1), () => one.sources);
        if (t + 1 === cut) half!.restore(structuredClone(whole!.state));
        if (t + 1 > cut) half!.step(t, gossipPattern(1), () => one.sources);
      }
      if (!isDeepStrictEqual(half!.state, whole!.state)) broken(`cut after ${cut}`);
    });
    expect(found).toEqual([]);
  });

  it('all-reduce ends for all together, after the last has computed', () => {
    const found = violations((one, _, broken) => {
      const timetable = new Timetable(network(one, 'serial'), computeOf(one));
      timetable.step(0, allReducePattern(8), () => one.sources);
      const slowest = Math.max(...one.compute.map(([first]) => first!));
      const [end, ...others] = timetable.state.finished;
      if (!(end! > slowest) || others.some((other) => other !== end)) broken('ends');
    });
    expect(found).toEqual([]);
  });
});
