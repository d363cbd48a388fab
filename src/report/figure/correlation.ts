import * as Plot from '@observablehq/plot';
import type { Correlation } from '../report.ts';
import { countAxis, number, percent, signed } from './axis.ts';
import { compose, type Frame, type SvgElement } from './compose.ts';
import { legendOf, tips } from './curve.ts';
import { comparisonOf, type Figure, groupsOf, styleOf, type View } from './figure.ts';

/** ρ and p as a sentence. */
export function said({ rho, p, points }: Correlation): string {
  if (rho === null) return `Spearman’s ρ cannot be told: it takes three decentralized implementations that differ`;
  const chance = p === null ? '' : `, p ${p < 0.001 ? '< 0.001' : `= ${number(p, 2)}`}`;
  return `Spearman’s ρ = ${signed(rho)}${chance}, over ${points} decentralized implementations`;
}

export interface Dot {
  readonly name: string;
  readonly x: number;
  /** Of the group, in percent, with half of the interval over the seeds. */
  readonly y: number;
  readonly half: number;
  /** Of each of its runs. */
  readonly runs: readonly number[];
}

/** Of the groups that are looked at and came to their end. */
export function dotsOf(view: View, xOf: (group: number) => number | null | undefined): Dot[] {
  const { report } = view;
  return groupsOf(view).flatMap((group) => {
    if (group.complete === 0) return [];
    const x = xOf(report.groups.indexOf(group));
    if (x == null || group.accuracy === null) return [];
    const { mean, half } = group.accuracy;
    const runs = group.runs.flatMap((index) => {
      const { accuracy } = report.runs[index]!.summary;
      return accuracy === null ? [] : [100 * accuracy.mean];
    });
    return [{ name: group.name, x, y: 100 * mean, half: 100 * (half ?? 0), runs }];
  });
}

/** One dot per implementation with its interval over the seeds; those in `marked` are filled, and `behind` is drawn below all. */
export function scatter(
  view: View,
  frame: Frame,
  dots: readonly Dot[],
  statement: string,
  x: Plot.ScaleOptions & { readonly text: (x: number) => string },
  { marked = [], behind = [] }: { readonly marked?: readonly Dot[]; readonly behind?: readonly Plot.Markish[] } = {},
): SvgElement {
  const { text, ...scale } = x;
  const groups = groupsOf(view).filter(({ name }) => dots.some((dot) => dot.name === name));
  const marks = dots.flatMap((dot) => {
    const { colour, symbol } = styleOf(view.report, dot.name, frame.theme);
    // Those at one place stand beside each other, so that no bar hides another.
    const same = dots.filter(({ x }) => x === dot.x);
    const dx = 10 * (same.indexOf(dot) - (same.length - 1) / 2);
    return [
      Plot.link(dot.half > 0 ? [dot] : [], {
        dx,
        x1: 'x',
        x2: 'x',
        y1: Math.max(0, dot.y - dot.half),
        y2: Math.min(100, dot.y + dot.half),
        stroke: colour,
        strokeWidth: 2,
        strokeOpacity: 0.6,
      }),
      Plot.dot(dot.runs.length > 1 ? dot.runs : [], {
        dx,
        x: dot.x,
        y: Plot.identity,
        r: 2,
        fill: colour,
        fillOpacity: 0.55,
      }),
      Plot.dot([dot], {
        dx,
        x: 'x',
        y: 'y',
        r: 6,
        symbol,
        fill: marked.includes(dot) ? colour : frame.theme.background,
        fillOpacity: marked.includes(dot) ? 1 : 0.6,
        stroke: colour,
        strokeWidth: 2.2,
      }),
    ];
  });
  const points = dots.map((dot) => ({
    x: dot.x,
    y: dot.y,
    text: `${dot.name}\n${text(dot.x)}\ntest accuracy ${percent(dot.y / 100)}${dot.half > 0 ? ` ± ${dot.half.toFixed(2)}` : ''}${dot.runs.length > 1 ? `\n${dot.runs.length} seeds` : ''}`,
  }));
  return compose(frame, {
    legend: legendOf(view.report, groups, frame),
    statements: statement === '' ? [] : [statement],
    panels: [
      {
        height: 340,
        x: { ...scale, inset: 14 },
        y: { label: 'final test accuracy (%)', grid: true, nice: true, ticks: 7, inset: 6 },
        marks: [...behind, ...marks, ...tips(points, frame)],
      },
    ],
  });
}

const connectionDots = (view: View) => dotsOf(view, (group) => view.report.groups[group]!.connections?.mean);

export const connectionsAccuracy: Figure = {
  id: 'connections-accuracy',
  title: 'Accuracy against connections',
  caption:
    'Final test accuracy of the local models against the mean number of neighbours of a replica over the run; under consensus control each gossip of a step counts. Bars are 95 % intervals over the seeds, small dots single seeds.',
  applies: (view) => connectionDots(view).length > 1,
  choices: () => [],
  draw(view, _, frame) {
    const dots = connectionDots(view);
    return scatter(view, frame, dots, said(comparisonOf(view).connectionsAccuracy), {
      label: 'connections (neighbours per replica)',
      ...countAxis(dots.map(({ x }) => x)),
      text: (x) => `${number(x, 3)} connections`,
    });
  },
};

const parts = { all: 'all steps', early: 'first fifth of the steps', late: 'after the first fifth' };
type Part = keyof typeof parts;

export const varianceAccuracy: Figure = {
  id: 'variance-accuracy',
  title: 'Accuracy against variance',
  caption:
    'Final test accuracy against the mean variance rank, by the Gini coefficient over tensors and steps: 1 has the least variance between its replicas. Bars are 95 % intervals over the seeds, small dots single seeds.',
  applies: (view) => comparisonOf(view).ranked.length > 1 && groupsOf(view).some(({ accuracy }) => accuracy !== null),
  choices: () => [
    { id: 'part', label: 'Rank over', options: Object.entries(parts).map(([value, label]) => ({ value, label })) },
  ],
  draw(view, choices, frame) {
    const { ranked, rank, varianceAccuracy } = comparisonOf(view);
    const part = choices.part as Part;
    const dots = dotsOf(view, (group) => rank[part][ranked.indexOf(group)]);
    const correlation = part === 'all' ? varianceAccuracy : varianceAccuracy[part];
    return scatter(view, frame, dots, said(correlation), {
      label: `mean variance rank, ${parts[part]}`,
      ticks: 6,
      text: (x) => `mean rank ${x.toFixed(2)} of ${ranked.length}`,
    });
  },
};
