import type * as Plot from '@observablehq/plot';
import { extent, logAxis, number, short, tick, ticksIn } from './axis.ts';
import { compose } from './compose.ts';
import { type Curve, curveMarks, curveOf, curveTips, legendOf, positive } from './curve.ts';
import { type Figure, groupsOf, runsOf, type View } from './figure.ts';
import { rateMarks } from './rate.ts';

const signals = {
  period: { label: 'steps between averages H', text: 'H' },
  harm: { label: 'harm of disagreement q', text: 'q' },
  estimatedDistance: { label: 'estimated distance Ξ̂, threshold Θ thin', text: 'Ξ̂' },
  threshold: { label: '', text: 'Θ' },
} as const;
type Signal = keyof typeof signals;

function curvesOf(view: View, signal: Signal): Curve[] {
  const curves = groupsOf(view).map((group) =>
    curveOf(view.report, group, ({ steps }) => ({
      step: steps.step,
      x: steps.step.map((step) => step + 1),
      y: steps[signal],
    })),
  );
  return curves.map(positive).filter(({ points }) => points.length > 0);
}

/** What methods that decide by themselves when to average see and do. */
export const loop: Figure = {
  id: 'loop',
  title: 'When to average: the closed loop',
  caption:
    'Methods that decide by themselves when all replicas average. Above: the steps between two averages. Below: the harm that disagreement was measured to do to the mean gradient, which is held at a target, and the estimated distance with the threshold at which replicas average. The band runs over the seeds.',
  applies: (view) => runsOf(view).some(({ steps }) => steps.period.some((value) => value !== null)),
  choices: () => [],
  draw(view, _, frame) {
    const { report } = view;
    const panelOf = (drawn: Signal, thin?: Signal): Plot.PlotOptions => {
      const [curves, others] = [curvesOf(view, drawn), thin === undefined ? [] : curvesOf(view, thin)];
      const all = [...curves, ...others].flatMap(({ points }) => points);
      const [, end = 1] = extent(all.map(({ x }) => x)) ?? [];
      const told = (signal: Signal) => (curve: Curve) => ({
        ...curve,
        tip: ({ x, y }: { x: number; y: number }) => `step ${number(x)}\n${signals[signal].text} ${short(y)}`,
      });
      return {
        height: 220,
        x: { label: 'step', domain: [0, end], ticks: ticksIn(frame.width) },
        y: { label: signals[drawn].label, grid: true, tickFormat: tick, ...logAxis(all.map(({ y }) => y)) },
        marks: [
          ...rateMarks(view, frame, 'step'),
          ...curveMarks(report, curves, frame, { width: 1.8 }),
          ...curveMarks(report, others, frame, { width: 0.8 }),
          ...curveTips([...curves.map(told(drawn)), ...(thin === undefined ? [] : others.map(told(thin)))], frame),
        ],
      };
    };
    const measured = curvesOf(view, 'harm').length > 0;
    const shown = groupsOf(view).filter(({ name }) => curvesOf(view, 'period').some((curve) => curve.name === name));
    return compose(frame, {
      legend: legendOf(report, shown, frame),
      panels: [panelOf('period'), ...(measured ? [panelOf('harm')] : []), panelOf('estimatedDistance', 'threshold')],
    });
  },
};
