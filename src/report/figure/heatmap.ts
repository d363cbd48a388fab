import * as Plot from '@observablehq/plot';
import type { Group, Report } from '../report.ts';
import { extent, number, short, tick, ticksIn } from './axis.ts';
import { compose, element, type Frame, type SvgDocument, textWidth } from './compose.ts';
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

/** Between panels. */
const gap = 16;

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
    'Which parameter tensors differ most between the replicas, and when: a row is a tensor in the order of the model, a column some steps, mean over the seeds. All implementations share one logarithmic colour scale, so that they can be compared; blank is 0.',
  wide: true,
  applies: (view) => hasNorms(view) && measured(view).length > 0,
  choices: (view) => [
    {
      id: 'implementation',
      label: 'Implementation',
      options: [
        { value: '', label: 'all' },
        ...measured(view).map(({ name }) => ({ value: `name:${name}`, label: name })),
      ],
    },
    statisticChoice,
  ],
  draw(view, choices, frame) {
    const statistic = choices.statistic as Statistic;
    const all = measured(view).map((group) => ({
      name: group.name,
      ...cellsOf(view.report, group, statistic),
    }));
    // One colour scale also if one is looked at.
    const [least, largest] = extent(
      all.flatMap(({ cells }) => cells.flatMap(({ value }) => (value > 0 ? value : []))),
    )!;
    const chosen = all.filter(({ name }) => choices.implementation === `name:${name}`);
    const shown = chosen.length > 0 ? chosen : all;
    const columns = shown.length === 1 ? 1 : Math.max(1, Math.min(3, Math.floor(frame.width / 215)));
    const left = Math.min(
      frame.width / 3,
      Math.max(...shown.flatMap(({ names }) => names.map((name) => textWidth(shortened(name))))) + 14,
    );
    const inner = Math.floor((frame.width - left - columns * gap) / columns);
    const colours = { least, largest: largest > least ? largest : least * 10 };
    const panels = shown.map((one, place) =>
      panelOf(one, statistic, colours, frame, {
        title: shown.length > 1,
        // Names of tensors once per row of panels.
        left: place % columns === 0 ? left : 0,
        inner,
        last: place + columns >= shown.length,
        height: shown.length > 1 ? 230 : 460,
      }),
    );
    return compose(frame, { ramp: { label: statistics[statistic], format: tickOf }, panels, columns });
  },
};

interface Heat {
  readonly name: string;
  readonly names: readonly string[];
  readonly cells: readonly Cell[];
}

/** What a panel says besides its cells, and how large it is. */
interface Place {
  readonly title: boolean;
  /** Room for the names of the tensors; 0 if they are not said. */
  readonly left: number;
  /** Width of the cells. */
  readonly inner: number;
  readonly last: boolean;
  readonly height: number;
}

/** One implementation: a row per tensor. */
function panelOf(
  { name, names, cells }: Heat,
  statistic: Statistic,
  { least, largest }: { readonly least: number; readonly largest: number },
  frame: Frame,
  { title, left, inner, last, height }: Place,
): Plot.PlotOptions {
  const [, end] = extent(cells.map(({ to }) => to))!;
  const rowHeight = Math.min(36, Math.max(4, height / names.length));
  const every = Math.ceil(13 / rowHeight);
  const labels = names.map(shortened);
  // Quantised, so that cells of nearly the same colour are one path.
  const levels = 40;
  const level = (value: number) =>
    least * (largest / least) ** (Math.round(levels * (Math.log(value / least) / Math.log(largest / least))) / levels);
  const coloured = cells.map((cell) => ({ ...cell, value: cell.value > 0 ? level(cell.value) : 0 }));
  const points = cells.map(({ row, from, to, value }) => ({
    x: (from + to) / 2,
    y: row,
    text: `${title ? `${name}\n` : ''}${names[row]}\n${to - from === 1 ? `step ${number(to)}` : `steps ${number(from + 1)} to ${number(to)}`}\n${statistics[statistic]} ${short(value)}`,
  }));
  const heading = { frameAnchor: 'top', dy: -14, fontWeight: 600, fill: frame.theme.ink } as const;
  return {
    width: left + inner + gap,
    height: (last ? 66 : 48) + rowHeight * names.length,
    marginLeft: left,
    marginTop: 24,
    marginBottom: last ? 42 : 24,
    marginRight: gap,
    x: { label: last ? 'step' : null, domain: [0, end], ticks: inner < 300 ? 4 : ticksIn(inner) },
    y: {
      type: 'band',
      label: null,
      domain: names.map((_, row) => row),
      padding: rowHeight > 10 ? 0.06 : 0,
      tickFormat: (row: number) => labels[row]!,
      ticks: names.map((_, row) => row).filter((row) => left > 0 && row % every === 0),
      tickSize: 0,
    },
    color: { type: 'log', domain: [least, largest], scheme: 'viridis' },
    marks: [
      cellMark(coloured, frame.document),
      ...(title ? [Plot.text([name], heading)] : []),
      ...tips(points, frame, { maxRadius: 60 }),
    ],
  };
}

const tickOf = (value: number) => tick(Number(value.toPrecision(2)));
