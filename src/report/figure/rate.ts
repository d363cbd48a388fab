import * as Plot from '@observablehq/plot';
import type { RunReport } from '../report.ts';
import { number } from './axis.ts';
import type { Frame } from './compose.ts';
import { runsOf, type View } from './figure.ts';

/** Where the learning rate changes abruptly, or ends its warm-up. */
export interface Milestone {
  readonly epoch: number;
  readonly label: string;
}

function milestonesOf({ experiment: { learningRate, epochs } }: RunReport): Milestone[] {
  const { warmup, schedule } = learningRate;
  const drops =
    schedule.kind === 'multi-step'
      ? schedule.epochs.map((epoch) => ({ epoch, label: `learning rate × ${number(schedule.factor, 2)}` }))
      : [];
  return [...(warmup > 0 ? [{ epoch: warmup, label: 'warm-up ends' }] : []), ...drops].filter(
    ({ epoch }) => epoch < epochs,
  );
}

/** Those that all implementations looked at have in common. */
export function milestones(view: View): readonly Milestone[] {
  const [first, ...others] = runsOf(view).map(milestonesOf);
  return (first ?? []).filter((milestone) =>
    others.every((other) => other.some(({ epoch, label }) => epoch === milestone.epoch && label === milestone.label)),
  );
}

/** Of a run that came to the end of its first epoch. */
function stepsPerEpoch(view: View): number | undefined {
  const { step, epoch } = runsOf(view)[0]!.steps;
  const done = epoch.at(-1) ?? 0;
  return done > 0 ? (step.at(-1)! + 1) / done : undefined;
}

/** Dashed lines at the milestones of the learning rate, which explain many a bend. */
export function rateMarks(view: View, frame: Frame, axis: 'epoch' | 'step', facet: object = {}): Plot.Markish[] {
  const scale = axis === 'epoch' ? 1 : stepsPerEpoch(view);
  if (scale === undefined) return [];
  const marks = milestones(view).map(({ epoch, label }) => ({ x: epoch * scale, label }));
  const { muted, background } = frame.theme;
  return [
    Plot.ruleX(marks, { x: 'x', stroke: muted, strokeOpacity: 0.55, strokeDasharray: '3 3', clip: true, ...facet }),
    Plot.text(marks, {
      x: 'x',
      text: 'label',
      frameAnchor: 'bottom',
      textAnchor: 'start',
      dx: 4,
      dy: -5,
      fontSize: 10.5,
      fill: muted,
      stroke: background,
      strokeWidth: 3,
      ...facet,
    }),
  ];
}
