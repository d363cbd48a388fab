import { writeFileSync } from 'node:fs';
import * as Plot from '@observablehq/plot';
import { studentQuantile } from '../../src/base/statistics.ts';
import { compose } from '../../src/report/figure/compose.ts';
import { light, styleAt } from '../../src/report/figure/theme.ts';
import { plainDocument, toPng } from '../../src/report/still.ts';
import { type Cell, cellName, cells, copiesOf, differenceOf, shown, variantsIn } from './judge.ts';

/** docs/study/frontier.png: what accuracy costs in each cell. */

const families = [
  { name: 'tether', of: /^tether$/ },
  { name: 'leash', of: /^leash$/ },
  { name: 'local SGD, own momentum', of: /^local-/ },
  { name: 'local SGD, common momentum', of: /^common-\d/ },
  { name: 'one peer', of: /^one-peer/ },
  { name: 'gossip with more neighbours, Ada', of: /^(D_|Ada|base)/ },
  { name: 'uniform and yoked schedules of the tether', of: /^(uniform|yoked)$/ },
  { name: 'C_complete', of: /^C_complete$/ },
  { name: 'every 1, 2, 4 steps in four bits', of: /^rounded-/ },
] as const;
/** Our own, which the figure is about. */
const isOwn = (family: number) => family < 2;

/** What is drawn of a cell; beyond it is drawn at the edge. Margin: what passes (judge.ts). */
const rangeOf = ({ cell }: Cell) =>
  cell.startsWith('lstm')
    ? { worst: -9, best: 3, margin: -2, unit: '% perplexity gained' }
    : { worst: -3, best: 1, margin: -0.5, unit: 'points' };
const frame = { document: plainDocument(), width: 860, theme: light, still: true };

function dotsOf(cell: Cell) {
  const { worst, best, unit } = rangeOf(cell);
  const within = (value: number) => Math.min(best, Math.max(worst, value));
  return variantsIn(cell).flatMap((variant) => {
    const family = families.findIndex(({ of }) => of.test(variant));
    const difference = differenceOf(cell, variant, 'C_complete');
    if (family < 0 || difference === undefined) return [];
    const { mean, error, seeds } = difference;
    const half = studentQuantile(0.95, seeds - 1) * error;
    const upwards = unit === 'points' ? 1 : -1;
    const [y, low, high] = [0, -half, half].map((off) => within(upwards * shown(cell, mean + off)));
    const x = copiesOf(cell, variant);
    // Runs that diverge before they have sent anything have no place on the axis.
    return x > 0 ? [{ x, y, low, high, family, variant }] : [];
  });
}

function panelOf(cell: Cell): Plot.PlotOptions {
  const dots = dotsOf(cell);
  const styled = families.flatMap((_, family) => {
    const own = dots.filter((dot) => dot.family === family);
    const style = styleAt(family, light);
    return [
      Plot.ruleX(own, { x: 'x', y1: 'low', y2: 'high', stroke: style.colour, strokeOpacity: 0.45 }),
      Plot.dot(own, {
        x: 'x',
        y: 'y',
        symbol: style.symbol,
        r: isOwn(family) ? 6 : 4,
        fill: isOwn(family) ? style.colour : light.background,
        stroke: style.colour,
        strokeWidth: 1.6,
      }),
    ];
  });
  const { worst, best, margin, unit } = rangeOf(cell);
  return {
    title: cellName(cell),
    height: 250,
    x: {
      type: 'log',
      domain: [0.8 * Math.min(...dots.map(({ x }) => x)), 1.25 * Math.max(...dots.map(({ x }) => x))],
      label: 'copies sent by a replica',
      ticks: 4,
      tickFormat: (value: number) => value.toLocaleString('en-US'),
    },
    y: { label: `${cellName(cell)}: − C_complete, ${unit}`, domain: [worst, best], grid: true },
    marks: [
      Plot.ruleY([margin], { stroke: light.muted, strokeDasharray: '4 4' }),
      Plot.ruleY([0], { stroke: light.muted }),
      ...styled,
    ],
  };
}

const drawn = cells.filter((cell) => variantsIn(cell).includes('tether'));
const svg = compose(frame, {
  legend: families.map(({ name }, index) => ({ name, style: styleAt(index, light) })),
  panels: drawn.map(panelOf).map(({ title: _, ...panel }) => panel),
  columns: 2,
});
const white = svg.outerHTML.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" style="background: white" ');
writeFileSync(new URL('../../docs/study/frontier.png', import.meta.url), await toPng(white));
