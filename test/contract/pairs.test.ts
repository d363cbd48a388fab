import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planOf } from '../../src/algorithm/method.ts';
import { findMethod } from '../../src/algorithm/methods.ts';
import { interpretPairs } from '../../src/algorithm/reference-pairs.ts';
import { executedInPairs } from '../../src/contract/float32.ts';
import type { PairCourse } from '../../src/network/queue.ts';
import { figures, momentum, n, problem } from './oracle.ts';

const planWith = (overlap: boolean) => planOf(findMethod('ad-psgd'), { overlap });

/** Replicas of different and changing speed on a ring. */
const course = (overlap: boolean): PairCourse => ({
  n,
  compute: (i, k) => 3 + ((5 * i + 3 * k) % 4),
  partner: (i, k) => ((i + k) % 3 === 0 ? (i + n - 1) % n : (i + 1) % n),
  exchangeNs: (i, j) => 1 + ((i + j) % 2),
  overlap,
});

/** What a separately written program found: ‖mean − x*‖ and Ξ after 8, 80, 800 and 8000 exchanges, and the first parameters of replica 0 after 80. */
const rows = [
  {
    overlap: false,
    figures: [0.216967385, 0.047914253, 0.119670346, 0.073748356, 0.00951698, 0.075973348, 0.009390207, 0.075973769],
    x0: [-0.069434898, 0.035451462, 0.02298669],
  },
  {
    overlap: true,
    figures: [0.216967385, 0.047914253, 0.110737847, 0.076831329, 0.014193256, 0.072717701, 0.008732682, 0.061938617],
    x0: [-0.101121013, 0.060346877, 0.017689527],
  },
];
const told = [8, 80, 800, 8000];
const far = (found: ArrayLike<number>, wanted: ArrayLike<number>) =>
  Math.max(...Array.from(wanted, (value, k) => Math.abs(found[k]! - value)));

describe.each(rows)('AD-PSGD, overlap $overlap, on quadratics that disagree', ({ overlap, figures: wanted, x0 }) => {
  it('in float64, as a separately written program', () => {
    const found: number[] = [];
    interpretPairs(problem, course(overlap), 8000, (exchange, model) => {
      if (!told.includes(exchange)) return;
      const { off, spread } = figures(model);
      found.push(off, spread);
      if (exchange === 80) expect(far(model[0]!, x0)).toBeLessThan(5e-9);
    });
    expect(far(found, wanted)).toBeLessThan(5e-9);
  });

  it('in float32, by the engine', async () => {
    const found: number[] = [];
    for (const exchanges of told) {
      const model = await executedInPairs(planWith(overlap), problem, course(overlap), exchanges, 8);
      const { off, spread } = figures(model.map((x) => Float64Array.from(x)));
      found.push(off, spread);
    }
    expect(far(found, wanted)).toBeLessThan(2e-6);
  });
});

/** Any speeds, exchange times and partners: waves of tasks give what the clock alone gives, with momentum of each replica's own. */
it('the engine follows the clock, whatever the times', async () => {
  const drawn = (salt: number, a: number, b: number, below: number) =>
    (((Math.imul(a + 1, 2654435761) ^ Math.imul(b + 7 + salt, 40503)) >>> 0) % 9973) % below;
  await fc.assert(
    fc.asyncProperty(fc.nat(1e6), fc.boolean(), fc.integer({ min: 1, max: 25 }), async (salt, overlap, each) => {
      const any: PairCourse = {
        n,
        overlap,
        compute: (i, k) => 1 + drawn(salt, i, k, 9),
        partner: (i, k) => (i + 1 + drawn(salt, i, k + 1000, n - 1)) % n,
        exchangeNs: (i, j) => drawn(salt, i * j, i + j, 6),
      };
      const given = () => ({ ...problem, direction: momentum(0.5) });
      const exchanges = 4 * each;
      const wanted = interpretPairs(given(), any, exchanges);
      const found = await executedInPairs(planWith(overlap), given(), any, exchanges, each);
      expect(Math.max(...wanted.map((x, i) => far(found[i]!, x)))).toBeLessThan(1e-5);
    }),
    { numRuns: 100 },
  );
});
