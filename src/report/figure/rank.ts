import { number } from './axis.ts';
import { compose } from './compose.ts';
import { type Curve, curveMarks, curveTips, legendOf } from './curve.ts';
import { comparisonOf, type Figure } from './figure.ts';

export const rank: Figure = {
  id: 'rank',
  title: 'Variance ranks',
  caption:
    'The implementations ranked by the Gini coefficient of every tensor at every step, and the mean of these ranks in each epoch: 1 has the least variance between its replicas. Centralized training is not ranked, its replicas are equal.',
  applies: (view) => comparisonOf(view).rank.epoch.length > 0,
  choices: () => [],
  draw(view, _, frame) {
    const { report, hidden } = view;
    const { ranked, rank } = comparisonOf(view);
    const shown = ranked
      .map((index, at) => ({ group: report.groups[index]!, at }))
      .filter(({ group }) => !hidden.has(group.name));
    const curves = shown.map(({ group, at }): Curve => {
      const points = rank.byEpoch[at]!.flatMap((y, i) => {
        const x = rank.epoch[i]!;
        return y === null ? [] : [{ step: i, x, y, low: y, high: y, runs: group.runs.length }];
      });
      return { name: group.name, points };
    });
    return compose(frame, {
      legend: legendOf(
        report,
        shown.map(({ group }) => group),
        frame,
      ),
      panels: [
        {
          height: 320,
          x: {
            label: 'epoch',
            ticks: rank.epoch.length <= 12 ? rank.epoch : 9,
            tickFormat: (value: number) => number(value),
            inset: 8,
          },
          y: {
            label: 'mean rank by Gini (1: least variance)',
            grid: true,
            domain: [1, ranked.length],
            ticks: ranked.map((_, i) => i + 1),
            tickFormat: (value: number) => number(value),
            inset: 6,
          },
          marks: [
            ...curveMarks(report, curves, frame, { dots: true }),
            ...curveTips(
              curves.map((curve) => ({
                ...curve,
                tip: ({ x, y }) => `epoch ${number(x)}\nmean rank ${y.toFixed(2)} of ${ranked.length}`,
              })),
              frame,
            ),
          ],
        },
      ],
    });
  },
};
