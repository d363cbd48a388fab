import { finite } from '../metric/figures.ts';
import type { Series } from '../metric/series.ts';
import { thin } from '../metric/thin.ts';
import type { Band, Report, RunReport } from './report.ts';

type Column = readonly (number | null)[];

/** A page with more numbers than this would open slowly. */
const mostNumbers = 450_000;

const count = (columns: unknown): number => {
  if (typeof columns !== 'object' || columns === null) return 1;
  return Object.values(columns).reduce((sum: number, column) => sum + count(column), 0);
};

/** One point for every `size`. */
function thinned(run: RunReport, size: number): RunReport {
  const by = (of: (thinning: ReturnType<typeof thin>) => (values: Series) => Series) => (column: Column) => {
    const thinning = thin(column.length, Math.ceil(column.length / size));
    return Array.from(of(thinning)(Float64Array.from(column, (value) => value ?? Number.NaN)), finite);
  };
  const [mean, min, max] = [by((t) => t.mean), by((t) => t.min), by((t) => t.max)];
  const last = by((t) => t.last) as (column: readonly number[]) => number[];
  const band = (of: Band): Band => ({ mean: mean(of.mean), min: min(of.min), max: max(of.max) });
  const each = <K extends string, T, U>(columns: Readonly<Record<K, T>>, of: (column: T) => U) =>
    Object.fromEntries(Object.entries<T>(columns).map(([key, column]) => [key, of(column)])) as Record<K, U>;
  const { step, stepsPerPoint, epoch, seconds, sentBytes, loss, accuracy, ms, ...others } = run.steps;
  const { variance, network } = run;
  return {
    ...run,
    steps: {
      step: last(step),
      stepsPerPoint: stepsPerPoint * size,
      epoch: last(epoch),
      seconds: last(seconds),
      sentBytes: last(sentBytes),
      loss: band(loss),
      accuracy: band(accuracy),
      ms: each(ms, mean),
      ...each(others, mean),
    },
    variance: {
      step: last(variance.step),
      stepsPerPoint: variance.stepsPerPoint * size,
      tensors: each(variance.tensors, (columns) => columns.map(mean)),
      mean: each(variance.mean, mean),
    },
    network: network && {
      ...network,
      frames: network.frames.filter((_, index) => (network.frames.length - 1 - index) % size === 0),
    },
  };
}

/** A report that a page can hold: if it has too many numbers, its curves get fewer points, and it says so. */
export function fitted(report: Report): Report {
  const numbers = report.runs.reduce((sum, { steps, variance, network }) => sum + count([steps, variance, network]), 0);
  const size = Math.ceil(numbers / mostNumbers);
  if (size <= 1) return report;
  const note = `To keep this page small, its curves over steps have one point, and its network one moment, for every ${size} of the report; dbench report --json and --tables give all.`;
  return { ...report, runs: report.runs.map((run) => thinned(run, size)), notes: [...report.notes, note] };
}
