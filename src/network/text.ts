import { number } from '../base/format.ts';

/** Units of time and the nanoseconds from which they are used; minutes and hours later than their length, as 90 s reads better. */
const units = [
  ['ns', 1, 0],
  ['µs', 1e3, 1e3],
  ['ms', 1e6, 1e6],
  ['s', 1e9, 1e9],
  ['min', 60e9, 120e9],
  ['h', 3600e9, 7200e9],
] as const;

/** A time as people read it: `20 µs`, `1.76 ms`, `54.7 s`. */
export function timeText(ns: number, digits = 4): string {
  const [unit, size] = units.findLast(([, , from]) => ns >= from) ?? units[0];
  return `${number(ns / size, digits)} ${unit}`;
}

/** A rate as people read it, in bits: `10 Gb/s`. */
export function rateText(rate: number): string {
  if (rate === Number.POSITIVE_INFINITY) return 'no limit';
  const bits = 8 * rate;
  const power = Math.max(0, Math.min(4, Math.floor(Math.log10(bits) / 3)));
  return `${number(bits / 1000 ** power, 4)} ${['', 'k', 'M', 'G', 'T'][power]}b/s`;
}
