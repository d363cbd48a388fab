import { z } from 'zod';
import { UserError } from '../../base/error.ts';
import { bytesPerSecond, mostNs, nanoseconds, rateSetting } from '../units.ts';
import { ownPorts, refuseSize, wiringKind } from '../wiring.ts';

/** Numbers with one unit for all: row j holds what goes out from device j; what stands on the diagonal is not read. */
const matrixOf = (unit: z.ZodType<string>, what: string) =>
  z
    .strictObject({
      unit: unit.describe('of all values'),
      values: z.array(z.array(z.number())).min(1).describe('a row for each device, with a number for each'),
    })
    .describe(what);

/** The numbers as a table in the base unit, or a UserError that says what is wrong. */
function squareOf(
  { unit, values }: { readonly unit: string; readonly values: readonly (readonly number[])[] },
  what: 'latencies' | 'rates',
  read: (text: string) => number,
): readonly (readonly number[])[] {
  const n = values.length;
  const size = read(`1${unit}`);
  return values.map((row, from) => {
    if (row.length !== n)
      throw new UserError(
        `${what}: the matrix must be square; it has ${n} rows, but row ${from} has ${row.length} numbers`,
      );
    return row.map((value, to) => {
      if (from === to) return 0;
      if (!(what === 'latencies' ? value >= 0 : value > 0))
        throw new UserError(
          `${what}: from ${from} to ${to} must be ${what === 'latencies' ? 'at least' : 'above'} 0, got ${value}`,
        );
      if (what === 'latencies' && value * size > mostNs)
        throw new UserError(`${what}: from ${from} to ${to} must be at most 104 days (2^53 ns), got ${value}${unit}`);
      return value * size;
    });
  });
}

export const matrix = wiringKind({
  name: 'matrix',
  summary: 'latency and rate of every pair of devices',
  settings: {
    latencies: matrixOf(z.enum(['ns', 'us', 'ms', 's']), 'one way, from row to column'),
    rates: matrixOf(z.enum(['kb/s', 'Mb/s', 'Gb/s', 'kB/s', 'MB/s', 'GB/s']), 'of the paths, from row to column'),
    up: rateSetting('of what a device sends; the paths alone limit it by default').optional(),
    down: rateSetting('of what a device hears').optional(),
  },
  build(n, { latencies, rates, up, down }) {
    const times = squareOf(latencies, 'latencies', nanoseconds);
    const speeds = squareOf(rates, 'rates', bytesPerSecond);
    if (times.length !== speeds.length)
      throw new UserError(
        `latencies are of ${times.length} devices, rates of ${speeds.length}; both must be of the same`,
      );
    if (times.length !== n) refuseSize('matrix', times.length, n);
    const port = (rate: string | undefined) => (rate === undefined ? Infinity : bytesPerSecond(rate));
    return {
      ...ownPorts(n, port(up), port(down)),
      way: (from, to) => ({ latencyNs: times[from]![to]!, rate: speeds[from]![to]!, up: from, down: to }),
    };
  },
});
