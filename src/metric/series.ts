import type { Dispersion } from '../base/statistics.ts';
import { type Columns, evaluationColumns, stepColumns } from '../engine/columns.ts';
import { snake } from '../store/schema.ts';
import { bandNames } from '../store/tidy.ts';
import { type Events, readEvents } from '../store/views.ts';

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

/** Reads all that metrics are made from, once; undefined if there are no events, or another process is writing them. */
export function readSeries(database: string): Promise<RunSeries | undefined> {
  return readEvents(database, async (events) => {
    const tensors = await events.rows('select tensor as name, shape, size from tensors order by position');
    const stepFigures = await events.numbers('select * exclude (run) from steps order by step');
    const steps = seriesOf(stepColumns, stepFigures);
    const scoreFigures = await events.numbers('select * exclude (run) from evaluations order by step');
    const evaluations = { ...seriesOf(scoreColumns, scoreFigures), replicas: scoreFigures.get('replicas')! };
    return {
      tensors: tensors as unknown as RunSeries['tensors'],
      stepsPerEpoch: stepsPerEpoch(steps.epoch, evaluations),
      steps: { ...steps, ms: stepFigures.get('ms')! },
      evaluations,
      variance: await readVariance(events, tensors.length),
    };
  });
}

function seriesOf<C extends Columns>(columns: C, figures: ReadonlyMap<string, Series>): SeriesOf<C> {
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

async function readVariance(events: Events, tensors: number): Promise<RunSeries['variance']> {
  const figures = await events.numbers('select * exclude (run, tensor) from dispersion');
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
