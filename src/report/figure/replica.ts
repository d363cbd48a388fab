import * as Plot from '@observablehq/plot';
import type { ReplicaFrame } from '../report.ts';
import { number, ticksIn } from './axis.ts';
import { compose, type Frame, type SvgElement } from './compose.ts';
import { tips } from './curve.ts';
import type { quantityOf } from './network.ts';

const height = 168;
const margins = { marginTop: 22, marginBottom: 34, marginLeft: 46, marginRight: 10 };

interface Spread {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** Of frames that were drawn before: with a thousand replicas they are most of the work. */
const known = new WeakMap<ReplicaFrame, Map<string, Spread | undefined>>();

/** Over all replicas that have a value; undefined without any. */
function spreadOf(frame: ReplicaFrame, { label, of }: ReturnType<typeof quantityOf>): Spread | undefined {
  const all = known.get(frame) ?? new Map<string, Spread | undefined>();
  known.set(frame, all);
  if (all.has(label)) return all.get(label);
  let [sum, count, low, high] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of of(frame) ?? []) {
    if (value === null) continue;
    [sum, count, low, high] = [sum + value, count + 1, Math.min(low, value), Math.max(high, value)];
  }
  const found = count === 0 ? undefined : { mean: sum / count, low, high };
  all.set(label, found);
  return found;
}

/** One replica beside all others over the steps: its own line, the mean of all, and from the least to the largest. */
export function drawCourse(
  frames: readonly ReplicaFrame[],
  quantity: ReturnType<typeof quantityOf>,
  replica: number,
  now: number,
  frame: Frame,
): SvgElement {
  const points = frames.flatMap((each) => {
    const all = spreadOf(each, quantity);
    return all === undefined ? [] : [{ x: each.step + 1, own: quantity.of(each)?.[replica] ?? null, ...all }];
  });
  const { theme } = frame;
  const colour = theme.series[4]!;
  const told = points.map(({ x, own, mean }) => ({
    x,
    y: own ?? mean,
    text: `step ${number(x)}\nreplica ${replica}: ${own === null ? 'not measured' : quantity.text(own)}\nmean of all ${quantity.text(mean)}`,
  }));
  const panel: Plot.PlotOptions = {
    height,
    ...margins,
    x: { label: 'step', ticks: ticksIn(frame.width) - 2 },
    y: { label: quantity.label, grid: true, ticks: 4, tickFormat: quantity.axis },
    marks: [
      Plot.areaY(points, { x: 'x', y1: 'low', y2: 'high', fill: theme.muted, fillOpacity: 0.16 }),
      Plot.lineY(points, { x: 'x', y: 'mean', stroke: theme.muted, strokeWidth: 1.6, strokeDasharray: '4 3' }),
      Plot.lineY(points, { x: 'x', y: 'own', stroke: colour, strokeWidth: 2.2 }),
      Plot.ruleX([now + 1], { stroke: theme.ink, strokeOpacity: 0.35 }),
      ...tips(told, frame, { maxRadius: 80 }, Plot.pointerX),
    ],
  };
  return compose(frame, { panels: [panel] });
}

/** The classes that a replica learns from, in percent of its samples, with the share of each in all of them as a line. */
export function drawShares(own: readonly number[], all: readonly number[], frame: Frame): SvgElement {
  const share = (counts: readonly number[]) => {
    const total = counts.reduce((sum, count) => sum + count, 0) || 1;
    return counts.map((count) => (100 * count) / total);
  };
  const [mine, usual] = [share(own), share(all)];
  const { theme } = frame;
  const classes = own.map((_, c) => c);
  const every = Math.ceil(classes.length / 12);
  const told = classes.map((c) => ({
    x: c,
    y: mine[c]!,
    text: `class ${c}\n${number(own[c]!)} samples: ${number(mine[c]!, 3)} %\nof all: ${number(usual[c]!, 3)} %`,
  }));
  const panel: Plot.PlotOptions = {
    height: height - 26,
    ...margins,
    x: {
      type: 'band',
      label: 'class',
      domain: classes,
      padding: 0.2,
      tickSize: 0,
      ticks: classes.filter((c) => c % every === 0),
    },
    y: { label: 'share of its samples (%)', grid: true, ticks: 4 },
    marks: [
      Plot.barY(classes, { x: (c: number) => c, y: (c: number) => mine[c]!, fill: theme.series[4]!, fillOpacity: 0.8 }),
      Plot.tickY(classes, { x: (c: number) => c, y: (c: number) => usual[c]!, stroke: theme.ink, strokeWidth: 2 }),
      ...tips(told, frame, { maxRadius: 60 }, Plot.pointerX),
    ],
  };
  return compose(frame, { panels: [panel] });
}
