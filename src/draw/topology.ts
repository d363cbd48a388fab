import type { Spread, TopologySummary } from '../topology/summary.ts';
import type { Topology } from '../topology/topology.ts';
import { drawNetwork, mostArrows, oneIn, type Panel } from './network.ts';
import { escaped } from './svg.ts';

const mostPanels = 12;
const randomPanels = 6;
const headHeight = 92;

/** Lays the shown steps out in rows. */
function premisesOf(topology: Topology): { panels: Panel[]; width: number; height: number } {
  const random = topology.period === Number.POSITIVE_INFINITY;
  const count = random ? randomPanels : Math.min(topology.period, mostPanels);
  const columns = count <= 3 ? count : count === 4 ? 2 : count <= 6 ? 3 : 4;
  const width = count === 1 ? 760 : 960;
  const cell = { x: width / columns, y: count === 1 ? width - 20 : width / columns + 32 };
  const radius = count === 1 ? 320 : cell.x / 2 - 34;
  const panels = Array.from({ length: count }, (_, step): Panel => {
    const [row, column] = [Math.floor(step / columns), step % columns];
    // The last row may have fewer: keep it in the middle.
    const inRow = Math.min(columns, count - row * columns);
    return {
      centre: { x: width / 2 + (column - (inRow - 1) / 2) * cell.x, y: headHeight + row * cell.y + radius + 34 },
      radius,
      sources: topology.round(step).sources,
      columns: topology.columns,
      caption: count === 1 ? undefined : `step ${step + 1}${random ? '' : ` of ${topology.period}`}`,
    };
  });
  const height = Math.ceil(headHeight + Math.ceil(count / columns) * cell.y + (count === 1 ? -20 : 8));
  return { panels, width, height };
}

const number = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 4 });
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });

function range({ min, max, mean }: Spread): string {
  return min === max ? whole.format(max) : `${whole.format(min)} to ${whole.format(max)}, mean ${number.format(mean)}`;
}

/** The facts in one line, and what the reader must know about the drawing in another. */
function captions(topology: Topology, summary: TopologySummary, shown: number, every: number): [string, string] {
  const random = topology.period === Number.POSITIVE_INFINITY;
  const aStep = topology.period === 1 ? '' : ' a step';
  const facts = [
    `degree ${range(summary.degree)}`,
    `${whole.format(summary.edges)} ${summary.directed ? 'one-way ' : ''}edge${summary.edges === 1 ? '' : 's'}${aStep}`,
    `spectral gap ${number.format(summary.spectralGap)}${aStep}`,
    `diameter ${summary.diameter ?? '∞'}`,
  ];
  const notes = [
    random ? `drawn anew each step; the first ${shown} steps` : '',
    !random && topology.period > 1
      ? `repeats after ${topology.period} steps${shown < topology.period ? `; the first ${shown}` : ''}`
      : '',
    summary.directed && topology.n <= mostArrows ? 'arrows point to the receiver' : '',
    every > 1 ? `one in ${every} edges drawn` : '',
  ];
  return [facts.join(' · '), notes.filter(Boolean).join(' · ')];
}

// Okabe & Ito's blue and orange, told apart with any colour vision; plain rules first for renderers without media queries.
const style = `
.dbench-topology{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.dbench-topology .back{fill:#fff}
.dbench-topology text{fill:#1b2530}
.dbench-topology .muted,.dbench-topology .step{fill:#56616d}
.dbench-topology .step,.dbench-topology .labels{text-anchor:middle}
.dbench-topology .labels text{fill:#56616d}
.dbench-topology .rim{fill:none;stroke:#e3e8ee}
.dbench-topology .tick{stroke:#9aa5b1}
.dbench-topology .edges path{fill:none;stroke:#0072b2}
.dbench-topology .arrows{fill:#0072b2}
.dbench-topology .nodes circle{fill:#d55e00;stroke:#fff}
.dbench-topology .dots{stroke:#d55e00;stroke-linecap:round}
@media (prefers-color-scheme:dark){
.dbench-topology .back{fill:#12171d}
.dbench-topology text{fill:#e8edf2}
.dbench-topology .muted,.dbench-topology .step,.dbench-topology .labels text{fill:#9fabb8}
.dbench-topology .rim{stroke:#27313b}
.dbench-topology .tick{stroke:#5d6975}
.dbench-topology .edges path{stroke:#56b4e9}
.dbench-topology .arrows{fill:#56b4e9}
.dbench-topology .nodes circle{fill:#e69f00;stroke:#12171d}
.dbench-topology .dots{stroke:#e69f00}
}`;

/** A topology as an SVG: replicas on a circle, an edge a chord, or on their grid; one panel per step if the steps differ. */
export function drawTopology(topology: Topology, summary: TopologySummary): string {
  const { panels, width, height } = premisesOf(topology);
  const every = oneIn(panels, topology.directed);
  const name = `${topology.kind}, ${whole.format(topology.n)} replica${topology.n === 1 ? '' : 's'}`;
  const [facts, notes] = captions(topology, summary, panels.length, every);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="dbench-topology" role="img" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    `<title>${escaped(name)}</title>`,
    `<desc>${escaped([facts, notes].filter(Boolean).join(' · '))}</desc>`,
    `<style>${style}\n</style>`,
    `<rect class="back" width="${width}" height="${height}"/>`,
    `<text x="28" y="42" font-size="22" font-weight="600">${escaped(name)}</text>`,
    `<text class="muted" x="28" y="66" font-size="14">${escaped(facts)}</text>`,
    notes === '' ? '' : `<text class="muted" x="28" y="86" font-size="14">${escaped(notes)}</text>`,
    ...panels.map((panel) => drawNetwork(panel, topology.directed, every)),
    '</svg>\n',
  ]
    .filter(Boolean)
    .join('\n');
}
