import * as Plot from '@observablehq/plot';
import type { Group, Report, RunReport } from '../report.ts';
import { extent } from './axis.ts';
import type { Entry, Frame } from './compose.ts';
import { styleOf } from './figure.ts';

type Column = readonly (number | null)[];

/** What one run says over its steps; if there is no band, the value is its own. */
export interface CurveColumns {
  /** Runs of a group are put together if these are equal. */
  readonly step: readonly number[];
  readonly x: Column;
  readonly y: Column;
  readonly low?: Column | undefined;
  readonly high?: Column | undefined;
}

/** One point of a group: the mean over its runs, with what the band says. */
export interface CurvePoint {
  readonly step: number;
  readonly x: number;
  readonly y: number;
  readonly low: number;
  readonly high: number;
  readonly runs: number;
}

export interface Curve {
  /** The implementation. */
  readonly name: string;
  readonly points: readonly CurvePoint[];
}

/** Band over the replicas of all seeds, over the seeds' means, or none. */
export type CurveSpread = 'replicas' | 'seeds' | 'none';

const average = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

export function curveOf(
  report: Report,
  group: Group,
  read: (run: RunReport) => CurveColumns | undefined,
  spread: CurveSpread = 'seeds',
): Curve {
  const byStep = new Map<number, { x: number; y: number; low: number; high: number }[]>();
  for (const index of group.runs) {
    const columns = read(report.runs[index]!);
    columns?.step.forEach((step, i) => {
      const [x, y] = [columns.x[i], columns.y[i]];
      if (x == null || y == null || !Number.isFinite(x) || !Number.isFinite(y)) return;
      const own = spread === 'replicas';
      const [low, high] = [own ? (columns.low?.[i] ?? y) : y, own ? (columns.high?.[i] ?? y) : y];
      const point = { x, y, low, high };
      if (byStep.get(step)?.push(point) === undefined) byStep.set(step, [point]);
    });
  }
  const points = [...byStep]
    .sort(([a], [b]) => a - b)
    .map(([step, at]): CurvePoint => {
      const y = average(at.map((point) => point.y));
      const band = spread === 'none' ? [y] : at.flatMap(({ low, high }) => [low, high]);
      return {
        step,
        x: average(at.map((point) => point.x)),
        y,
        low: Math.min(...band),
        high: Math.max(...band),
        runs: at.length,
      };
    });
  return { name: group.name, points };
}

/** In percent. */
export function inPercent(curve: Curve): Curve {
  const points = curve.points.map((point) => ({
    ...point,
    y: 100 * point.y,
    low: 100 * point.low,
    high: 100 * point.high,
  }));
  return { ...curve, points };
}

/** Only what a logarithm has. */
export function positive(curve: Curve): Curve {
  const points = curve.points.filter(({ y }) => y > 0);
  return { ...curve, points: points.map((point) => ({ ...point, low: point.low > 0 ? point.low : point.y })) };
}

/**
 * The values, with their bands, that the second half of training needs: an axis for all of it would squeeze the differences that
 * matter against its end. Undefined if nothing differs.
 */
export function lateDomain(curves: readonly Curve[]): readonly [number, number] | undefined {
  const late = curves.flatMap(({ points }) => points.filter(({ step }) => step >= (points.at(-1)?.step ?? 0) / 2));
  const range = extent(late.flatMap(({ low, y, high }) => [low, y, high]));
  return range === undefined || range[0] === range[1] ? undefined : range;
}

export interface Look {
  readonly dots?: boolean;
  readonly line?: Plot.CurveName;
  readonly width?: number;
  /** Of the axis: dots beyond it are left out; bands and lines are cut off there anyway. */
  readonly domain?: readonly [number, number] | undefined;
  /** Which facet the curve is in. */
  readonly facet?: Readonly<Record<string, () => string>>;
}

/** A point with the text that says what it is. */
export interface Tip {
  readonly x: number;
  readonly y: number;
  readonly text: string;
}

/** Tooltips at the points nearest to the pointer; what a point says is the same wherever it is drawn. */
export function tips<T extends Tip>(
  points: readonly T[],
  { still, theme }: Frame,
  options: object = {},
  point: typeof Plot.pointer = Plot.pointer,
) {
  if (still) return [];
  const look = { fill: theme.background, stroke: theme.muted, fontSize: 12, lineHeight: 1.25 };
  return [Plot.tip(points, point({ x: 'x', y: 'y', title: 'text', ...look, ...options }))];
}

/** Band, line and dots of every curve; bands first, so that no line is behind one. */
export function curveMarks(report: Report, curves: readonly Curve[], frame: Frame, look: Look): Plot.Markish[] {
  const { facet = {}, domain } = look;
  const inside = ({ y }: CurvePoint) => domain === undefined || (y >= domain[0] && y <= domain[1]);
  const drawn = curves.map((curve) => ({ ...curve, style: styleOf(report, curve.name, frame.theme) }));
  const bands = drawn
    .filter(({ points }) => points.some(({ low, high }) => high > low))
    .map(({ points, style }) =>
      Plot.areaY(points, {
        x: 'x',
        y1: 'low',
        y2: 'high',
        fill: style.colour,
        fillOpacity: frame.theme.name === 'dark' ? 0.2 : 0.14,
        curve: look.line ?? 'linear',
        clip: true,
        ...facet,
      }),
    );
  const lines = drawn.flatMap(({ points, style }) => [
    Plot.lineY(points, {
      x: 'x',
      y: 'y',
      stroke: style.colour,
      strokeWidth: look.width ?? 2,
      strokeDasharray: style.dash,
      curve: look.line ?? 'linear',
      clip: true,
      ...facet,
    }),
    ...(look.dots
      ? [
          Plot.dot(points.filter(inside), {
            x: 'x',
            y: 'y',
            r: 3.6,
            symbol: style.symbol,
            fill: frame.theme.background,
            stroke: style.colour,
            strokeWidth: 1.6,
            ...facet,
          }),
        ]
      : []),
  ]);
  return [...bands, ...lines];
}

/** The tooltips of curves: one mark for all, so that only one shows. */
export function curveTips(
  curves: readonly (Curve & {
    readonly tip: (point: CurvePoint) => string;
    readonly facet?: Readonly<Record<string, string>>;
  })[],
  frame: Frame,
) {
  const points = curves.flatMap(({ name, points, tip, facet }) =>
    points.map((point) => ({ x: point.x, y: point.y, text: `${name}\n${tip(point)}`, ...facet })),
  );
  const facets = Object.keys(curves[0]?.facet ?? {}).map((side) => [side, side]);
  return tips(points, frame, { maxRadius: 100, ...Object.fromEntries(facets) }, Plot.pointerX);
}

export function legendOf(
  report: Report,
  groups: readonly Group[],
  { theme }: Frame,
  remark?: (group: Group) => string | undefined,
): Entry[] {
  return groups.map((group) => ({
    name: group.name,
    style: styleOf(report, group.name, theme),
    remark: remark?.(group),
  }));
}
