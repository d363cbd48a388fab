import type * as Plot from '@observablehq/plot';
import type { RunReport } from '../report.ts';
import { bytes, logAxis, number, percent, seconds, short, ticksIn } from './axis.ts';
import { compose } from './compose.ts';
import {
  type Curve,
  type CurveColumns,
  type CurvePoint,
  type CurveSpread,
  curveMarks,
  curveOf,
  curveTips,
  inPercent,
  lateDomain,
  legendOf,
} from './curve.ts';
import { type Figure, groupsOf, runsOf, type View } from './figure.ts';
import { rateMarks } from './rate.ts';

type Axis = 'epoch' | 'step' | 'bytes' | 'seconds' | 'virtual';
/** The error is √ of the loss, where that is a mean squared error: as the tables tell it. */
type Quantity = 'accuracy' | 'error' | 'loss';

const rooted = (column: CurveColumns['y']) => column.map((value) => (value === null ? null : Math.sqrt(value)));
const predictsNumbers = (view: View) => groupsOf(view).some(({ error }) => error !== null);

const axes: Readonly<Record<Axis, { label: string; text: (value: number) => string }>> = {
  epoch: { label: 'epoch', text: (value) => `epoch ${number(value, 3)}` },
  step: { label: 'step', text: (value) => `step ${number(Math.round(value))}` },
  bytes: { label: 'bytes sent by one replica', text: (value) => `${bytes(value)} sent by one replica` },
  virtual: { label: 'virtual time (s)', text: (value) => `${seconds(value)} of virtual time` },
  seconds: { label: 'seconds of training', text: (value) => `${seconds(value)} of training` },
};

/** Of test data at every evaluation, or of the replicas' own batches at every step. */
export function learningColumns(run: RunReport, quantity: Quantity, axis: Axis, of: string): CurveColumns {
  if (quantity === 'error') {
    const { y, low, high, ...rest } = learningColumns(run, 'loss', axis, of);
    return { ...rest, y: rooted(y), low: low && rooted(low), high: high && rooted(high) };
  }
  if (of === 'training') {
    const { steps } = run;
    const done = steps.step.map((step) => step + 1);
    const x = {
      epoch: steps.epoch,
      step: done,
      bytes: steps.sentBytes,
      seconds: steps.seconds,
      virtual: steps.virtualSeconds,
    };
    return { step: done, x: x[axis], y: steps[quantity].mean, low: steps[quantity].min, high: steps[quantity].max };
  }
  const { evaluations } = run;
  const x = {
    epoch: evaluations.epoch,
    step: evaluations.step,
    bytes: evaluations.sentBytes,
    seconds: evaluations.seconds,
    virtual: evaluations.virtualSeconds,
  };
  const band = evaluations[quantity];
  if (of === 'merged')
    return {
      step: evaluations.step,
      x: x[axis],
      y: quantity === 'accuracy' ? evaluations.mergedAccuracy : evaluations.mergedLoss,
    };
  return { step: evaluations.step, x: x[axis], y: band.mean, low: band.min, high: band.max };
}

const has = (view: View, of: string, quantity: Quantity) =>
  runsOf(view).some((run) => learningColumns(run, quantity, 'step', of).y.some((value) => value !== null));

const facets = { local: 'mean of the local models', merged: 'merged model' };

export const learning: Figure = {
  id: 'learning',
  title: 'Learning curves',
  caption:
    'How well the replicas do as training goes on: accuracy and loss, or the error √loss where numbers are predicted. A line is the mean over replicas and seeds; the band runs from the least to the largest over the replicas, or over the seeds. The merged model is the average of all replicas’ parameters. Training time is without evaluation. The axis spans what the second half of training needs; a line that comes from outside began there.',
  wide: true,
  applies: (view) => has(view, 'local', 'loss') || has(view, 'training', 'loss'),
  choices(view) {
    const tested = has(view, 'local', 'loss');
    const merged = has(view, 'merged', 'loss');
    const accurate = has(view, 'local', 'accuracy') || has(view, 'training', 'accuracy');
    const timed = runsOf(view).some(({ summary }) => summary.virtualSeconds !== null);
    const seeds = groupsOf(view).some((group) => group.runs.length > 1);
    const options = (rows: readonly (readonly [string, string, boolean?])[]) =>
      rows.filter(([, , shown = true]) => shown).map(([value, label]) => ({ value, label }));
    return [
      {
        id: 'quantity',
        label: 'Quantity',
        each: true,
        options: options([
          ['accuracy', 'accuracy', accurate],
          ['error', 'error', predictsNumbers(view)],
          ['loss', 'loss'],
        ]),
      },
      {
        id: 'axis',
        label: 'Against',
        options: options([
          ['epoch', 'epochs'],
          ['step', 'steps'],
          ['bytes', 'bytes'],
          ['seconds', 'seconds'],
          ['virtual', 'virtual time', timed],
        ]),
      },
      {
        id: 'of',
        label: 'Of',
        options: options([
          ['local', 'local models', tested],
          ['merged', 'merged model', merged],
          ['both', 'both', tested && merged],
          ['training', 'training batches', has(view, 'training', 'loss')],
        ]),
      },
      {
        id: 'band',
        label: 'Band over',
        options: options([
          ['seeds', 'seeds', seeds],
          ['replicas', 'replicas'],
          ['none', 'nothing'],
        ]),
      },
      {
        id: 'range',
        label: 'Range',
        options: options([
          ['late', 'of the second half'],
          ['all', 'of all'],
        ]),
      },
    ];
  },
  draw(view, choices, frame) {
    const { report } = view;
    const groups = groupsOf(view);
    const quantity = choices.quantity as Quantity;
    const axis = choices.axis as Axis;
    const accuracy = quantity === 'accuracy';
    const shown = choices.of === 'both' ? ['local', 'merged'] : [choices.of!];
    const curvesOf = (of: string): Curve[] =>
      groups.map((group) => {
        const curve = curveOf(
          report,
          group,
          (run) => learningColumns(run, quantity, axis, of),
          choices.band as CurveSpread,
        );
        return accuracy ? inPercent(curve) : curve;
      });
    const value = (y: number) => (accuracy ? percent(y / 100) : short(y));
    const tip = (of: string) => (point: CurvePoint) =>
      [
        axes[axis].text(point.x),
        `${of === 'training' ? 'training' : 'test'} ${quantity}${of === 'merged' ? ', merged' : ''} ${value(point.y)}`,
        ...(point.high > point.low ? [`${choices.band} ${value(point.low)} to ${value(point.high)}`] : []),
        ...(point.runs > 1 ? [`${point.runs} seeds`] : []),
      ].join('\n');
    // Side by side if there is room for two.
    const side = frame.width >= 640 ? 'fx' : 'fy';
    const both = shown.length > 1;
    const layers = shown.map((of) => {
      const facet = both ? { [side]: facets[of as keyof typeof facets] } : {};
      return { of, curves: curvesOf(of), facet };
    });
    // Runs that went astray must not decide the axis of those that did not.
    const complete = groups.filter((group) => group.complete > 0).map(({ name }) => name);
    const counted = layers.flatMap(({ curves }) =>
      curves.filter(({ name }) => complete.length === 0 || complete.includes(name)),
    );
    const domain = choices.range === 'late' ? lateDomain(counted) : undefined;
    const marks = layers.flatMap(({ of, curves, facet }) =>
      curveMarks(report, curves, frame, {
        domain,
        dots: of !== 'training',
        width: of === 'training' ? 1.5 : 2,
        facet: both ? { [side]: () => facet[side]! } : {},
      }),
    );
    const tipped = layers.flatMap(({ of, curves, facet }) =>
      curves.map((curve) => ({ ...curve, tip: tip(of), facet })),
    );
    const xs = layers
      .flatMap(({ curves }) => curves.flatMap(({ points }) => points.map(({ x }) => x)))
      .filter((x) => x > 0);
    const panel: Plot.PlotOptions = {
      height: both && side === 'fy' ? 520 : 360,
      ...(both ? { [side]: { label: null, domain: Object.values(facets), padding: 0.08 } } : {}),
      ...(both && side === 'fy' ? { marginRight: 30 } : {}),
      x: {
        label: axes[axis].label,
        ticks: ticksIn(frame.width),
        zero: axis !== 'bytes',
        ...(axis === 'bytes' ? { ...logAxis(xs), tickFormat: bytes } : {}),
      },
      y: {
        label: `${choices.of === 'training' ? 'training' : 'test'} ${quantity}${accuracy ? ' (%)' : ''}`,
        grid: true,
        nice: true,
        ticks: 7,
        inset: 4,
        ...(domain === undefined ? {} : { domain }),
      },
      marks: [
        ...(axis === 'epoch' || axis === 'step' ? rateMarks(view, frame, axis) : []),
        ...marks,
        ...curveTips(tipped, frame),
      ],
    };
    return compose(frame, { legend: legendOf(report, groups, frame), panels: [panel] });
  },
};
