import * as Plot from '@observablehq/plot';
import { bytes, logAxis, seconds } from './axis.ts';
import { type Dot, dotsOf, scatter } from './correlation.ts';
import type { Figure, View } from './figure.ts';

const costs = {
  bytes: { label: 'bytes sent by one replica', text: (x: number) => `${bytes(x)} sent by one replica`, tick: bytes },
  seconds: { label: 'time of training', text: (x: number) => `${seconds(x)} of training`, tick: seconds },
};
type Cost = keyof typeof costs;

function dotsAt(view: View, cost: Cost): Dot[] {
  const { groups } = view.report;
  return dotsOf(view, (group) => (cost === 'bytes' ? groups[group]!.sentBytes : groups[group]!.seconds)?.mean).filter(
    ({ x }) => x > 0,
  );
}

/** Those that no other beats in both, cost and accuracy: the cheapest first. */
export function frontOf<T extends Pick<Dot, 'x' | 'y'>>(dots: readonly T[]): T[] {
  let best = Number.NEGATIVE_INFINITY;
  return dots
    .toSorted((a, b) => a.x - b.x || b.y - a.y)
    .filter(({ y }) => {
      const better = y > best;
      best = Math.max(best, y);
      return better;
    });
}

export const front: Figure = {
  id: 'accuracy-cost',
  title: 'Accuracy against bytes',
  caption:
    'What accuracy costs: final test accuracy of the local models against what a replica sends over the run, or the time of training. The dashed line joins the Pareto front, filled: by their means nobody else is cheaper and at least as accurate. Bars are 95 % intervals over the seeds, small dots single seeds; if bars overlap, the front may be another.',
  applies: (view) => dotsAt(view, 'bytes').length > 1,
  choices: () => [
    {
      id: 'cost',
      label: 'Against',
      options: [
        { value: 'bytes', label: 'bytes' },
        { value: 'seconds', label: 'seconds' },
      ],
    },
  ],
  draw(view, choices, frame) {
    const cost = choices.cost as Cost;
    const dots = dotsAt(view, cost);
    const marked = frontOf(dots);
    const line = { stroke: frame.theme.muted, strokeWidth: 1.2, strokeDasharray: '4 4' };
    const behind = [Plot.lineY(marked, { x: 'x', y: 'y', curve: 'step-after', ...line })];
    const { label, text, tick } = costs[cost];
    const scale = { ...logAxis(dots.map(({ x }) => x)), label, tickFormat: tick, text };
    return scatter(view, frame, dots, '', scale, { marked, behind });
  },
};
