import { describe, expect, it } from 'vitest';
import { Random } from '../base/random.ts';
import { judged, trendOf } from './trend.ts';

const margin = 0.005;
const connections = [63, 6, 4, 2, 16];

/** Accuracies that change by `size` from the least connected implementation to the most, with noise of deviation `noise`. */
function drawn(draw: number, seeds: number, size: number, noise: number): number[][] {
  const random = new Random(draw, 'test');
  const place = [4, 2, 1, 0, 3];
  return Array.from({ length: seeds }, () => {
    // What a seed does to all of them falls out.
    const common = 0.02 * random.normal();
    return place.map((rank) => 0.9 + (size * rank) / 4 + common + noise * random.normal());
  });
}

/** How often each verdict is given. */
function shares(seeds: number, size: number, noise: number, draws = 2000) {
  const count = { holds: 0, not: 0, open: 0 };
  for (let draw = 0; draw < draws; draw++) {
    const { holds } = judged(trendOf(connections, drawn(draw, seeds, size, noise), margin)!, 1, margin);
    count[holds === null ? 'open' : holds ? 'holds' : 'not'] += 1 / draws;
  }
  return count;
}

describe('a trend over five implementations', () => {
  it('of two points is found with five seeds, in noise of half a point', () => {
    expect(shares(5, 0.02, 0.005).holds).toBeGreaterThan(0.8);
  });

  it('is found in pure noise in at most one case in twenty', () => {
    for (const noise of [0.001, 0.005, 0.02]) expect(shares(5, 0, noise).holds).toBeLessThan(0.05);
    expect(shares(3, 0, 0.02).holds).toBeLessThan(0.05);
  });

  it('that is not there is said not to be if the noise is small, and cannot be told if it is large', () => {
    expect(shares(5, 0, 0.001).not).toBeGreaterThan(0.9);
    expect(shares(5, 0, 0.02).open).toBeGreaterThan(0.8);
  });

  it('the other way does not hold', () => {
    expect(shares(5, -0.02, 0.005).not).toBeGreaterThan(0.9);
  });

  it('is never told from one or two seeds', () => {
    for (const seeds of [1, 2]) expect(shares(seeds, 0.05, 0.0001, 50).open).toBeCloseTo(1);
  });
});

describe('figures of a trend', () => {
  it('are the slope over ranks times their span, with Student’s interval', () => {
    // Ranks 1, 2, 3: the slope is half the difference of the ends, the change the difference.
    const { change } = trendOf(
      [2, 4, 63],
      [
        [0.8, 0.99, 0.82],
        [0.8, 0.5, 0.84],
        [0.8, 0.7, 0.86],
      ],
      margin,
    )!;
    expect(change.mean).toBeCloseTo(0.04, 12);
    expect(change.half).toBeCloseTo((4.302653 * 0.02) / Math.sqrt(3), 6);
  });

  it('name pairs that go against it, ties left out', () => {
    const rows = [0, 0.001, -0.001].map((shift) => [0.8, 0.9 + shift, 0.85, 0.852 + shift]);
    const trend = trendOf([1, 2, 3, 3], rows, margin)!;
    expect(trend.change.mean).toBeGreaterThan(0);
    expect(trend.along).toBe(3);
    expect(trend.against).toEqual([
      [1, 2],
      [1, 3],
    ]);
    expect(judged(trend, 1, margin)).toEqual({ holds: false, seeds: null });
  });

  it('ask for as many seeds as their interval needs', () => {
    const trend = trendOf(
      [1, 2],
      [
        [0.8, 0.83],
        [0.8, 0.79],
        [0.8, 0.81],
      ],
      margin,
    )!;
    // .01 ± .0497: nearly five times too wide.
    const { holds, seeds } = judged(trend, 1, margin);
    expect(holds).toBeNull();
    expect(seeds).toBe(Math.ceil(3 * (trend.change.half! / 0.01) ** 2));
  });

  it('are none if nothing differs', () => {
    expect(trendOf([1, 1], [[0.5, 0.6]], margin)).toBeNull();
  });
});
