import type { DuckDBListVector } from '@duckdb/node-api';
import { type Dispersion, dispersion } from '../base/statistics.ts';
import { type Events, query } from '../store/database.ts';

/** A figure a step; NaN where it was not measured. */
export type Series = Float64Array;

/** A quantity over the replicas, a figure a step. */
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

/** The events of a run as columns, with what there is for each replica reduced to figures over the replicas. */
export interface RunSeries {
  readonly tensors: readonly { readonly name: string; readonly shape: string; readonly size: number }[];
  /** Of one epoch; null where the run did not come to the end of its first. */
  readonly stepsPerEpoch: number | null;
  readonly steps: {
    readonly step: Series;
    /** Counted from 0. */
    readonly epoch: Series;
    readonly connections: Series;
    readonly learningRate: Series;
    readonly loss: BandSeries;
    readonly accuracy: BandSeries;
    readonly distance: Series;
    readonly controlledDistance: Series;
    readonly targetDistance: Series;
    readonly gossips: Series;
    readonly sentBytes: Series;
    readonly sentMessages: Series;
    readonly ms: Series;
    readonly computeMs: Series;
  };
  readonly evaluations: {
    /** Steps done. */
    readonly step: Series;
    readonly epoch: Series;
    /** How many local models were tested, and each on how many samples. */
    readonly replicas: Series;
    readonly samples: Series;
    readonly loss: BandSeries;
    readonly accuracy: BandSeries;
    readonly mergedLoss: Series;
    readonly mergedAccuracy: Series;
  };
  /** Of the norms over the replicas: row by row the probed steps, a column a tensor. */
  readonly variance: { readonly step: Series } & Readonly<Record<keyof Dispersion, Float64Array>>;
}

/** Reads all that metrics are made from, once; undefined where there are no events, or another process is writing them. */
export function readSeries(database: string): Promise<RunSeries | undefined> {
  return query(database, async (events) => {
    const tensors = await events.rows('select name, shape, size from tensors order by tensor');
    const steps = columnsOf(
      await events.rows(`
      select step, epoch, connections, learning_rate, ${band('loss')}, ${band('accuracy')}, distance,
        controlled_distance, target_distance, gossips, sent_bytes, sent_messages, compute_ms,
        data_ms + compute_ms + mix_ms + wait_ms + probe_ms ms
      from steps order by step`),
    );
    const evaluations = columnsOf(
      await events.rows(`
      select step, epoch, len(replicas) replicas, samples, ${band('loss')}, ${band('accuracy')}, merged_loss, merged_accuracy
      from evaluations order by step`),
    );
    return {
      tensors: tensors.map(({ name, shape, size }) => ({
        name: String(name),
        shape: String(shape),
        size: Number(size),
      })),
      stepsPerEpoch: stepsPerEpoch(steps('epoch'), evaluations('step')),
      steps: {
        step: steps('step'),
        epoch: steps('epoch'),
        connections: steps('connections'),
        learningRate: steps('learning_rate'),
        loss: bandOf(steps, 'loss'),
        accuracy: bandOf(steps, 'accuracy'),
        distance: steps('distance'),
        controlledDistance: steps('controlled_distance'),
        targetDistance: steps('target_distance'),
        gossips: steps('gossips'),
        sentBytes: steps('sent_bytes'),
        sentMessages: steps('sent_messages'),
        ms: steps('ms'),
        computeMs: steps('compute_ms'),
      },
      evaluations: {
        step: evaluations('step'),
        epoch: evaluations('epoch'),
        replicas: evaluations('replicas'),
        samples: evaluations('samples'),
        loss: bandOf(evaluations, 'loss'),
        accuracy: bandOf(evaluations, 'accuracy'),
        mergedLoss: evaluations('merged_loss'),
        mergedAccuracy: evaluations('merged_accuracy'),
      },
      variance: await readVariance(events, tensors.length),
    };
  });
}

const band = (list: string) =>
  `list_avg(${list}) ${list}_mean, list_min(${list}) ${list}_min, list_max(${list}) ${list}_max`;

type Columns = (name: string) => Series;

const columnsOf =
  (rows: readonly Record<string, unknown>[]): Columns =>
  (name) =>
    Float64Array.from(rows, (row) => (row[name] === null ? Number.NaN : Number(row[name])));

const bandOf = (columns: Columns, name: string): BandSeries => ({
  mean: columns(`${name}_mean`),
  min: columns(`${name}_min`),
  max: columns(`${name}_max`),
});

function stepsPerEpoch(epoch: Series, evaluated: Series): number | null {
  const first = epoch.indexOf(1);
  if (first > 0) return first;
  // A run of one epoch is evaluated at its end.
  return evaluated.length > 0 ? evaluated[0]! : null;
}

async function readVariance(events: Events, tensors: number): Promise<RunSeries['variance']> {
  const probed = await events.rows('select distinct step from norms order by step');
  const step = Float64Array.from(probed, (row) => Number(row.step));
  const rowOf = new Map(Array.from(step, (value, row) => [value, row]));
  const found = Object.fromEntries(
    statistics.map((name) => [name, new Float64Array(step.length * tensors).fill(Number.NaN)]),
  ) as Record<keyof Dispersion, Float64Array>;
  let norms = new Float64Array(0);
  for await (const chunk of events.chunks('select step, tensor, norm from norms')) {
    const [steps, places] = [chunk.getColumnVector(0), chunk.getColumnVector(1)];
    const lists = chunk.getColumnVector(2) as DuckDBListVector;
    const values = lists.childVector;
    for (let row = 0; row < chunk.rowCount; row++) {
      const [from, length] = [lists.getEntryOffset(row), lists.getEntryLength(row)];
      if (norms.length < length) norms = new Float64Array(length);
      let there = 0;
      for (let i = from; i < from + length; i++) {
        const norm = values.getItem(i) as number | null;
        // Replicas that were lost have null.
        if (norm !== null) norms[there++] = norm;
      }
      const at = rowOf.get(steps.getItem(row) as number)! * tensors + (places.getItem(row) as number);
      const figures = dispersion(norms.subarray(0, there));
      for (const name of statistics) found[name][at] = figures[name];
    }
  }
  return { step, ...found };
}
