import { mean } from '../base/statistics.ts';
import type { Series } from './series.ts';

/** A figure that JSON can hold; null if it was not measured, or training had gone out of bounds. */
export const finite = (value: number | undefined): number | null =>
  value !== undefined && Number.isFinite(value) ? value : null;

export const sum = (values: Series): number => values.reduce((total, value) => total + value, 0);

export const measured = (values: Series): Series => values.filter((value) => !Number.isNaN(value));

/** NaN if nothing was measured. */
export const meanOfMeasured = (values: Series): number => mean(measured(values));

/** The first of the largest. */
export function peakOf(values: Series): { readonly index: number; readonly value: number } | undefined {
  let index = -1;
  for (let i = 0; i < values.length; i++)
    if (Number.isFinite(values[i]) && (index < 0 || values[i]! > values[index]!)) index = i;
  return index < 0 ? undefined : { index, value: values[index]! };
}

/** Of a figure per tensor and step, row by row the steps: the mean over the tensors. */
export function tensorMeans(values: Float64Array, tensors: number): Series {
  if (tensors === 0) return new Float64Array(0);
  return Float64Array.from({ length: values.length / tensors }, (_, row) =>
    mean(values.subarray(row * tensors, (row + 1) * tensors)),
  );
}

/**
 * The same over the weight tensors, those with two or more dimensions, if there are any: biases and the shifts of norms start at 0,
 * so that in the first steps they differ most for their size.
 */
export function weightMeans(values: Float64Array, tensors: readonly { readonly shape: string }[]): Series {
  const weights = tensors.flatMap(({ shape }, tensor) => (shape.includes('×') ? [tensor] : []));
  const { length } = tensors;
  if (weights.length === 0) return tensorMeans(values, length);
  return Float64Array.from({ length: values.length / length }, (_, row) =>
    mean(weights.map((tensor) => values[row * length + tensor]!)),
  );
}

/** What was spent up to and with each step. */
export function cumulative(values: Series): Series {
  let total = 0;
  return values.map((value) => (total += value));
}
