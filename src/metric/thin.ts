import { meanOfMeasured, measured } from './figures.ts';
import type { Series } from './series.ts';

/** How long series become fit for drawing: consecutive points fall into buckets, each becomes one point. */
export interface Thinning {
  /** Of each bucket but the last, which may be shorter. */
  readonly pointsPerBucket: number;
  mean(values: Series): Series;
  min(values: Series): Series;
  max(values: Series): Series;
  last(values: Series): Series;
}

/** Buckets of equal size, no more than `most`; every point its own if there are few. */
export function thin(length: number, most: number): Thinning {
  const pointsPerBucket = Math.max(1, Math.ceil(length / most));
  const buckets = Math.ceil(length / pointsPerBucket);
  const each = (of: (bucket: Series) => number) => (values: Series) =>
    Float64Array.from({ length: buckets }, (_, b) =>
      of(values.subarray(b * pointsPerBucket, Math.min(length, (b + 1) * pointsPerBucket))),
    );
  return {
    pointsPerBucket,
    mean: each(meanOfMeasured),
    min: each((b) => extreme(b, Math.min)),
    max: each((b) => extreme(b, Math.max)),
    last: each((b) => b.at(-1)!),
  };
}

function extreme(bucket: Series, of: (...values: number[]) => number): number {
  const values = measured(bucket);
  return values.length === 0 ? Number.NaN : values.reduce((a, b) => of(a, b));
}
