import { mean, pearson, ranks, studentQuantile, studentTail, variance } from '../../src/base/statistics.ts';
import { judged, type Trend, trendOf, type Verdict } from '../../src/metric/trend.ts';
import { jobs } from './jobs.ts';
import { readRows, type StudyRow, stored } from './rows.ts';

/** What the stored rows say by the rules of docs/study.md. */

/** A task, a number of replicas and a partition. */
export interface Cell {
  readonly cell: string;
  readonly data: StudyRow['data'];
}

export const cellName = ({ cell, data }: Cell) => `${cell}, ${data}`;
export const rows = readRows(stored);
export const cells: readonly Cell[] = [...new Set(rows.map(({ cell }) => cell))].flatMap((cell) =>
  (['alike', 'skewed'] as const).map((data) => ({ cell, data })),
);

/** Runs of one variant, by seed. */
export const runsOf = ({ cell, data }: Cell, variant: string, rate = 1): ReadonlyMap<number, StudyRow> =>
  new Map(
    rows
      .filter((row) => row.cell === cell && row.data === data && row.variant === variant && row.rate === rate)
      .map((row) => [row.seed, row]),
  );

/** Variants with enough seeds that C_complete has too: three, or all if there are fewer. */
export function variantsIn(cell: Cell): string[] {
  const { size } = runsOf(cell, 'C_complete');
  const names = [
    ...new Set(rows.filter((row) => row.cell === cell.cell && row.data === cell.data).map((row) => row.variant)),
  ];
  return size < 2 ? [] : names.filter((name) => runsOf(cell, name).size >= Math.min(3, size));
}

const isText = ({ cell }: Cell) => cell.startsWith('lstm');

/** Half a point of accuracy. */
const halfPoint = 0.005;
/** How much worse a run may be: points of accuracy as a share, or of text the logarithm of perplexity. */
const marginOf = (cell: Cell) => (isText(cell) ? Math.log(1.02) : halfPoint);

/** What a run is judged by, larger is better. A run that diverged is as bad as can be. */
const scoreOf = (cell: Cell, row: StudyRow) => {
  const score = isText(cell) ? -row.mergedLoss : row.mergedAccuracy;
  return row.status === 'complete' && Number.isFinite(score) ? score : isText(cell) ? -5 : 0;
};

/** A difference of scores as it is shown: in points, larger is better; of text how much larger the perplexity is, in %. */
export const shown = (cell: Cell, difference: number) => 100 * (isText(cell) ? Math.exp(-difference) - 1 : difference);

export interface Difference {
  readonly mean: number;
  readonly error: number;
  readonly seeds: number;
}

/** Paired by seed: a − b. */
export function differenceOf(cell: Cell, a: string, b: string, rate = 1): Difference | undefined {
  const [left, right] = [runsOf(cell, a, rate), runsOf(cell, b, rate)];
  const apart = [...left].flatMap(([seed, row]) =>
    right.has(seed) ? [scoreOf(cell, row) - scoreOf(cell, right.get(seed)!)] : [],
  );
  if (apart.length < Math.min(3, right.size) || apart.length < 2) return undefined;
  return { mean: mean(apart), error: Math.sqrt(variance(apart) / (apart.length - 1)), seeds: apart.length };
}

/** Not worse by more than the margin; worse by more than that; or the seeds cannot tell. */
export type Standing = 'passes' | 'fails' | 'open';

/** By one-sided 95 % intervals in either direction. */
export function standingOf({ mean: m, error, seeds }: Difference, margin: number): Standing {
  const half = studentQuantile(0.9, seeds - 1) * error;
  return m - half > -margin ? 'passes' : m + half < -margin ? 'fails' : 'open';
}

/** How a variant stands against another; undefined if too few seeds are there. */
export function standing(cell: Cell, variant: string, rate = 1, base = 'C_complete'): Standing | undefined {
  const difference = differenceOf(cell, variant, base, rate);
  return difference && standingOf(difference, marginOf(cell));
}

/** Whether it is shown not to be worse than C_complete by more than the margin; undefined if that is not known. */
export function passes(cell: Cell, variant: string, rate = 1): boolean | undefined {
  const found = standing(cell, variant, rate);
  return found && found === 'passes';
}

/** How many of several tests hold together, by Holm's rule: from the clearest on, as long as each holds at its level. */
export function holmCount(tests: readonly { readonly t: number; readonly df: number }[]): number {
  const sorted = tests.map(({ t, df }) => studentTail(t, df)).sort((a, b) => a - b);
  const first = sorted.findIndex((p, k) => p >= 0.05 / (sorted.length - k));
  return first < 0 ? sorted.length : first;
}

/** A cell, at a multiple of its rate. */
export interface Place {
  readonly cell: Cell;
  readonly rate: number;
}

/** In how many places a variant passes, each by itself and all together; of those where that is known. */
export function passCount(
  among: readonly Place[],
  variant: string,
): { passed: readonly Place[]; holm: number; of: number } {
  const known = among.filter(({ cell, rate }) => standing(cell, variant, rate) !== undefined);
  const tests = known.map(({ cell, rate }) => {
    const { mean: m, error, seeds } = differenceOf(cell, variant, 'C_complete', rate)!;
    return { t: (m + marginOf(cell)) / Math.max(error, 1e-12), df: seeds - 1 };
  });
  const passed = known.filter(({ cell, rate }) => passes(cell, variant, rate));
  return { passed, holm: holmCount(tests), of: known.length };
}

/** Over the runs that came to their end, unless none did. */
export function meanOf(cell: Cell, variant: string, of: (row: StudyRow) => number, rate = 1): number {
  const runs = [...runsOf(cell, variant, rate).values()];
  const ended = runs.filter(({ status }) => status === 'complete');
  return mean((ended.length > 0 ? ended : runs).map(of).filter((value) => !Number.isNaN(value)));
}

export const copiesOf = (cell: Cell, variant: string, rate = 1) =>
  meanOf(cell, variant, ({ bytes, modelBytes }) => bytes / modelBytes, rate);

/** Fixed settings of local SGD, with own and with common momentum. */
export const fixed = ['local', 'common'].flatMap((kind) => [2, 4, 8, 16, 32, 64].map((period) => `${kind}-${period}`));

/** The cheapest fixed setting that passes, in hindsight; averaging in every step if none does. */
export function bestFixed(cell: Cell): string {
  const there = variantsIn(cell);
  const passing = fixed.filter((variant) => there.includes(variant) && passes(cell, variant));
  return passing.reduce(
    (best, variant) => (copiesOf(cell, variant) < copiesOf(cell, best) ? variant : best),
    'C_complete',
  );
}

/** How the accuracy of local models goes along x over some variants, seed by seed, and whether it does so by half a point or more. */
export function localTrend(
  cell: Cell,
  variants: readonly string[],
  x: readonly number[],
  sign: 1 | -1,
): { trend: Trend; verdict: Verdict } {
  const runs = variants.map((variant) => runsOf(cell, variant));
  const common = [...runs[0]!.keys()].filter((seed) => runs.every((each) => each.has(seed)));
  const accuracies = common.map((seed) => runs.map((each) => each.get(seed)!.accuracy));
  const trend = trendOf(x, accuracies, halfPoint)!;
  return { trend, verdict: judged(trend, sign, halfPoint) };
}

export const spearman = (x: readonly number[], y: readonly number[]) => pearson(ranks(x), ranks(y));

/** Mean harm, number of averages and excess loss of every run of the tether at some target, seed by seed against C_complete. */
export function harmAndLoss(cell: Cell): { harm: number[]; averages: number[]; loss: number[] } {
  const base = runsOf(cell, 'C_complete');
  const own = rows.filter(
    (row) =>
      row.cell === cell.cell &&
      row.data === cell.data &&
      row.rate === 1 &&
      /^tether(-[\d.]+)?$/.test(row.variant) &&
      base.has(row.seed),
  );
  return {
    harm: own.map(({ harm }) => harm),
    averages: own.map(({ averages }) => averages),
    loss: own.map((row) => row.mergedLoss - base.get(row.seed)!.mergedLoss),
  };
}

/** By cell: runs that are there, and all. */
export function progress(): Map<string, [number, number]> {
  const found = new Map<string, [number, number]>();
  for (const job of jobs()) {
    const [done, all] = found.get(job.cell) ?? [0, 0];
    const there = runsOf(job, job.variant, job.rate).has(job.seed);
    found.set(job.cell, [done + (there ? 1 : 0), all + 1]);
  }
  return found;
}
