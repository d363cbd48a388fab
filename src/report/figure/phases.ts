import * as Plot from '@observablehq/plot';
import type { RunReport } from '../report.ts';
import { number, short, ticksIn } from './axis.ts';
import { compose } from './compose.ts';
import { tips } from './curve.ts';
import { type Figure, groupsOf, runsOf, type View } from './figure.ts';
import type { Style, Theme } from './theme.ts';

const names = {
  data: 'filling batches',
  compute: 'gradients and local steps',
  mix: 'averaging',
  wait: 'waiting for others',
  probe: 'measuring',
} as const;
type PhaseName = keyof typeof names;
const order = Object.keys(names) as PhaseName[];

const styleOfPhase = (phase: PhaseName, { series }: Theme): Style => ({
  colour: series[[3, 1, 2, 5, 6][order.indexOf(phase)]!]!,
  dash: 'none',
  symbol: 'square',
});

const mean = (values: readonly (number | null)[]) => {
  const there = values.filter((value) => value !== null);
  return there.length === 0 ? 0 : there.reduce((sum, value) => sum + value, 0) / there.length;
};

const measured = (run: RunReport) =>
  run.steps.ms !== undefined && order.some((phase) => run.steps.ms[phase].some((ms) => ms !== null));

/** Milliseconds of one step by phase, mean over the runs of each implementation. */
function barsOf(view: View) {
  return groupsOf(view).flatMap((group) => {
    const runs = group.runs.map((index) => view.report.runs[index]!).filter(measured);
    return runs.length === 0
      ? []
      : order.map((phase) => ({ name: group.name, phase, ms: mean(runs.map((run) => mean(run.steps.ms[phase]))) }));
  });
}

function coursesOf(view: View, name: string) {
  const group = groupsOf(view).find((each) => each.name === name);
  const run = group?.runs.map((index) => view.report.runs[index]!).find(measured);
  return (run?.steps.step ?? []).flatMap((step, i) =>
    order.map((phase) => ({ step: step + 1, phase, ms: run!.steps.ms[phase][i] ?? 0 })),
  );
}

export const phasesFigure: Figure = {
  id: 'phases',
  title: 'What the time of a step goes to',
  caption:
    'Milliseconds of one step by what was done, mean over the workers: of every implementation, or of one over its steps. Waiting is time in which a worker had nothing to do because others were not ready. Evaluation and checkpoints are not part of a step.',
  applies: (view) => runsOf(view).some(measured),
  choices: (view) => [
    {
      id: 'of',
      label: 'Of',
      options: [
        { value: '', label: 'all, mean' },
        ...groupsOf(view).map(({ name }) => ({ value: `name:${name}`, label: `${name} over the steps` })),
      ],
    },
  ],
  draw(view, choices, frame) {
    const legend = order.map((phase) => ({ name: names[phase], style: styleOfPhase(phase, frame.theme) }));
    const fill = ({ phase }: { readonly phase: PhaseName }) => styleOfPhase(phase, frame.theme).colour;
    if (choices.of !== '') {
      const course = coursesOf(view, choices.of!.slice('name:'.length));
      const panel: Plot.PlotOptions = {
        height: 340,
        x: { label: 'step', ticks: ticksIn(frame.width) },
        y: { label: 'ms per step', grid: true, ticks: 6 },
        marks: [Plot.areaY(course, { x: 'step', y: 'ms', z: 'phase', fill, order })],
      };
      return compose(frame, { legend, panels: [panel] });
    }
    const bars = barsOf(view);
    const rows = [...new Set(bars.map(({ name }) => name))];
    const total = (name: string) => bars.reduce((sum, bar) => sum + (bar.name === name ? bar.ms : 0), 0);
    let at = 0;
    const points = bars.map(({ name, phase, ms }, i) => {
      if (bars[i - 1]?.name !== name) at = 0;
      at += ms;
      return { x: at - ms / 2, y: name, text: `${name}\n${names[phase]} ${short(ms)} ms\nof ${short(total(name))} ms` };
    });
    const panel: Plot.PlotOptions = {
      height: 70 + 34 * rows.length,
      marginLeft: Math.min(170, frame.width / 3),
      marginRight: 60,
      x: { label: 'ms per step', grid: true, ticks: ticksIn(frame.width) },
      y: {
        type: 'band',
        label: null,
        domain: rows,
        padding: 0.25,
        tickSize: 0,
        tickFormat: (name: string) => (name.length > 24 ? `${name.slice(0, 23)}…` : name),
      },
      marks: [
        Plot.barX(bars, { x: 'ms', y: 'name', fill, order, z: 'phase' }),
        Plot.text(rows, {
          x: total,
          y: (name: string) => name,
          text: (name: string) => `${number(total(name), 3)} ms`,
          textAnchor: 'start',
          dx: 6,
          fill: frame.theme.muted,
        }),
        ...tips(points as never, frame, { maxRadius: 60 }),
      ],
    };
    return compose(frame, { legend, panels: [panel] });
  },
};
