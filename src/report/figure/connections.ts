import { countAxis, extent, number, percent, short, ticksIn } from './axis.ts';
import { compose } from './compose.ts';
import {
  type Curve,
  type CurvePoint,
  curveMarks,
  curveOf,
  curveTips,
  inPercent,
  lateDomain,
  legendOf,
} from './curve.ts';
import { type Figure, groupsOf, runsOf, type View } from './figure.ts';
import { learningColumns } from './learning.ts';
import { rateMarks } from './rate.ts';

/** Neighbours per replica over the epochs, from the beginning of the first. */
function connectionCurves(view: View): Curve[] {
  return groupsOf(view).map((group) => {
    const { name, points } = curveOf(view.report, group, ({ steps }) => ({
      step: steps.step,
      x: steps.epoch,
      y: steps.connections,
    }));
    return { name, points: [...points.slice(0, 1).map((point) => ({ ...point, x: 0 })), ...points] };
  });
}

export const connections: Figure = {
  id: 'connections',
  title: 'Connections over the epochs',
  caption:
    'Above, the mean test accuracy of the local models (where numbers are predicted, their error); below, with how many neighbours k a replica averages in that epoch. Ada starts with many connections, while the replicas differ most, and gives them up later. Under consensus control each gossip of a step counts.',
  applies: (view) => runsOf(view).some((run) => run.steps.connections.some((k) => k !== null)),
  choices: () => [],
  draw(view, _, frame) {
    const { report } = view;
    const groups = groupsOf(view);
    // Where numbers are predicted there is no accuracy.
    const accurate = groups.some((group) => group.accuracy !== null || group.error === null);
    const quantity = accurate ? 'accuracy' : 'error';
    const accuracy = groups.map((group) => {
      const curve = curveOf(report, group, (run) => learningColumns(run, quantity, 'epoch', 'local'), 'none');
      return accurate ? inPercent(curve) : curve;
    });
    const domain = accurate ? lateDomain(accuracy) : undefined;
    const value = (y: number) => (accurate ? percent(y / 100) : short(y));
    const k = connectionCurves(view);
    const [, end = 1] = extent([...accuracy, ...k].flatMap(({ points }) => points.map(({ x }) => x))) ?? [];
    const x = { domain: [0, end], ticks: ticksIn(frame.width) };
    const said = (what: (y: number) => string) => (point: CurvePoint) =>
      `epoch ${number(point.x, 3)}\n${what(point.y)}`;
    return compose(frame, {
      legend: legendOf(report, groups, frame),
      panels: [
        {
          height: 270,
          marginBottom: 24,
          x: { ...x, label: null },
          y: {
            label: accurate ? 'test accuracy (%)' : 'test error',
            grid: true,
            nice: true,
            ticks: 6,
            inset: 4,
            ...(domain && { domain }),
          },
          marks: [
            ...rateMarks(view, frame, 'epoch'),
            ...curveMarks(report, accuracy, frame, { dots: true, domain }),
            ...curveTips(
              accuracy.map((curve) => ({ ...curve, tip: said((y) => `test ${quantity} ${value(y)}`) })),
              frame,
            ),
          ],
        },
        {
          height: 190,
          x: { ...x, label: 'epoch' },
          y: {
            label: 'connections k (neighbours per replica)',
            grid: true,
            ...countAxis(k.flatMap(({ points }) => points.map(({ y }) => y))),
            inset: 3,
          },
          marks: [
            ...curveMarks(report, k, frame, { line: 'step-before' }),
            ...curveTips(
              k.map((curve) => ({ ...curve, tip: said((y) => `${number(y, 3)} connections`) })),
              frame,
            ),
          ],
        },
      ],
    });
  },
};
