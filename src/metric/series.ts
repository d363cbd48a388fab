import { UserError } from '../base/error.ts';
import { chunks } from '../base/list.ts';
import type { Dispersion } from '../base/statistics.ts';
import { type Columns, evaluationColumns, stepColumns } from '../engine/columns.ts';
import { snake } from '../store/schema.ts';
import { bandNames } from '../store/tidy.ts';
import { readEventsOf } from '../store/views.ts';

/** A figure per step; NaN if it was not measured. */
export type Series = Float64Array;

/** A quantity over the replicas, a figure per step. */
export interface BandSeries {
  readonly mean: Series;
  readonly min: Series;
  readonly max: Series;
}

export const statistics = [
  'gini',
  'coefficientOfVariation',
  'indexOfDispersion',
  'quartileCoefficient',
] as const satisfies readonly (keyof Dispersion)[];

type SeriesOf<C extends Columns> = {
  readonly [K in keyof C]: C[K]['per'] extends 'replica' ? BandSeries : Series;
};

const { replicas: _, ...scoreColumns } = evaluationColumns;

/** The events of a run as columns, with what there is for each replica reduced to figures over the replicas. */
export interface RunSeries {
  readonly tensors: readonly { readonly name: string; readonly shape: string; readonly size: number }[];
  /** Of one epoch; null if the run did not come to the end of its first. */
  readonly stepsPerEpoch: number | null;
  /** `ms` is the whole step. */
  readonly steps: SeriesOf<typeof stepColumns> & { readonly ms: Series };
  /** `replicas` is how many local models were tested. */
  readonly evaluations: SeriesOf<typeof scoreColumns> & { readonly replicas: Series };
  /** Of the norms over the replicas: row by row the probed steps, one column per tensor. */
  readonly variance: { readonly step: Series } & Readonly<Record<keyof Dispersion, Float64Array>>;
}

/** The tensors of a run with their shapes as numbers. */
export const shapesOf = ({ tensors }: Pick<RunSeries, 'tensors'>) =>
  tensors.map(({ size, shape }) => ({ size, shape: shape.split('×').filter(Boolean).map(Number) }));

/** Reads all that metrics are made from, once; undefined if there are no events, or another process is writing them. */
export async function readSeries(database: string): Promise<RunSeries | undefined> {
  const [series] = await seriesIn([database]);
  if (series instanceof UserError) throw series;
  return series;
}

/** So many runs are read at once. */
const together = 50;

/** The series of many runs one after the other, each read soon before it is asked for; an error in the place of one that cannot be read. */
export async function* readManySeries(databases: readonly string[]): AsyncGenerator<RunSeries | UserError | undefined> {
  if (databases.length > 0)
    for (const some of chunks(databases, together)) yield* await seriesIn(some).catch(() => apart(some));
}

/** Damage shows only when it is read, and then it is not known whose it is. */
const apart = (databases: readonly string[]) =>
  Promise.all(
    databases.map((database) =>
      readSeries(database).catch((error) => (error instanceof UserError ? error : Promise.reject(error))),
    ),
  );

async function seriesIn(databases: readonly string[]): Promise<(RunSeries | UserError | undefined)[]> {
  const named = databases.map((path, index) => ({ id: `${index}`, path }));
  return readEventsOf(named, async (events, problems) => {
    const numbers = async (table: string) =>
      byRun(await events.numbers(`select run::integer as run, * exclude (run) from ${table}`), databases.length);
    const names = await events.rows('select run, tensor as name, shape, size from tensors order by position');
    const stepFigures = await numbers('steps order by run::integer, step');
    const scoreFigures = await numbers('evaluations order by run::integer, step');
    const spread = await numbers('(select * exclude (tensor) from dispersion) order by run::integer');
    return named.map(({ id }, index) => {
      const problem = problems.find((each) => each.id === id);
      if (problem !== undefined) return problem.pending ? undefined : problem.error;
      const tensors = names.flatMap(({ run, ...tensor }) => (run === id ? [tensor] : []));
      const steps = seriesOf(stepColumns, stepFigures[index]!);
      const evaluations = {
        ...seriesOf(scoreColumns, scoreFigures[index]!),
        replicas: scoreFigures[index]!.get('replicas')!,
      };
      return {
        tensors: tensors as unknown as RunSeries['tensors'],
        stepsPerEpoch: stepsPerEpoch(steps.epoch, evaluations),
        steps: { ...steps, ms: stepFigures[index]!.get('ms')! },
        evaluations,
        variance: varianceOf(spread[index]!, tensors.length),
      };
    });
  });
}

type Figures = ReadonlyMap<string, Series>;

/** The rows of each run, which stand together. */
function byRun(figures: Figures, runs: number): Figures[] {
  const run = figures.get('run')!;
  let first = 0;
  return Array.from({ length: runs }, (_, index) => {
    let last = first;
    while (run[last] === index) last += 1;
    const own = new Map(Array.from(figures, ([name, values]) => [name, values.subarray(first, last)]));
    first = last;
    return own;
  });
}

function seriesOf<C extends Columns>(columns: C, figures: Figures): SeriesOf<C> {
  const series = Object.entries(columns).map(([key, { per }]) => {
    const { mean, min, max } = bandNames(key);
    const bands = { mean: figures.get(mean)!, min: figures.get(min)!, max: figures.get(max)! };
    return [key, per === 'replica' ? bands : figures.get(snake(key))!];
  });
  return Object.fromEntries(series) as SeriesOf<C>;
}

function stepsPerEpoch(epoch: Series, evaluated: Readonly<Record<'step' | 'epoch', Series>>): number | null {
  const first = epoch.indexOf(1);
  if (first > 0) return first;
  // A run of one epoch is evaluated at its end; one that ends earlier has done none.
  return evaluated.epoch[0] === 1 ? evaluated.step[0]! : null;
}

function varianceOf(figures: Figures, tensors: number): RunSeries['variance'] {
  const [steps, positions] = [figures.get('step')!, figures.get('position')!];
  const step = Float64Array.from(new Set(steps)).sort();
  const rowOf = new Map(Array.from(step, (value, row) => [value, row]));
  const place = (values: Float64Array) => {
    const placed = new Float64Array(step.length * tensors).fill(Number.NaN);
    values.forEach((value, index) => {
      placed[rowOf.get(steps[index]!)! * tensors + positions[index]!] = value;
    });
    return placed;
  };
  const placed = statistics.map((name) => [name, place(figures.get(snake(name))!)]);
  return { step, ...(Object.fromEntries(placed) as Record<keyof Dispersion, Float64Array>) };
}
