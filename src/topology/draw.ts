import type { Spread, TopologySummary } from './summary.ts';
import type { Topology } from './topology.ts';

/** Above this many edges a file one in m is drawn: it stays below 2 MB and opens quickly. */
const mostEdges = 57_000;
/** The same above this much line to the area of the circle, in 1/pixel: more would only make a solid disc of it. */
const mostDensity = 10;
/** Up to here undirected edges are straight. */
const mostStraight = 16;
/** Up to here directed edges are straight with arrowheads. */
const mostArrows = 32;
const mostPanels = 12;
const randomPanels = 6;
const headHeight = 92;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where one step is drawn. */
interface Panel {
  readonly centre: Point;
  readonly radius: number;
  readonly sources: readonly (readonly number[])[];
  readonly caption: string | undefined;
}

const coordinate = (value: number) => String(Math.round(value * 10) / 10);
const at = ({ x, y }: Point) => `${coordinate(x)} ${coordinate(y)}`;
const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));
const escaped = (text: string) =>
  text.replace(/[<>&"]/g, (c) => ({ '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' })[c]!);

/** Replica i on the circle, clockwise from the top; one replica alone is in the middle. */
function place(i: number, n: number, { x, y }: Point, radius: number): Point {
  const angle = (2 * Math.PI * i) / n;
  return n === 1 ? { x, y } : { x: x + radius * Math.sin(angle), y: y - radius * Math.cos(angle) };
}

/** The edges of a step as [from, to], each undirected one once. */
function edgesOf(sources: readonly (readonly number[])[], directed: boolean): [number, number][] {
  return sources.flatMap((row, i) =>
    row.filter((j) => directed || j > i).map((j): [number, number] => (directed ? [j, i] : [i, j])),
  );
}

/** A number that looks random: picks edges to leave out without a pattern of its own. */
function scatter(i: number, j: number): number {
  const mixed = Math.imul(Math.imul(i + 1, 0x9e3779b1) ^ (j + 1), 0x85ebca6b);
  return Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35) >>> 8;
}

/** How near to the middle the curve of an edge comes, 1 being the rim: its angle as seen from there, short ones stretched. */
function nearest(angle: number): number {
  return Math.tan((Math.PI / 4) * (1 - (angle / Math.PI) ** 0.7));
}

/**
 * An edge as path data. Few replicas: a straight chord. Many: most edges of a lattice would vanish behind the rim, so a curve that
 * leaves it at about a right angle; its depth still grows with the distance along the ring.
 */
function edgePath([from, to]: readonly [number, number], n: number, { centre, radius }: Panel): string {
  const [a, b] = [place(from, n, centre, radius), place(to, n, centre, radius)];
  const span = (to - from + n) % n;
  const short = Math.min(span, n - span);
  const angle = (2 * Math.PI * short) / n;
  const middle = span === short ? from + short / 2 : to + short / 2;
  const control = place(middle, n, centre, radius * (2 * nearest(angle) - Math.cos(angle / 2)));
  const relative = (p: Point) => `${coordinate(p.x - a.x)} ${coordinate(p.y - a.y)}`;
  return `M${at(a)}q${relative(control)} ${relative(b)}`;
}

/**
 * Lines that stay readable from 8 to 57,000: the more ink there is to the area they cover, the thinner and fainter. They are
 * dealt out over several paths because only strokes of different paths darken each other.
 */
function strokes(lines: readonly string[], density: number, widest: number): string {
  const width = clamp(0.35 / density, 0.4, widest);
  const ink = density * width;
  const opacity = clamp(0.9 / ink, 0.06, 0.9);
  const count = clamp(Math.ceil(4 * ink), 1, 60);
  const paths = Array.from({ length: Math.min(count, lines.length) }, (_, p) => {
    const own = lines.filter((_, e) => e % count === p);
    return `<path d="${own.join('')}"/>`;
  });
  return `<g class="edges" stroke-width="${width.toFixed(2)}" stroke-opacity="${opacity.toFixed(2)}">\n${paths.join('\n')}\n</g>`;
}

/** Triangles at the receiving ends. */
function arrowheads(edges: readonly [Point, Point][], size: number): string {
  const heads = edges.map(([from, to]) => {
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
    const back = { x: to.x - size * ux, y: to.y - size * uy };
    const side = (sign: number) => ({ x: back.x - sign * 0.42 * size * uy, y: back.y + sign * 0.42 * size * ux });
    return `M${at(to)}L${at(side(1))}L${at(side(-1))}Z`;
  });
  return `<path class="arrows" d="${heads.join('')}"/>`;
}

/** The point `by` before b on the way from a. */
function shortened([a, b]: readonly [Point, Point], by: number): [Point, Point] {
  const length = Math.hypot(b.x - a.x, b.y - a.y);
  const rest = Math.max(0, 1 - by / length);
  return [a, { x: a.x + (b.x - a.x) * rest, y: a.y + (b.y - a.y) * rest }];
}

/** Numbers around the circle: all where there is room, otherwise about sixteen round ones. */
function labels(n: number, { centre, radius }: Panel, gap: number): string {
  const room = n === 1 ? Number.POSITIVE_INFINITY : (2 * Math.PI * radius) / n;
  const most = radius < 200 ? 12 : 20;
  const every =
    room >= 15 ? 1 : [2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100, 128, 200, 250, 500].find((m) => n / m <= most);
  const step = every ?? Math.ceil(n / most);
  const size = radius < 200 ? 9 : 12;
  const out: string[] = [];
  // The last label must not run into the first one.
  for (let i = 0; i < n && (i === 0 || step === 1 || n - i > step / 2); i += step) {
    const p = n === 1 ? { x: centre.x, y: centre.y - 24 } : place(i, n, centre, radius + gap + 0.75 * size);
    const tick =
      step === 1
        ? ''
        : `<path class="tick" d="M${at(place(i, n, centre, radius + gap - 2))}L${at(place(i, n, centre, radius + gap + 2))}"/>`;
    out.push(
      `${tick}<text x="${coordinate(p.x)}" y="${coordinate(p.y + 0.36 * size)}" font-size="${size}">${i}</text>`,
    );
  }
  return `<g class="labels">${out.join('')}</g>`;
}

function nodes(n: number, { centre, radius }: Panel, size: number): string {
  const points = Array.from({ length: n }, (_, i) => place(i, n, centre, radius));
  if (n <= 64)
    return `<g class="nodes">${points.map((p) => `<circle cx="${coordinate(p.x)}" cy="${coordinate(p.y)}" r="${coordinate(size)}"/>`).join('')}</g>`;
  // A stroke of no length with round ends is a dot: a tenth of the text of a circle each.
  return `<path class="dots" stroke-width="${coordinate(2 * size)}" d="${points.map((p) => `M${at(p)}h0`).join('')}"/>`;
}

/** The length of an edge's chord. */
function chord([i, j]: readonly [number, number], n: number, radius: number): number {
  return 2 * radius * Math.abs(Math.sin((Math.PI * (i - j)) / n));
}

/** How much of the circle the edges cover: all, or a band along the rim where all of them are short. */
function covered(edges: readonly [number, number][], n: number): number {
  const farthest = edges.reduce((most, [i, j]) => Math.max(most, Math.min(Math.abs(i - j), n - Math.abs(i - j))), 0);
  return 1 - nearest((2 * Math.PI * farthest) / n) ** 2;
}

/** Length of line to the area of the circle. */
function densityOf(edges: readonly [number, number][], { sources, radius }: Panel): number {
  const length = edges.reduce((sum, edge) => sum + chord(edge, sources.length, radius), 0);
  return length / (Math.PI * radius ** 2);
}

function drawPanel(panel: Panel, directed: boolean, every: number, numbered = true): string {
  const { centre, radius, sources, caption } = panel;
  const n = sources.length;
  const small = radius < 200;
  const size = clamp((0.28 * 2 * Math.PI * radius) / n, 1.1, small ? 5 : 9);
  const edges = edgesOf(sources, directed).filter(([i, j]) => every === 1 || scatter(i, j) % every === 0);
  const ends = edges.map(([i, j]): [Point, Point] => [place(i, n, centre, radius), place(j, n, centre, radius)]);
  const straight = n <= (directed ? mostArrows : mostStraight);
  const head = directed && straight ? (small ? 7 : 11) : 0;
  const lines = straight
    ? ends.map((end) => shortened(end, head === 0 ? 0 : size + 0.7 * head)).map(([a, b]) => `M${at(a)}L${at(b)}`)
    : edges.map((edge) => edgePath(edge, n, panel));
  const parts = [
    `<circle class="rim" cx="${coordinate(centre.x)}" cy="${coordinate(centre.y)}" r="${coordinate(n === 1 ? 0 : radius)}"/>`,
    lines.length === 0 ? '' : strokes(lines, densityOf(edges, panel) / covered(edges, n), small ? 1.6 : 2.2),
    head === 0
      ? ''
      : arrowheads(
          ends.map((end) => shortened(end, size + 0.5)),
          head,
        ),
    nodes(n, panel, size),
    numbered ? labels(n, panel, size + 3) : '',
    caption === undefined
      ? ''
      : `<text class="step" x="${coordinate(centre.x)}" y="${coordinate(centre.y + radius + 50)}" font-size="13">${escaped(caption)}</text>`,
  ];
  return `<g class="panel">\n${parts.filter(Boolean).join('\n')}\n</g>`;
}

/** Lays the shown steps out in rows. */
function layOut(topology: Topology): { panels: Panel[]; width: number; height: number } {
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
      caption: count === 1 ? undefined : `step ${step + 1}${random ? '' : ` of ${topology.period}`}`,
    };
  });
  const height = Math.ceil(headHeight + Math.ceil(count / columns) * cell.y + (count === 1 ? -20 : 8));
  return { panels, width, height };
}

/** One in how many edges to draw. */
function oneIn(panels: readonly Panel[], directed: boolean): number {
  const edges = panels.map(({ sources }) => edgesOf(sources, directed));
  const count = edges.reduce((sum, list) => sum + list.length, 0);
  const density = Math.max(...panels.map((panel, p) => densityOf(edges[p]!, panel)));
  return Math.max(1, Math.ceil(count / mostEdges), Math.ceil(density / mostDensity));
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

/** The side of the square that `drawSmall` fills. */
export const smallSize = 240;
const mostSmallEdges = 2100;

/**
 * The first step as bare shapes with the classes rim, edges, arrows, nodes and dots, to be put into a page or a larger drawing; one
 * in `every` edges is drawn.
 */
export function drawSmall(topology: Topology): { shapes: string; every: number } {
  const { sources } = topology.round(0);
  const centre = { x: smallSize / 2, y: smallSize / 2 };
  const panel: Panel = { centre, radius: smallSize / 2 - 10, sources, caption: undefined };
  const every = Math.max(
    oneIn([panel], topology.directed),
    Math.ceil(edgesOf(sources, topology.directed).length / mostSmallEdges),
  );
  return { shapes: drawPanel(panel, topology.directed, every, false), every };
}

/** A topology as an SVG: replicas on a circle, an edge a chord, one panel a step where the steps differ. */
export function drawTopology(topology: Topology, summary: TopologySummary): string {
  const { panels, width, height } = layOut(topology);
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
    ...panels.map((panel) => drawPanel(panel, topology.directed, every)),
    '</svg>\n',
  ]
    .filter(Boolean)
    .join('\n');
}
