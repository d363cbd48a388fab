import { number, percent } from './axis.ts';
import { compose } from './compose.ts';
import { type Curve, curveMarks, curveOf, curveTips, epochOf, legendOf, type Point } from './curve.ts';
import { type Figure, groupsOf, type View } from './figure.ts';
import { learningColumns } from './learning.ts';

/** Neighbours per replica at the end of every step, over the epochs. */
function connectionCurves(view: View): Curve[] {
  return groupsOf(view).map((group) =>
    curveOf(view.report, group, (run) => {
      const { step, epoch, connections } = run.steps;
      const at = epochOf(run);
      return { step, x: step.map((done, i) => at(done + 1, epoch[i]!)), y: connections };
    }),
  );
}

export const connections: Figure = {
  id: 'connections',
  title: 'Connections and accuracy over the epochs',
  caption:
    'Above, the mean test accuracy of the local models; below, with how many neighbours k a replica averages in that epoch. Ada starts with many connections, while the replicas differ most, and gives them up later.',
  applies: (view) => view.report.runs.some((run) => run.steps.connections.some((k) => k !== null)),
  choices: () => [],
  draw(view, _, frame) {
    const { report } = view;
    const groups = groupsOf(view);
    const accuracy = groups.map((group) => {
      const curve = curveOf(report, group, (run) => learningColumns(run, 'accuracy', 'epoch', 'local'), 'none');
      const inPercent = (point: Point): Point => ({
        ...point,
        y: 100 * point.y,
        low: 100 * point.low,
        high: 100 * point.high,
      });
      return { ...curve, points: curve.points.map(inPercent) };
    });
    const k = connectionCurves(view);
    const end = Math.max(1, ...[...accuracy, ...k].flatMap(({ points }) => points.map(({ x }) => x)));
    const counts = k.flatMap(({ points }) => points.map(({ y }) => y));
    const log = counts.length > 0 && Math.min(...counts) > 0 && Math.max(...counts) / Math.min(...counts) > 4;
    const x = { domain: [0, end], ticks: frame.width < 520 ? 5 : 9 };
    const said = (what: (y: number) => string) => (point: Point) => `epoch ${number(point.x, 3)}\n${what(point.y)}`;
    const powers = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384];
    return compose(frame, {
      legend: legendOf(report, groups, frame),
      panels: [
        {
          height: 270,
          marginBottom: 24,
          x: { ...x, label: null },
          y: { label: 'test accuracy (%)', grid: true, nice: true, ticks: 6 },
          marks: [
            ...curveMarks(report, accuracy, frame, { dots: true }),
            ...curveTips(
              accuracy.map((curve) => ({ ...curve, tip: said((y) => `test accuracy ${percent(y / 100)}`) })),
              frame,
            ),
          ],
        },
        {
          height: 190,
          x: { ...x, label: 'epoch' },
          y: {
            label: 'connections k (neighbours a replica)',
            grid: true,
            type: log ? 'log' : 'linear',
            ...(log
              ? {
                  base: 2,
                  tickFormat: (value: number) => number(value),
                  ticks: powers.filter((p) => p >= Math.min(...counts) && p <= Math.max(...counts)),
                }
              : { zero: true, ticks: 5 }),
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
