import { describe, expect, it } from 'vitest';
import { Random } from '../../base/random.ts';
import { planOf } from '../method.ts';
import { findMethod } from '../methods.ts';
import { interpret, type Problem } from '../reference.ts';

const [n, columns] = [16, 20];

/** Normal numbers to draw from: a batch begins at a place that hangs on replica and step. */
const random = new Random(1, 'test');
const normals = Float64Array.from({ length: 65_536 }, () => random.normal());
const batch = (i: number, t: number) => (((i + 1) * 7919 + t * 104_729) % 60_000) + (i % 7);

/** Quadratics whose curvature and slope differ from batch to batch; `skew`: their optima also from replica to replica. */
const noisy = (skew: number): Problem => ({
  n,
  start: new Float64Array(columns).fill(1),
  rate: () => 0.2,
  weights: () => [],
  gradient(i, at, t) {
    const from = batch(i, t);
    return at.map((v, c) => {
      const curvature = (0.3 + (1.5 * c) / columns) * (1 + 0.5 * normals[from + c]!);
      return curvature * (v - skew * normals[i * columns + c]!) + 0.3 * normals[from + columns + c]!;
    });
  },
});

/** After which steps it averaged, and the harm that it measured then. */
function averages(
  problem: Problem,
  settings: object,
  steps: number,
  method = 'tether',
): { after: number[]; q: number[] } {
  const [after, q]: [number[], number[]] = [[], []];
  interpret(planOf(findMethod(method), { ...settings }), problem, steps, (t, { numbers }) => {
    const [since, harm] = [numbers.get('since')![0]!, numbers.get('q')![0]!];
    if (since === 1 && t > 0) {
      after.push(t);
      q.push(harm);
    }
  });
  return { after, q };
}

const mean = (values: readonly number[]) => values.reduce((sum, v) => sum + v, 0) / values.length;

describe('tether', () => {
  it.each([0.3, 0.45, 0.6])('harm settles at a target of %s within 20 averages, and stays there', (target) => {
    const { q } = averages(noisy(1), { target }, 1000);
    for (const later of [q.slice(20, 40), q.slice(40)]) {
      expect(mean(later) / target).toBeGreaterThan(0.85);
      expect(mean(later) / target).toBeLessThan(1.15);
    }
  });

  it('averages as seldom as it may where disagreement does no harm: quadratics of one kind', () => {
    const { after, q } = averages(noisy(0), { target: 0.6 }, 1000);
    expect(Math.max(...q)).toBeLessThan(0.6);
    expect(after.slice(-15).map((t, k, all) => t - (all[k - 1] ?? t - 50))).toEqual(Array(15).fill(50));
  });

  it('averages no more often than it must where nothing disagrees', () => {
    const alike: Problem = { ...noisy(0), gradient: (_, at) => at.map((v) => 0.5 * v) };
    expect(averages(alike, {}, 400).after).toEqual(Array.from({ length: 19 }, (_, k) => 20 * (k + 1)));
  });

  it('averages less often the more harm is allowed', () => {
    const counts = [0.2, 0.4, 0.8].map((target) => averages(noisy(1), { target }, 600).after.length);
    expect(counts[0]!).toBeGreaterThan(1.3 * counts[1]!);
    expect(counts[1]!).toBeGreaterThan(1.3 * counts[2]!);
  });

  it('goes on with the mean momentum: averaging in every step is centralized training with momentum', () => {
    const slots = new Map<number, Float64Array>();
    const heavy = (): Pick<Problem, 'direction' | 'remember'> => ({
      direction(i, g) {
        const m = g.map((v, c) => 0.9 * (slots.get(i)?.[c] ?? 0) + v);
        slots.set(i, m);
        return m;
      },
      remember: (i, momentum) => void slots.set(i, momentum.slice()),
    });
    const plan = (kind: string, settings = {}) => planOf(findMethod(kind), settings);
    const common = interpret(plan('local-sgd', { period: 1, commonMomentum: true }), { ...noisy(1), ...heavy() }, 50);
    slots.clear();
    const centralized = interpret(plan('centralized'), { ...noisy(1), ...heavy() }, 50);
    common.model[0]!.forEach((v, c) => {
      expect(v).toBeCloseTo(centralized.model[0]![c]!, 12);
    });
  });
});

describe('leash', () => {
  const leash = (problem: Problem, settings: object, steps: number) => averages(problem, settings, steps, 'leash');
  const periods = (after: readonly number[]) => after.slice(1).map((t, k) => t - after[k]!);

  it.each([
    [0.45, 32],
    [0.6, 32],
    [0.5, 32],
    [0.45, 4],
  ])('harm settles at a target of %s with %s bits within 20 averages, and stays there', (target, bits) => {
    const { q } = leash(noisy(1), { target, bits }, 1000);
    for (const later of [q.slice(20, 60), q.slice(60)]) {
      expect(mean(later) / target).toBeGreaterThan(0.8);
      expect(mean(later) / target).toBeLessThan(1.2);
    }
  });

  it('spaces its averages evenly: periods next to each other differ little', () => {
    const found = periods(leash(noisy(1), { target: 0.45 }, 1000).after).slice(20);
    found.forEach((period, k) => {
      if (k > 0) expect(Math.abs(period - found[k - 1]!)).toBeLessThanOrEqual(Math.max(1, 0.5 * found[k - 1]! + 1));
    });
  });

  it('averages no more often than it must where nothing disagrees: its period grows by 1.4 every fourth time, to a twentieth of the run', () => {
    const alike: Problem = { ...noisy(0), gradient: (_, at) => at.map((v) => 0.5 * v) };
    const { after } = leash(alike, { bits: 32 }, 1000);
    const expected = [1];
    for (let k = 1, length = 1.4; expected.at(-1)! < 1000; k++) {
      if (k > 1 && (k - 1) % 4 === 0) length = Math.min(50, 1.4 * length);
      expected.push(expected.at(-1)! + Math.ceil(length - 0.5));
    }
    expect(after).toEqual(expected.filter((t) => t < 1000));
    expect(periods(after).at(-1)).toBe(50);
  });

  it('averages less often the more harm is allowed', () => {
    const counts = [0.2, 0.4, 0.8].map((target) => leash(noisy(1), { target }, 300).after.length);
    expect(counts[0]!).toBeGreaterThan(1.2 * counts[1]!);
    expect(counts[1]!).toBeGreaterThan(1.2 * counts[2]!);
  });

  it('that allows no harm and rounds nothing ends where centralized training does', () => {
    const end = (kind: string, settings = {}) => interpret(planOf(findMethod(kind), settings), noisy(1), 50).model[3]!;
    const centralized = end('centralized');
    end('leash', { target: 1e-9, bits: 32 }).forEach((v, c) => {
      expect(v).toBeCloseTo(centralized[c]!, 12);
    });
  });

  it('loses little by rounding to four bits', () => {
    const end = (bits: number) =>
      interpret(planOf(findMethod('leash'), { target: 0.3, bits }), noisy(1), 200).model[0]!;
    const [exact, rounded] = [end(32), end(4)];
    const apart = Math.hypot(...exact.map((v, c) => v - rounded[c]!)) / Math.hypot(...exact);
    expect(apart).toBeGreaterThan(0);
    expect(apart).toBeLessThan(0.2);
  });
});

describe('ladder', () => {
  /** The rung of each step, and the harm that was measured. */
  function climbed(problem: Problem, settings: object, steps: number): { every: number[]; q: number[] } {
    const [every, q]: [number[], number[]] = [[], []];
    interpret(planOf(findMethod('ladder'), { ...settings }), problem, steps, (_, { numbers }) => {
      every.push(numbers.get('every')![0]!);
      q.push(numbers.get('q')![0]!);
    });
    return { every, q };
  }

  it('stays on rungs where harm is near its target or below, and takes dearer ones if less is allowed', () => {
    const mid = (target: number) => {
      const { every, q } = climbed(noisy(1), { target }, 1000);
      expect(mean(q.slice(300)) / target).toBeLessThan(1.2);
      return mean(every.slice(300));
    };
    const [strict, loose] = [mid(0.4), mid(0.8)];
    expect(loose).toBeGreaterThan(1.3 * strict);
  });

  it('ends on the cheapest rung where nothing disagrees, and does not leave it', () => {
    const alike: Problem = { ...noisy(0), gradient: (_, at) => at.map((v) => 0.5 * v) };
    const { every } = climbed(alike, {}, 300);
    expect(every[0]).toBe(1);
    expect(every.slice(30)).toEqual(Array(270).fill(16));
  });

  it('goes back to the dearest rung where none is good enough', () => {
    const { every } = climbed(noisy(1), { target: 1e-3 }, 200);
    expect(every).toEqual(Array(200).fill(1));
  });

  it('does not change for what is less than a fifth cheaper', () => {
    const rungs = [
      { every: 2, gain: 4, cost: 1 },
      { every: 3, gain: 6, cost: 0.81 },
    ];
    expect(new Set(climbed(noisy(0), { target: 5, rungs }, 300).every)).toEqual(new Set([2]));
    const cheaper = rungs.map((rung) => ({ ...rung, cost: rung.cost === 1 ? 1 : 0.79 }));
    expect(new Set(climbed(noisy(0), { target: 5, rungs: cheaper }, 300).every)).toEqual(new Set([2, 3]));
  });
});
