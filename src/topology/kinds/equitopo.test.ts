import { expect, it } from 'vitest';
import { buildTopology, type Topology } from '../topology.ts';

const shifts = ({ n, round }: Topology, step: number) => round(step).sources[0]!.map((j) => n - j);

it.each([
  [true, 0.5],
  [false, 0.25],
  [true, 1],
])('equidyn averages along one shift: W = (1−eta)·I + eta·A(u), directed %s, eta %d', (directed, eta) => {
  const n = 10;
  const topology = buildTopology({ kind: 'equidyn', directed, eta }, n, 2);
  const wrong: string[] = [];
  for (let step = 0; step < 50; step++) {
    const { start, source, weight } = topology.mixing(step);
    for (let i = 0; i < n; i++)
      for (let e = start[i]!; e < start[i + 1]!; e++) {
        const alone = start[i + 1]! - start[i]! === 1;
        const expected = alone ? 1 : source[e] === i ? 1 - eta + eta / n : (eta * (n - 1)) / n;
        if (Math.abs(weight[e]! - expected) > 1e-14) wrong.push(`step ${step}: W[${i},${source[e]}] = ${weight[e]}`);
      }
  }
  expect(wrong).toEqual([]);
});

it('equidyn draws all shifts equally often', () => {
  const topology = buildTopology({ kind: 'equidyn', directed: true }, 8, 2);
  const seen = new Float64Array(8);
  for (let step = 0; step < 7000; step++) seen[shifts(topology, step)[0]!]! += 1;
  expect(seen[0]).toBe(0);
  expect(Math.max(...seen.subarray(1).map((count) => Math.abs(count - 1000)))).toBeLessThan(120);
});

it('equidyn pairs up all replicas a shift allows', () => {
  // Along a shift of odd order one replica of each cycle is left over, at most.
  const topology = buildTopology({ kind: 'equidyn' }, 16, 2);
  const paired = Array.from({ length: 100 }, (_, step) => topology.round(step).sources.flat().length);
  expect(Math.min(...paired)).toBeGreaterThanOrEqual(10);
  expect(Math.max(...topology.round(0).sources.map((row) => row.length))).toBe(1);
});

it('equistatic averages k shifts with (n−1)/(n·k) each', () => {
  const topology = buildTopology({ kind: 'equistatic', k: 5, directed: true }, 12, 2);
  const { start, source, weight } = topology.mixing(0);
  const own = source.subarray(0, start[1]).indexOf(0);
  expect(weight[own]).toBeCloseTo(1 / 12, 14);
  expect(new Set(weight.subarray(0, start[1]).filter((_, e) => e !== own))).toEqual(new Set([11 / 60]));
  expect(new Set(shifts(topology, 0)).size).toBe(5);
});

it.each(['equistatic', 'equidyn'])('%s is undirected unless told', (kind) => {
  expect(buildTopology({ kind }, 12, 0).directed).toBe(false);
  expect(buildTopology({ kind, directed: true }, 12, 0).directed).toBe(true);
});
