import type * as Plot from '@observablehq/plot';
import { bytes, number } from '../../base/format.ts';

export const percent = (share: number) => `${(100 * share).toFixed(2)} %`;
/** With a true minus. */
export const signed = (value: number) => value.toFixed(2).replace('-', '−');
export const short = (value: number) => number(value, 3);

export function seconds(value: number): string {
  if (value < 120) return `${number(value, 3)} s`;
  return value < 7200 ? `${number(value / 60, 3)} min` : `${number(value / 3600, 3)} h`;
}

/** 1e-3 rather than 0.001, and 1e-7 rather than 1.0000e-7. */
export function tick(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e5
    ? number(value, 3)
    : Number(value.toPrecision(3)).toExponential().replace('e+', 'e');
}

export { bytes, number };

/** Ticks of a logarithmic axis: powers of ten, with halves between if there are few. */
export function logTicks(low: number, high: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const factors = last - first > 4 ? [1] : last - first > 2 ? [1, 3] : [1, 2, 5];
  const all = Array.from({ length: last - first + 1 }, (_, i) =>
    factors.map((f) => Number(`${f}e${first + i}`)),
  ).flat();
  const every = Math.max(1, Math.ceil(all.length / 9));
  return all.filter((value, i) => value >= low && value <= high && (factors.length > 1 || i % every === 0));
}

/** The least and the largest; undefined of nothing. */
export function extent(values: readonly number[]): readonly [number, number] | undefined {
  if (values.length === 0) return undefined;
  return values.reduce<readonly [number, number]>(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [values[0]!, values[0]!],
  );
}

/** A logarithmic axis with its ticks; linear if there is nothing to take the logarithm of. */
export function logAxis(values: readonly number[]): Plot.ScaleOptions {
  const range = extent(values);
  if (range === undefined) return {};
  const [low, high] = [range[0] / 1.15, range[1] * 1.15];
  return { type: 'log', domain: [low, high], ticks: logTicks(low, high) };
}

/** For counts from a few to thousands: powers of two; linear if they hardly differ, or some are 0. */
export function countAxis(counts: readonly number[]): Plot.ScaleOptions {
  const [low, high] = extent(counts) ?? [0, 0];
  if (!(low > 0 && high / low > 4)) return { zero: true, nice: true, ticks: 5 };
  const [first, last] = [Math.floor(Math.log2(low)), Math.ceil(Math.log2(high))];
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => 2 ** (first + i));
  const every = Math.ceil(ticks.length / 8);
  return {
    type: 'log',
    base: 2,
    domain: [ticks[0]!, ticks.at(-1)!],
    ticks: ticks.filter((_, i) => (ticks.length - 1 - i) % every === 0),
    tickFormat: (value: number) => number(value),
  };
}

/** As many ticks as there is room for. */
export const ticksIn = (width: number) => (width < 520 ? 5 : 9);
