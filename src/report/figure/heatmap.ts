import type * as Plot from '@observablehq/plot';
import type { Group, Report } from '../report.ts';
import { extent, number, short, tick, ticksIn } from './axis.ts';
import { compose, element, type SvgDocument, textWidth } from './compose.ts';
import { tips } from './curve.ts';
import { type Figure, groupsOf, type View } from './figure.ts';
import { hasNorms, type Statistic, statisticChoice, statistics } from './variance.ts';

/** More would be narrower than anyone can see, and slow to draw. */
const mostColumns = 160;
const longestLabel = 26;

interface Cell {
  readonly row: number;
  /** Steps from and to. */
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

/** Mean over the group's runs and over neighbouring points, so that no cell gets too narrow. */
function cellsOf(
  report: Report,
  group: Group,
  statistic: Statistic,
): { names: readonly string[]; cells: readonly Cell[] } {
  const runs = group.runs.map((index) => report.runs[index]!).filter((run) => run.variance.step.length > 0);
  const longest = runs.reduce((a, b) => (b.variance.step.length > a.variance.step.length ? b : a), runs[0]!);
  const { step } = longest.variance;
  const every = Math.ceil(step.length / mostColumns);
  const cells = longest.tensors.flatMap((_, row) =>
    Array.from({ length: Math.ceil(step.length / every) }, (_, column): Cell => {
      const [first, last] = [column * every, Math.min(step.length, (column + 1) * every) - 1];
      const values = runs
        .flatMap((run) => run.variance.tensors[statistic][row]!.slice(first, last + 1))
        .filter((value) => value !== null);
      const from = first === 0 ? 0 : step[first - 1]! + 1;
      return { row, from, to: step[last]! + 1, value: values.reduce((a, b) => a + b, 0) / values.length };
    }),
  );
  return { names: longest.tensors.map(({ name }) => name), cells };
}

const measured = (view: View) =>
  groupsOf(view).filter((group) =>
    group.runs.some((index) =>
      view.report.runs[index]!.variance.mean.gini.some((value) => value !== null && value > 0),
    ),
  );

const shortened = (name: string) => (name.length > longestLabel ? `…${name.slice(1 - longestLabel)}` : name);

/** Rectangles of one colour are one path: thousands of cells stay small. */
function cellMark(cells: readonly Cell[], document: SvgDocument): Plot.Markish {
  const render: Plot.RenderFunction = (_, scales) => {
    const [x, y, colour] = [scales.x!, scales.y!, scales.color!] as unknown as ((value: number) => number | string)[];
    const high = (y as unknown as { bandwidth(): number }).bandwidth();
    const paths = new Map<string, string>();
    for (const { row, from, to, value } of cells) {
      if (!(value > 0)) continue;
      const [left, right, top] = [Number(x!(from)), Number(x!(to)), Number(y!(row))];
      const fill = String(colour!(value));
      const box = `M${left.toFixed(1)},${top.toFixed(1)}h${(right - left + 0.4).toFixed(1)}v${(high + 0.4).toFixed(1)}h${(left - right - 0.4).toFixed(1)}z`;
      paths.set(fill, (paths.get(fill) ?? '') + box);
    }
    const drawn = [...paths].map(([fill, d]) => element(document, 'path', { fill, d }));
    return element(document, 'g', { class: 'cells', 'aria-label': 'cells' }, ...drawn) as never;
  };
  return render;
}

export const heatmap: Figure = {
  id: 'heatmap',
  title: 'Variance by tensor',
  caption:
    'Which parameter tensors differ most between the replicas, and when: a row is a tensor in the order of the model, a column some steps. All implementations share one logarithmic colour scale, so that they can be compared; blank is 0.',
  applies: (view) => hasNorms(view) && measured(view).length > 0,
  choices: (view) => [
    {
      id: 'implementation',
      label: 'Implementation',
      each: true,
      options: measured(view).map(({ name }) => ({ value: name, label: name })),
    },
    statisticChoice,
  ],
  draw(view, choices, frame) {
    const statistic = choices.statistic as Statistic;
    const groups = measured(view);
    const each = groups.map((group) => cellsOf(view.report, group, statistic));
    const at = Math.max(
      0,
      groups.findIndex(({ name }) => name === choices.implementation),
    );
    const { names, cells } = each[at]!;
    const several = groups[at]!.runs.length;
    const positive = each.flatMap(({ cells }) => cells.map(({ value }) => value).filter((value) => value > 0));
    const [least, largest] = extent(positive)!;
    const [, end] = extent(cells.map(({ to }) => to))!;
    const rowHeight = Math.min(36, Math.max(4, 460 / names.length));
    const every = Math.ceil(13 / rowHeight);
    const labels = names.map(shortened);
    const left = Math.min(frame.width / 3, Math.max(...labels.map((label) => textWidth(label))) + 14);
    // Quantised, so that cells of nearly the same colour are one path.
    const levels = 40;
    const level = (value: number) =>
      least *
      (largest / least) ** (Math.round(levels * (Math.log(value / least) / Math.log(largest / least))) / levels);
    const coloured =
      largest > least ? cells.map((cell) => ({ ...cell, value: cell.value > 0 ? level(cell.value) : 0 })) : cells;
    const points = cells.map(({ row, from, to, value }) => ({
      x: (from + to) / 2,
      y: row,
      text: `${names[row]}\n${to - from === 1 ? `step ${number(to)}` : `steps ${number(from + 1)} to ${number(to)}`}\n${statistics[statistic]} ${short(value)}`,
    }));
    return compose(frame, {
      statements: several > 1 ? [`Mean over ${several} seeds`] : [],
      ramp: { label: statistics[statistic], format: tickOf },
      panels: [
        {
          height: 70 + rowHeight * names.length,
          marginLeft: left,
          marginTop: 18,
          x: { label: 'step', domain: [0, end], ticks: ticksIn(frame.width) },
          y: {
            type: 'band',
            label: null,
            domain: names.map((_, row) => row),
            padding: rowHeight > 10 ? 0.06 : 0,
            tickFormat: (row: number) => labels[row]!,
            ticks: names.map((_, row) => row).filter((row) => row % every === 0),
            tickSize: 0,
          },
          color: {
            type: 'log',
            domain: [least, largest > least ? largest : least * 10],
            scheme: 'viridis',
          },
          marks: [cellMark(coloured, frame.document), ...tips(points, frame, { maxRadius: 60 })],
        },
      ],
    });
  },
};

const tickOf = (value: number) => tick(Number(value.toPrecision(2)));
