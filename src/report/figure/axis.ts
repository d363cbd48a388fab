import { bytes, number } from '../../base/format.ts';

export const percent = (share: number) => `${(100 * share).toFixed(2)} %`;
export const short = (value: number) => number(value, 3);

export function seconds(value: number): string {
  if (value < 120) return `${number(value, 3)} s`;
  return value < 7200 ? `${number(value / 60, 3)} min` : `${number(value / 3600, 3)} h`;
}

/** 1e-3 rather than 0.001, and 1e-7 rather than 1.0000e-7. */
export function tick(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e5 ? number(value, 3) : value.toExponential().replace('e+', 'e');
}

export { bytes, number };

/** Ticks of a logarithmic axis: powers of ten, with halves between where there are few. */
export function logTicks(low: number, high: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const factors = last - first > 4 ? [1] : last - first > 2 ? [1, 3] : [1, 2, 5];
  const all = Array.from({ length: last - first + 1 }, (_, i) => factors.map((f) => f * 10 ** (first + i))).flat();
  const every = Math.max(1, Math.ceil(all.length / 9));
  return all.filter((value, i) => value >= low && value <= high && (factors.length > 1 || i % every === 0));
}
