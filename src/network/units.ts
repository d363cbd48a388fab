import { z } from 'zod';

/**
 * Quantities with their unit, as a person writes them: rates in bits (`10Gb/s`) or bytes (`23GB/s`) per second, sizes in bytes, times in s, ms, us or ns. A
 * number without a unit is refused: bits taken for bytes are a factor of 8.
 */
const rateUnits: Readonly<Record<string, number>> = Object.fromEntries(
  ['', 'k', 'M', 'G', 'T'].flatMap((prefix, power) => [
    [`${prefix}b/s`, 1000 ** power / 8],
    [`${prefix}B/s`, 1000 ** power],
  ]),
);
const sizeUnits: Readonly<Record<string, number>> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
const timeUnits: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, min: 60e9 };

/** The largest time: whole nanoseconds up to here are exact in a double, 104 days. */
export const mostNs = Number.MAX_SAFE_INTEGER;

interface Quantity {
  readonly what: string;
  readonly units: Readonly<Record<string, number>>;
  readonly example: string;
  readonly zero: boolean;
}

const rateQuantity: Quantity = { what: 'rate', units: rateUnits, example: '10Gb/s or 23GB/s', zero: false };
const sizeQuantity: Quantity = { what: 'size', units: sizeUnits, example: '650MB or 1.3GB', zero: true };
const timeQuantity: Quantity = { what: 'time', units: timeUnits, example: '20us, 5ms or 1.5s', zero: true };

/** The value in its base unit, or what is wrong with it. */
function read({ what, units, example, zero }: Quantity, given: unknown): number | string {
  const [, digits, unit = ''] = /^\s*(-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(\S*)\s*$/i.exec(String(given)) ?? [];
  if (digits === undefined) return `"${given}" is no ${what}; write it with its unit, as in ${example}`;
  if (unit === '') return `the ${what} ${given} has no unit; write it as in ${example}`;
  const size = units[unit];
  if (size === undefined)
    return `"${unit}" is no unit of a ${what}; use one of: ${Object.keys(units).join(', ')}, as in ${example}`;
  const value = Number(digits);
  if (value < 0 || (value === 0 && !zero)) return `a ${what} must be ${zero ? 'at least' : 'above'} 0, got ${given}`;
  if (what === 'time' && value * size > mostNs) return `a time must be at most 104 days (2^53 ns), got ${given}`;
  return value * size;
}

const quantitySchema = (quantity: Quantity, word?: string) => {
  const problem = (given: unknown) => {
    if (word !== undefined && given === word) return undefined;
    const found = read(quantity, given);
    return typeof found === 'string' ? found : undefined;
  };
  return z
    .string({ error: ({ input }) => (typeof input === 'number' ? problem(input) : undefined) })
    .superRefine((text, context) => {
      const message = problem(text);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    });
};

/** Settings that are rates, sizes and times: text with a unit, checked. */
export const rateSetting = (what: string) => quantitySchema(rateQuantity).describe(`${what}, as in 10Gb/s or 23GB/s`);
export const sizeSetting = (what: string) => quantitySchema(sizeQuantity).describe(`${what}, as in 650MB`);
/** @param word that may stand in place of a time */
export const timeSetting = (what: string, word?: string) =>
  quantitySchema(timeQuantity, word).describe(`${what}, as in 20us or 5ms`);

/** Counted in steps, if it is a number, or in time. */
export const spanSetting = (what: string) =>
  z
    .union([z.number().min(0), quantitySchema(timeQuantity)])
    .describe(`${what}: a number of steps, or a time as in 90s`);

function checked(quantity: Quantity, text: string): number {
  const value = read(quantity, text);
  if (typeof value === 'string') throw new RangeError(value);
  return value;
}

/** Bytes per second. */
export const bytesPerSecond = (rate: string): number => checked(rateQuantity, rate);
export const bytesOf = (size: string): number => checked(sizeQuantity, size);
/** Nanoseconds, not yet rounded. */
export const nanoseconds = (time: string): number => checked(timeQuantity, time);

/** How long so many bytes take, in whole nanoseconds. */
export const transferNs = (bytes: number, rate: number): number =>
  rate === Number.POSITIVE_INFINITY ? 0 : Math.round((bytes * 1e9) / rate);
