import * as Plot from '@observablehq/plot';
import { extent, logAxis, number, short, tick, ticksIn } from './axis.ts';
import { compose } from './compose.ts';
import { type Curve, type CurvePoint, curveMarks, curveOf, curveTips, legendOf, positive } from './curve.ts';
import { type Figure, groupsOf, runsOf, styleOf, type View } from './figure.ts';
import { rateMarks } from './rate.ts';

type Column = 'distance' | 'controlledDistance' | 'targetDistance';

function curvesOf(view: View, column: Column): Curve[] {
  return groupsOf(view).map((group) =>
    curveOf(view.report, group, ({ steps }) => ({
      step: steps.step,
      x: steps.step.map((step) => step + 1),
      y: steps[column],
    })),
  );
}

/** More would run into each other. */
const mostCrosses = 40;

export const distance: Figure = {
  id: 'distance',
  title: 'Consensus distance Ξ',
  caption:
    'How far the replicas are from their average, after the local step and before averaging. Where consensus is controlled, the thin line is Ξ after the last gossip, and the crosses the distance it was held against: the target, or the critical distance that was estimated. The band runs over the seeds.',
  applies: (view) => runsOf(view).some(({ steps }) => steps.distance.some((value) => value !== null && value > 0)),
  choices: () => [
    {
      id: 'scale',
      label: 'Scale',
      options: [
        { value: 'log', label: 'logarithmic' },
        { value: 'linear', label: 'linear' },
      ],
    },
  ],
  draw(view, choices, frame) {
    const { report } = view;
    const groups = groupsOf(view);
    const log = choices.scale === 'log';
    const fitted = (curves: readonly Curve[]) => (log ? curves.map(positive) : curves);
    const whole = curvesOf(view, 'distance');
    const curves = fitted(whole);
    const controlled = fitted(curvesOf(view, 'controlledDistance')).filter(({ points }) => points.length > 0);
    const targets = fitted(curvesOf(view, 'targetDistance')).filter(({ points }) => points.length > 0);
    const all = [...curves, ...controlled, ...targets].flatMap(({ points }) => points);
    const [, end = 1] = extent(all.map(({ x }) => x)) ?? [];
    const equal = (name: string) => {
      const { points } = whole.find((curve) => curve.name === name)!;
      return points.length > 0 && points.every(({ y }) => y === 0);
    };
    const tip = (what: string) => (point: CurvePoint) => `step ${number(point.x)}\n${what} ${short(point.y)}`;
    return compose(frame, {
      legend: legendOf(report, groups, frame, ({ name }) => (equal(name) ? '0 throughout' : undefined)),
      panels: [
        {
          height: 360,
          x: { label: 'step', domain: [0, end], ticks: ticksIn(frame.width) },
          y: {
            label: 'consensus distance Ξ',
            grid: true,
            tickFormat: tick,
            ...(log ? logAxis(all.map(({ y }) => y)) : { zero: true, ticks: 7 }),
          },
          marks: [
            ...rateMarks(view, frame, 'step'),
            ...curveMarks(report, curves, frame, { width: 1.8 }),
            ...curveMarks(report, controlled, frame, { width: 0.8 }),
            ...targets.map(({ name, points }) =>
              Plot.dot(
                points.filter((_, i) => i % Math.ceil(points.length / mostCrosses) === 0),
                {
                  x: 'x',
                  y: 'y',
                  symbol: 'times',
                  r: 2.4,
                  stroke: styleOf(report, name, frame.theme).colour,
                  strokeWidth: 1.2,
                },
              ),
            ),
            ...curveTips(
              [
                ...curves.map((curve) => ({ ...curve, tip: tip('Ξ') })),
                ...controlled.map((curve) => ({ ...curve, tip: tip('Ξ after the last gossip') })),
                ...targets.map((curve) => ({ ...curve, tip: tip('target') })),
              ],
              frame,
            ),
          ],
        },
      ],
    });
  },
};
