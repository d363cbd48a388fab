import { describe, expect, it } from 'vitest';
import { Random } from '../../base/random.ts';
import { aws } from '../presets/aws.ts';
import { cases } from './cases.ts';
import { Grouping } from './cost.ts';
import { cheapestPath } from './path.ts';
import { type Links, problemOf, type ScheduleProblem } from './problem.ts';
import { assign, listedCost, randomCosts } from './search.ts';
import { readSchedule } from './settings.ts';

type Link = readonly [ms: number, gigabits: number];

function links(devices: number, between: (a: number, b: number) => Link): Links {
  const at = (i: number) => [Math.floor(i / devices), i % devices] as const;
  const all = Array.from({ length: devices * devices }, (_, i) => {
    const [a, b] = at(i);
    return a === b ? ([0, 1] as const) : between(Math.min(a, b), Math.max(a, b));
  });
  return { devices, latency: all.map(([ms]) => ms / 1000), rate: all.map(([, gigabits]) => 1e9 * gigabits) };
}

/** Every division into groups, each once. */
function* divisions(devices: number, stages: number): Generator<Int32Array> {
  const perGroup = devices / stages;
  const groupOf = new Int32Array(devices);
  function* place(device: number, sizes: readonly number[]): Generator<Int32Array> {
    if (device === devices) yield groupOf.slice();
    else
      for (let g = 0; g <= sizes.length && g < stages; g++) {
        if ((sizes[g] ?? 0) === perGroup) continue;
        groupOf[device] = g;
        yield* place(device + 1, Object.assign([...sizes], { [g]: (sizes[g] ?? 0) + 1 }));
      }
  }
  yield* place(0, []);
}

const totals = (problem: ScheduleProblem) =>
  [...divisions(problem.devices, problem.stages)]
    .map((groupOf) => new Grouping(problem, groupOf).cost.total)
    .sort((a, b) => a - b);

describe('six devices, three stages', () => {
  const gigabits = { '01': 8, '23': 6, '45': 4, '02': 1, '03': 0.9, '12': 0.8, '13': 1.1, '04': 0.5, '05': 0.4 };
  const more = { '14': 0.45, '15': 0.55, '24': 0.7, '25': 0.6, '34': 0.65, '35': 0.75 };
  const rates: Readonly<Record<string, number>> = { ...gigabits, ...more };
  const between = (a: number, b: number): Link => {
    const [g, h] = [a >> 1, b >> 1];
    return [g === h ? [1, 2, 3][g]! : [40, 80, 60][g + h - 1]!, rates[`${a}${b}`]!];
  };

  it.each([
    { data: 0.5e9, pipeline: 0.1e9, least: 5.091714, second: 7.419758, worst: 14.423492, share: 1.006, way: 2.042857 },
    { data: 0.1e9, pipeline: 0.5e9, least: 14.552667, second: 14.952667, worst: 22.804444, share: 1.76, way: 6.396333 },
  ])('costs $least s at best of all divisions', ({ data, pipeline, least, second, worst, share, way }) => {
    const problem = problemOf(links(6, between), 3, data, pipeline);
    const all = totals(problem);
    expect(all).toHaveLength(15);
    expect([all[0], all[1], all.at(-1)]).toEqual([least, second, worst].map((each) => expect.closeTo(each, 6)));
    const { cost, stages } = assign(problem, 1);
    expect(cost).toEqual({ data: expect.closeTo(share, 6), pipeline: expect.closeTo(way, 6), total: all[0] });
    expect(stages.flat().sort()).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('joins the devices of a pipeline by links no dearer than the stages must pay', () => {
    const problem = problemOf(links(6, between), 3, 0.1e9, 0.5e9);
    const { cost, stages } = assign(problem, 1);
    const hops = stages
      .slice(1)
      .map((stage, s) => Math.max(...stage.map((d, i) => problem.hop[6 * d + stages[s]![i]!]!)));
    expect(hops.reduce((a, b) => a + b)).toBeCloseTo(cost.pipeline, 12);
  });
});

const inFourRegions = (stages: number) =>
  readSchedule(
    {
      network: { ...aws.network, use: ['Oregon', 'Virginia', 'Tokyo', 'London'] },
      roundTrips: true,
      devices: 8,
      stages,
      gradients: '0.65GB',
      activations: '0.4713GB',
    },
    'four regions',
  ).problem;

describe('eight devices in four regions', () => {
  it('has one best division into four stages: a region per group', () => {
    const problem = inFourRegions(4);
    const all = totals(problem);
    expect(all).toHaveLength(105);
    expect(all[0]).toBeCloseTo(33.552362, 6);
    expect(all[1]! - all[0]!).toBeGreaterThan(1e-6);
    const { cost, stages } = assign(problem, 1);
    expect(cost.total).toBe(all[0]);
    const path = stages.map((stage) => new Set(stage.map((d) => d >> 1))).map((region) => [...region].join());
    expect([path.join(' '), path.toReversed().join(' ')]).toContain('3 1 0 2');
  });

  it('ties in eight of 35 divisions into two stages', () => {
    const all = totals(inFourRegions(2));
    expect(all).toHaveLength(35);
    expect(all[0]).toBeCloseTo(21.715377, 6);
    expect(all.filter((each) => each - all[0]! < 1e-9)).toHaveLength(8);
  });
});

describe('the published cases of 64 devices', () => {
  const known = [3.439799, 31.63416, 16.08684, 34.802041, 49.21838];
  it.each(cases.map((each, index) => ({ ...each, known: known[index]! })))(
    '$name, $summary: no dearer than what is known as best',
    ({ name, problem: given, known }) => {
      const { problem } = readSchedule(given, name);
      const { cost } = assign(problem, 1, 2000);
      expect(cost.total).toBeLessThan(1.02 * known);
      expect(cost.total).toBeGreaterThan((1 - 1e-6) * known);
      expect(cost.total).toBeLessThanOrEqual(Math.min(listedCost(problem).total, ...randomCosts(problem, 1, 20)));
    },
  );
});

describe('any network', () => {
  const drawn = (seed: number, devices: number, stages: number) => {
    const random = new Random(seed, 'test');
    const table = Array.from(
      { length: devices * devices },
      (): Link => [100 * random.uniform(), 0.1 + random.uniform()],
    );
    return problemOf(
      links(devices, (a, b) => table[a * devices + b]!),
      stages,
      1e8,
      1e8,
    );
  };

  it('costs the same if devices and groups are named otherwise', () => {
    for (let seed = 0; seed < 1000; seed++) {
      const random = new Random(seed, 'test', 1);
      const [stages, perGroup] = [2 + random.below(3), 1 + random.below(3)];
      const devices = stages * perGroup;
      const problem = drawn(seed, devices, stages);
      const groupOf = random.permutation(devices).map((place) => Math.floor(place / perGroup));
      const names = random.permutation(devices);
      const groupNames = random.permutation(stages);
      const renamed = (row: Float64Array) => {
        const out = new Float64Array(row.length);
        for (const [at, value] of row.entries())
          out[names[Math.floor(at / devices)]! * devices + names[at % devices]!] = value;
        return out;
      };
      const moved = new Int32Array(devices);
      for (const [device, group] of groupOf.entries()) moved[names[device]!] = groupNames[group]!;
      const other = { ...problem, share: renamed(problem.share), hop: renamed(problem.hop) };
      expect(new Grouping(other, moved).cost.total).toBeCloseTo(new Grouping(problem, groupOf).cost.total, 9);
    }
  });

  it('finds the best division of small ones nearly always', () => {
    for (let seed = 0; seed < 20; seed++) {
      const problem = drawn(seed, 8, 4);
      expect(assign(problem, 1, 2000).cost.total).toBeLessThan(1.000001 * totals(problem)[0]!);
    }
  });

  it('keeps the same bits for the same seed, and its costs while devices change places', () => {
    const problem = drawn(3, 12, 3);
    expect(assign(problem, 5, 500)).toEqual(assign(problem, 5, 500));
    const division = new Grouping(
      problem,
      Int32Array.from({ length: 12 }, (_, d) => d % 3),
    );
    const random = new Random(1, 'test', 2);
    for (let swap = 0; swap < 300; swap++) {
      const [a, b] = [random.below(12), random.below(12)];
      if (division.groupOf(a) === division.groupOf(b)) continue;
      const before = division.cost.total;
      if (division.swapIfBetter(a, b)) expect(division.cost.total).toBeLessThanOrEqual(before);
      const anew = new Grouping(
        problem,
        Int32Array.from({ length: 12 }, (_, d) => division.groupOf(d)),
      );
      expect(division.cost.total).toBeCloseTo(anew.cost.total, 9);
      expect(division.sum).toBeCloseTo(anew.sum, 9);
    }
  });

  it('turns long paths round until no turn is cheaper, and never beats the exact ones', () => {
    const random = new Random(1, 'test', 3);
    const stops = 16;
    const places = Array.from({ length: stops }, () => random.uniform());
    const cost = Float64Array.from({ length: stops * stops }, (_, at) =>
      Math.abs(places[Math.floor(at / stops)]! - places[at % stops]!),
    );
    // On a line the cheapest path is the line itself.
    expect(cheapestPath(cost, stops).cost).toBeGreaterThan(Math.max(...places) - Math.min(...places) - 1e-12);
    expect(cheapestPath(cost, stops).cost).toBeLessThan(1.3 * (Math.max(...places) - Math.min(...places)));
  });
});
