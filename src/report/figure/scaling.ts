import * as Plot from '@observablehq/plot';
import { extent, number, percent, signed } from './axis.ts';
import { compose } from './compose.ts';
import { type Curve, type CurvePoint, curveMarks, curveTips } from './curve.ts';
import { type Figure, scales, styleOf } from './figure.ts';

export const scaling: Figure = {
  id: 'scaling',
  title: 'Accuracy over scale',
  caption:
    'Final test accuracy of the local models of each implementation at every scale. Bars are 95 % intervals over the seeds. The samples are dealt to all replicas, so that more replicas take fewer steps per epoch.',
  whole: true,
  applies: ({ report }) =>
    report.scaling.some(({ replicas, accuracy }) => replicas.length > 1 && accuracy.some((value) => value !== null)),
  choices: () => [],
  draw({ report, hidden }, _, frame) {
    const rows = report.scaling.filter(({ name }) => !hidden.has(name));
    // Beside each other, so that no bar hides another.
    const [least, most] = extent(scales(report))!;
    const aside = (row: number) => (most / least) ** (0.012 * (row - (rows.length - 1) / 2));
    const curves = rows.map(({ name, replicas, accuracy }, row): Curve => {
      const points = accuracy.flatMap((estimate, i): CurvePoint[] => {
        if (estimate === null) return [];
        const [y, half] = [100 * estimate.mean, 100 * (estimate.half ?? 0)];
        return [
          { step: replicas[i]!, x: replicas[i]! * aside(row), y, low: y - half, high: y + half, runs: estimate.seeds },
        ];
      });
      return { name, points };
    });
    const bars = curves.flatMap(({ name, points }) => {
      const stroke = styleOf(report, name, frame.theme).colour;
      const known = points
        .filter(({ low, high }) => high > low)
        .map((point) => ({ ...point, low: Math.max(0, point.low), high: Math.min(100, point.high) }));
      return [
        Plot.link(known, { x1: 'x', x2: 'x', y1: 'low', y2: 'high', stroke, strokeWidth: 2, strokeOpacity: 0.55 }),
      ];
    });
    // The bars say it: bands would add nothing.
    const lines = curves.map((curve) => ({
      ...curve,
      points: curve.points.map((point) => ({ ...point, low: point.y, high: point.y })),
    }));
    const tip = ({ step, y, low, high, runs }: CurvePoint) =>
      `${number(step)} replicas\ntest accuracy ${percent(y / 100)}${high > low ? ` ± ${((high - low) / 2).toFixed(2)}` : ''}${runs > 1 ? `\n${runs} seeds` : ''}`;
    return compose(frame, {
      legend: rows.map(({ name, correlation: { rho } }) => ({
        name,
        style: styleOf(report, name, frame.theme),
        remark: rho === null ? undefined : `ρ = ${signed(rho)}`,
      })),
      panels: [
        {
          height: 340,
          x: {
            label: 'replicas n',
            type: 'log',
            base: 2,
            ticks: [...scales(report)],
            tickFormat: (value: number) => number(value),
            inset: 14,
          },
          y: { label: 'final test accuracy (%)', grid: true, nice: true, ticks: 7, inset: 6 },
          marks: [
            ...bars,
            ...curveMarks(report, lines, frame, { dots: true }),
            ...curveTips(
              curves.map((curve) => ({ ...curve, tip })),
              frame,
            ),
          ],
        },
      ],
    });
  },
};
