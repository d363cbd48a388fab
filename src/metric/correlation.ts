import { Random } from '../base/random.ts';
import { type NumberList, pearson, ranks } from '../base/statistics.ts';

/** Spearman's ρ with a permutation p-value; null if there are fewer than three points or one side is constant. */
export interface Correlation {
  readonly rho: number | null;
  /** Two-sided: how often a ρ at least as far from 0 comes from pairing the points at random. */
  readonly p: number | null;
  readonly points: number;
}

/** All permutations of so many points are tried; of more a seeded sample. */
const exactPoints = 9;
const sampled = 100_000;

/** How one quantity goes with another, over a few points. */
export function correlate(x: NumberList, y: NumberList): Correlation {
  const points = x.length;
  const [rx, ry] = [ranks(x), ranks(y)];
  const rho = points < 3 ? Number.NaN : pearson(rx, ry);
  if (Number.isNaN(rho)) return { rho: null, p: null, points };
  // ρ is linear in Σ rx·ry. Ranks are halves of whole numbers, so this is exact and equal ρ count as equal.
  const centre = (points * (points + 1) ** 2) / 4;
  const away = () => Math.abs(dot(rx, ry) - centre);
  const bound = away();
  let [as, all] = [0, 0];
  const count = () => {
    all += 1;
    if (away() >= bound) as += 1;
  };
  if (points <= exactPoints) {
    permutations(ry, points, count);
    return { rho, p: as / all, points };
  }
  const random = new Random(1, 'permutation');
  for (let i = 0; i < sampled; i++) {
    shuffle(ry, random);
    count();
  }
  // With the pairing that was found among them, so that p is never 0.
  return { rho, p: (as + 1) / (all + 1), points };
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

function swap(values: Float64Array, i: number, j: number): void {
  [values[i], values[j]] = [values[j]!, values[i]!];
}

/** Every order of the first `length` values, each once, by swaps of two (Heap). */
function permutations(values: Float64Array, length: number, visit: () => void): void {
  if (length === 1) visit();
  for (let i = 0; i < length && length > 1; i++) {
    permutations(values, length - 1, visit);
    if (i < length - 1) swap(values, length % 2 === 0 ? i : 0, length - 1);
  }
}

function shuffle(values: Float64Array, random: Random): void {
  for (let i = values.length - 1; i > 0; i--) swap(values, i, random.below(i + 1));
}
