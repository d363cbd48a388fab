import type { Topology } from '../topology/topology.ts';
import { type Circle, chord, covered, edgePath, place } from './circle.ts';
import { gridEdge, gridLabels, gridOf } from './grid.ts';
import { at, clamp, coordinate, escaped, type Position } from './svg.ts';

/** Above this many edges a file one in m is drawn: it stays below 2 MB and opens quickly. */
const mostEdges = 57_000;
/** The same above this much line to the area of the circle, in 1/pixel: more would only make a solid disc of it. */
const mostDensity = 10;
/** Up to here undirected edges are straight. */
const mostStraight = 16;
/** Up to here directed edges are straight with arrowheads. */
export const mostArrows = 32;

/** Who hears whom in one step, and the circle it is drawn on, or the grid inside of it. */
export interface Panel extends Circle {
  readonly sources: readonly (readonly number[])[];
  /** Of a grid. */
  readonly columns: number | undefined;
  readonly caption: string | undefined;
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
function arrowheads(edges: readonly [Position, Position][], size: number): string {
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
function shortened([a, b]: readonly [Position, Position], by: number): [Position, Position] {
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

function nodes(points: readonly Position[], size: number): string {
  if (points.length <= 64)
    return `<g class="nodes">${points.map((p) => `<circle cx="${coordinate(p.x)}" cy="${coordinate(p.y)}" r="${coordinate(size)}"/>`).join('')}</g>`;
  // A stroke of no length with round ends is a dot: a tenth of the text of a circle each.
  return `<path class="dots" stroke-width="${coordinate(2 * size)}" d="${points.map((p) => `M${at(p)}h0`).join('')}"/>`;
}

/** Length of line to the area of the circle. */
function densityOf(edges: readonly [number, number][], { sources, radius }: Panel): number {
  const length = edges.reduce((sum, edge) => sum + chord(edge, sources.length, radius), 0);
  return length / (Math.PI * radius ** 2);
}

/** Whether all edges join neighbours on the circle: then they are its sides, however many there are. */
const isRing = (edges: readonly [number, number][], n: number) =>
  edges.every(([i, j]) => Math.abs(i - j) === 1 || Math.abs(i - j) === n - 1);

/** Every edge of a grid is as long as any other, and none crosses another: nothing is left out. */
function drawGrid(network: Panel, columns: number, directed: boolean, numbered: boolean): string {
  const { centre, radius, sources, caption } = network;
  const small = radius < 200;
  const grid = gridOf(sources.length, columns, centre, radius);
  const lines = edgesOf(sources, directed).map((edge) => gridEdge(grid, edge));
  const points = sources.map((_, i) => grid.position(i));
  return panel([
    strokes(lines, 1 / grid.spacing, small ? 1.6 : 2.2),
    nodes(points, clamp(0.22 * grid.spacing, 1.1, small ? 5 : 9)),
    numbered ? gridLabels(grid, small ? 9 : 12) : '',
    captionOf(caption, network),
  ]);
}

const panel = (parts: readonly string[]) => `<g class="panel">\n${parts.filter(Boolean).join('\n')}\n</g>`;

const captionOf = (caption: string | undefined, { centre, radius }: Circle) =>
  caption === undefined
    ? ''
    : `<text class="step" x="${coordinate(centre.x)}" y="${coordinate(centre.y + radius + 50)}" font-size="13">${escaped(caption)}</text>`;

export function drawNetwork(network: Panel, directed: boolean, every: number, numbered = true): string {
  const { centre, radius, sources, columns, caption } = network;
  if (columns !== undefined) return drawGrid(network, columns, directed, numbered);
  const n = sources.length;
  const small = radius < 200;
  const size = clamp((0.28 * 2 * Math.PI * radius) / n, 1.1, small ? 5 : 9);
  const edges = edgesOf(sources, directed).filter(([i, j]) => every === 1 || scatter(i, j) % every === 0);
  const ends = edges.map(([i, j]): [Position, Position] => [place(i, n, centre, radius), place(j, n, centre, radius)]);
  const straight = n <= (directed ? mostArrows : mostStraight) || isRing(edges, n);
  const head = directed && n <= mostArrows ? (small ? 7 : 11) : 0;
  const lines = straight
    ? ends.map((end) => shortened(end, head === 0 ? 0 : size + 0.7 * head)).map(([a, b]) => `M${at(a)}L${at(b)}`)
    : edges.map((edge) => edgePath(edge, n, network));
  return panel([
    `<circle class="rim" cx="${coordinate(centre.x)}" cy="${coordinate(centre.y)}" r="${coordinate(n === 1 ? 0 : radius)}"/>`,
    lines.length === 0 ? '' : strokes(lines, densityOf(edges, network) / covered(edges, n), small ? 1.6 : 2.2),
    head === 0
      ? ''
      : arrowheads(
          ends.map((end) => shortened(end, size + 0.5)),
          head,
        ),
    nodes(
      Array.from({ length: n }, (_, i) => place(i, n, centre, radius)),
      size,
    ),
    numbered ? labels(n, network, size + 3) : '',
    captionOf(caption, network),
  ]);
}

/** One in how many edges to draw. */
export function oneIn(networks: readonly Panel[], directed: boolean): number {
  if (networks.every(({ columns }) => columns !== undefined)) return 1;
  const edges = networks.map(({ sources }) => edgesOf(sources, directed));
  const count = edges.reduce((sum, list) => sum + list.length, 0);
  const density = Math.max(...networks.map((network, i) => densityOf(edges[i]!, network)));
  return Math.max(1, Math.ceil(count / mostEdges), Math.ceil(density / mostDensity));
}

/** The side of the square that `drawSmall` fills. */
export const smallSize = 240;
const mostSmallEdges = 2100;

/**
 * The first step as bare shapes with the classes rim, edges, arrows, nodes and dots, to be put into a page or a larger drawing; one
 * in `every` edges is drawn.
 */
export function drawSmall(topology: Topology): { shapes: string; every: number } {
  const { sources } = topology.round(0);
  const { directed } = topology;
  const tooMany = Math.ceil(edgesOf(sources, directed).length / mostSmallEdges);
  const network: Panel = {
    centre: { x: smallSize / 2, y: smallSize / 2 },
    radius: smallSize / 2 - 10,
    sources,
    columns: tooMany > 1 ? undefined : topology.columns,
    caption: undefined,
  };
  const every = Math.max(oneIn([network], directed), tooMany);
  return { shapes: drawNetwork(network, directed, every, false), every };
}
