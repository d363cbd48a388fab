import * as Plot from '@observablehq/plot';
import type { Dispersion } from '../../base/statistics.ts';
import { extent, logAxis, number, short, tick, ticksIn } from './axis.ts';
import { compose } from './compose.ts';
import { type Curve, type CurvePoint, curveMarks, curveOf, curveTips, legendOf, positive } from './curve.ts';
import { type Choice, type Figure, groupsOf, runsOf, styleOf, type View } from './figure.ts';
import { rateMarks } from './rate.ts';

export type Statistic = keyof Dispersion;

export const statistics: Readonly<Record<Statistic, string>> = {
  gini: 'Gini coefficient',
  coefficientOfVariation: 'coefficient of variation',
  indexOfDispersion: 'index of dispersion',
  quartileCoefficient: 'quartile coefficient',
};

export const statisticChoice: Choice = {
  id: 'statistic',
  label: 'Statistic',
  options: Object.entries(statistics).map(([value, label]) => ({ value, label })),
};

export const hasNorms = (view: View) => runsOf(view).some((run) => run.variance.step.length > 0);

/** The tensors of the runs looked at; implementations may differ in them. */
export function tensorNames(view: View): readonly string[] {
  return [...new Set(runsOf(view).flatMap(({ tensors }) => tensors.map(({ name }) => name)))];
}

const meanOfAll = 'mean over the tensors';

export const variance: Figure = {
  id: 'variance',
  title: 'Variance over the steps',
  caption:
    'How unequal the replicas’ norms of a parameter tensor are, measured after the local step and before averaging: 0 if all are equal. The symbol marks each line’s largest value; the shaded part is the first fifth of the steps. The band runs over the seeds. The mean over the tensors counts all alike: in the first steps tensors that start at 0 differ most for their size and make up most of it, so look at single tensors before you read much into an early peak.',
  applies: hasNorms,
  choices: (view) => [
    statisticChoice,
    {
      id: 'tensor',
      label: 'Tensor',
      options: [
        { value: 'mean', label: meanOfAll },
        ...tensorNames(view).map((name) => ({ value: `tensor:${name}`, label: name })),
      ],
    },
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
    const statistic = choices.statistic as Statistic;
    const log = choices.scale === 'log';
    const tensor = choices.tensor === 'mean' ? undefined : choices.tensor!.slice('tensor:'.length);
    const whole = groups.map((group) =>
      curveOf(report, group, ({ variance, tensors }) => {
        const at = tensors.findIndex(({ name }) => name === tensor);
        const y = tensor === undefined ? variance.mean[statistic] : variance.tensors[statistic][at];
        return y === undefined ? undefined : { step: variance.step, x: variance.step.map((step) => step + 1), y };
      }),
    );
    const curves: Curve[] = log ? whole.map(positive) : whole;
    const all = curves.flatMap(({ points }) => points);
    const [, end = 1] = extent(all.map(({ x }) => x)) ?? [];
    const peaks = curves.flatMap(({ name, points }) =>
      points.length === 0 ? [] : [{ name, ...points.reduce((a, b) => (b.y > a.y ? b : a)) }],
    );
    const equal = (name: string) => whole.find((curve) => curve.name === name)!.points.every(({ y }) => y === 0);
    const tip = (point: CurvePoint) => `step ${number(point.x)}\n${statistics[statistic]} ${short(point.y)}`;
    const ys = all.map(({ y }) => y);
    return compose(frame, {
      legend: legendOf(report, groups, frame, ({ name }) => (equal(name) ? '0 throughout' : undefined)),
      panels: [
        {
          height: 360,
          x: { label: 'step', domain: [0, end], ticks: ticksIn(frame.width) },
          y: {
            label: `${statistics[statistic]}, ${tensor ?? meanOfAll}`,
            grid: true,
            tickFormat: tick,
            ...(log ? logAxis(ys) : { zero: true, ticks: 7 }),
          },
          marks: [
            ...(ys.length === 0 ? [] : [Plot.rect([0], { x1: 0, x2: end / 5, fill: frame.theme.shade })]),
            ...rateMarks(view, frame, 'step'),
            ...curveMarks(report, curves, frame, { width: 1.6 }),
            ...peaks.map((peak) => {
              const style = styleOf(report, peak.name, frame.theme);
              return Plot.dot([peak], {
                x: 'x',
                y: 'y',
                r: 4.5,
                symbol: style.symbol,
                fill: style.colour,
                stroke: frame.theme.background,
              });
            }),
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
