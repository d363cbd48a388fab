import { z } from 'zod';
import { pathPattern } from './path.ts';

/** Values to try for settings by their path: every combination is a point of the grid, and every variant runs at every point. */
export const sweepSchema = z.record(z.string(), z.array(z.unknown()).min(1)).superRefine((sweep, context) => {
  if (Object.keys(sweep).length === 0)
    context.addIssue({
      code: 'custom',
      message: 'is empty; name settings and the values to try, as in { seed: [1, 2, 3] }',
    });
  for (const [path, values] of Object.entries(sweep)) {
    const refuse = (message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (!pathPattern.test(path)) refuse('is not the path of a setting, such as learningRate.base or model.hidden[0]');
    else if (/^(name|extends|compare|sweep)\b/.test(path))
      refuse('cannot be swept; list variants under compare instead');
    const texts = values.map((value) => JSON.stringify(value));
    const twice = texts.find((text, index) => texts.indexOf(text) !== index);
    if (twice !== undefined) refuse(`lists the value ${twice} twice`);
  }
});

export type Sweep = z.output<typeof sweepSchema>;

/** One value for each path of a sweep. */
export type Point = readonly (readonly [path: string, value: unknown])[];

/** More runs than this are taken for a mistake. */
export const maxRuns = 10_000;

export const pointCount = (sweep: Sweep): number =>
  Object.values(sweep).reduce((product, values) => product * values.length, 1);

/** All points of the grid; the path that is named first changes last. */
export function pointsOf(sweep: Sweep): Point[] {
  return Object.entries(sweep).reduce<Point[]>(
    (points, [path, values]) => points.flatMap((point) => values.map((value): Point => [...point, [path, value]])),
    [[]],
  );
}

/** `seed=1 replicas=8` */
export const pointText = (point: Point): string =>
  point.map(([path, value]) => `${path}=${typeof value === 'string' ? value : JSON.stringify(value)}`).join(' ');
