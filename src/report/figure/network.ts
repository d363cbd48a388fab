import { edgePath, place } from '../../draw/circle.ts';
import { gridEdge, gridOf } from '../../draw/grid.ts';
import type { NetworkReport, NetworkRound, ReplicaFrame, Report, RunReport } from '../report.ts';
import { extent, number, percent, seconds, short, tick } from './axis.ts';
import { element, type Frame, fontFamily, fontSize, type SvgElement, wrapped } from './compose.ts';
import { type Choices, type Figure, groupsOf, type View } from './figure.ts';

type Column = readonly (number | null)[];

/** What is out of bounds has no place on the colours: like what was not measured. */
const finite = (value: number | null | undefined): number | null => (Number.isFinite(value) ? value! : null);

/** A run of a group that has frames: the first of its seeds. */
function runOf(view: View, choices: Choices): (RunReport & { readonly network: NetworkReport }) | undefined {
  const named = shownRuns(view);
  return (named.find(({ name }) => `name:${name}` === choices.implementation) ?? named[0])?.run;
}

function shownRuns({ report, ...view }: View) {
  return groupsOf({ report, ...view }).flatMap(({ name, runs }) => {
    const run = runs.map((index) => report.runs[index]!).find(hasFrames);
    return run === undefined ? [] : [{ name, run }];
  });
}

const hasFrames = (run: Report['runs'][number]): run is RunReport & { readonly network: NetworkReport } =>
  run.network !== null && run.network.frames.length > 0;

/** What nodes can be coloured by: whether more is better decides which end is pointed out and dark. */
const quantities: Readonly<
  Record<
    string,
    {
      readonly label: string;
      /** Which end is behind: it is the dark one. */
      readonly worse: 'low' | 'high';
      of(frame: ReplicaFrame): Column | null;
      text(value: number): string;
      /** On an axis. */
      axis(value: number): string;
      /** Whether it tells who is behind. */
      readonly scores?: true;
    }
  >
> = {
  accuracy: {
    label: 'test accuracy',
    scores: true,
    worse: 'low',
    of: (frame) => frame.testAccuracy,
    text: percent,
    axis: (share) => `${number(100 * share, 3)} %`,
  },
  testLoss: { label: 'test loss', scores: true, worse: 'high', of: (frame) => frame.testLoss, text: short, axis: tick },
  loss: { label: 'training loss', worse: 'high', of: (frame) => frame.loss, text: short, axis: tick },
  finished: {
    label: 'virtual time at the end of the step',
    worse: 'high',
    of: (frame) => frame.finished,
    text: seconds,
    axis: seconds,
  },
  ownSteps: { label: 'steps of its own', worse: 'low', of: (frame) => frame.ownSteps, text: short, axis: tick },
  distance: { label: 'distance to the mean', worse: 'high', of: (frame) => frame.distance, text: short, axis: tick },
};

export function quantityOf(choice: string, tensors: readonly { readonly name: string }[]) {
  const known = quantities[choice];
  if (known !== undefined) return known;
  const tensor = Number(choice.slice('norm:'.length));
  return {
    label: `norm of ${tensors[tensor]?.name ?? 'a tensor'}`,
    scores: undefined,
    worse: 'high' as const,
    of: (frame: ReplicaFrame) => frame.norms?.[tensor] ?? null,
    text: short,
    axis: tick,
  };
}

/** Viridis, from its dark to its light end: told apart with any colour vision, and without colour. */
const ramp = [
  '#440154',
  '#482878',
  '#3e4989',
  '#31688e',
  '#26828e',
  '#1f9e89',
  '#35b779',
  '#6ece58',
  '#b5de2b',
  '#fde725',
];

function mixed(a: string, b: string, share: number): string {
  const part = (text: string, at: number) => Number.parseInt(text.slice(at, at + 2), 16);
  return `#${[1, 3, 5]
    .map((at) =>
      Math.round(part(a, at) + (part(b, at) - part(a, at)) * share)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`;
}

export function colourAt(share: number): string {
  const at = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const low = Math.min(ramp.length - 2, Math.floor(at));
  return mixed(ramp[low]!, ramp[low + 1]!, at - low);
}

interface Placed {
  position(i: number): { readonly x: number; readonly y: number };
  edge(from: number, to: number): string;
  readonly size: number;
  readonly height: number;
}

/** On the grid that a topology has, otherwise on a circle. */
function layout(n: number, { columns }: NetworkRound, side: number): Placed {
  const [centre, radius] = [{ x: side / 2, y: side / 2 }, side / 2 - 26];
  if (columns !== null) {
    const height = Math.min(side, ((n / columns) * 2 * radius) / Math.max(n / columns, columns) + 40);
    const grid = gridOf(n, columns, { x: side / 2, y: height / 2 }, radius);
    return {
      height,
      position: grid.position,
      edge: (i, j) => gridEdge(grid, [i, j]),
      size: Math.min(12, Math.max(1.8, 0.3 * grid.spacing)),
    };
  }
  const straight = n <= 16;
  return {
    height: side,
    position: (i) => place(i, n, centre, radius),
    edge(i, j) {
      const [a, b] = [place(i, n, centre, radius), place(j, n, centre, radius)];
      if (straight) return `M${a.x.toFixed(1)} ${a.y.toFixed(1)}L${b.x.toFixed(1)} ${b.y.toFixed(1)}`;
      return edgePath([i, j], n, { centre, radius });
    },
    size: Math.min(12, Math.max(1.8, (0.34 * 2 * Math.PI * radius) / n)),
  };
}

/** Edges of nearly the same colour are one path. */
const levels = 12;

function drawEdges(
  { edges, all, columns }: NetworkRound,
  distances: Column | null,
  at: Placed,
  frame: Frame,
  selected: number | null,
): SvgElement {
  const range = extent((distances ?? []).flatMap((value) => finite(value) ?? []));
  // One end of the colours would vanish on the ground.
  const lit = (share: number) => (frame.theme.name === 'dark' ? 0.4 + 0.6 * share : 0.55 * share);
  const paths = new Map<string, string>();
  const own = new Map<string, string>();
  for (let e = 0; e < edges.length / 2; e++) {
    const [i, j] = [edges[2 * e]!, edges[2 * e + 1]!];
    const value = finite(distances?.[e]);
    const share =
      value === null || range === undefined || range[0] === range[1]
        ? null
        : (value - range[0]) / (range[1] - range[0]);
    const colour = share === null ? frame.theme.muted : colourAt(lit(Math.round(share * levels) / levels));
    const into = i === selected || j === selected ? own : paths;
    into.set(colour, (into.get(colour) ?? '') + at.edge(i, j));
  }
  const drawn = (those: Map<string, string>, look: object) =>
    [...those].map(([stroke, d]) => element(frame.document, 'path', { d, stroke, fill: 'none', ...look }));
  // Those of a grid do not cross.
  const faint = Math.min(0.8, Math.max(columns === null ? 0.12 : 0.4, 130 / Math.max(1, all)));
  return element(
    frame.document,
    'g',
    { class: 'edges', 'aria-label': 'edges' },
    ...drawn(paths, {
      'stroke-width': distances === null ? 1 : 1.4,
      'stroke-opacity': distances === null ? faint : Math.min(1, Math.max(0.35, 1.25 * faint)),
    }),
    ...drawn(own, { 'stroke-width': 2.4, 'stroke-opacity': 0.95 }),
  );
}

const outlier = (values: readonly number[], worse: 'low' | 'high') => {
  const [low, high] = extent(values)!;
  return worse === 'low' ? low : high;
};

export const network: Figure = {
  id: 'network',
  title: 'The network, replica by replica',
  caption:
    'Who averages with whom in the round of the chosen step, and how each replica does: the colour of a node is its own figure, dark if it is behind and light if it is ahead; the ring marks the one that is furthest behind. If probes.edges is set, the colour of an edge is how far the two are apart before they average, from near (dark) to far (light). A hollow node is lost, away or was not measured.',
  wide: true,
  applies: (view) => shownRuns(view).length > 0,
  choices(view) {
    const named = shownRuns(view);
    const first = named[0]?.run;
    const frames = first?.network.frames ?? [];
    const has = (of: (frame: ReplicaFrame) => unknown) =>
      named.some(({ run }) => run.network.frames.some((frame) => of(frame) !== null));
    const tensors = frames.some(({ norms }) => norms !== null) ? (first?.tensors ?? []) : [];
    return [
      {
        id: 'implementation',
        label: 'Implementation',
        options: named.map(({ name }) => ({ value: `name:${name}`, label: name })),
      },
      {
        id: 'colour',
        label: 'Colour by',
        options: [
          ...Object.entries(quantities).flatMap(([value, { label, of }]) => (has(of) ? [{ value, label }] : [])),
          ...tensors.map(({ name }, t) => ({ value: `norm:${t}`, label: `norm of ${name}` })),
        ],
      },
      {
        id: 'step',
        label: 'Step',
        slider: true,
        options: frames.map(({ step }) => ({ value: String(step), label: number(step + 1) })),
      },
    ];
  },
  draw(view, choices, frame) {
    const run = runOf(view, choices)!;
    const { frames, rounds } = run.network;
    const wanted = Number(choices.step ?? Number.POSITIVE_INFINITY);
    const shown = frames.findLast(({ step }) => step <= wanted) ?? frames[0]!;
    return drawNetworkFrame(shown, rounds[shown.round]!, run, choices.colour!, frame, null);
  },
};

/** `least test accuracy`, `largest distance to the mean` */
export const extremeOf = ({ worse, label }: Pick<ReturnType<typeof quantityOf>, 'worse' | 'label'>) =>
  `${worse === 'low' ? 'least' : 'largest'} ${label}`;

/** A page that draws more replicas says what each is as it is pointed at. */
export const mostTitles = 200;

/** `replica 3: test accuracy 91.20 %` */
export function nodeText(shown: ReplicaFrame, { of, label, text }: ReturnType<typeof quantityOf>, i: number): string {
  const value = finite(of(shown)?.[i]);
  return `replica ${i}: ${value === null ? 'not measured' : `${label} ${text(value)}`}`;
}

/** Why nodes are hollow. */
function missingText({ replicas, algorithm }: RunReport['experiment'], missing: number): string {
  const clients = 'servers' in algorithm ? replicas - Number(algorithm.servers) : 0;
  return missing === clients
    ? `${number(clients)} clients, which have no such figure: the servers have`
    : `${number(missing)} of ${number(replicas)} replicas lost, away or not measured`;
}

/** The replicas at one step; `selected` is pointed out with its edges. */
export function drawNetworkFrame(
  shown: ReplicaFrame,
  round: NetworkRound,
  run: Pick<RunReport, 'tensors' | 'experiment'>,
  choice: string,
  frame: Frame,
  selected: number | null,
): SvgElement {
  const { document, theme, width } = frame;
  const n = run.experiment.replicas;
  const quantity = quantityOf(choice, run.tensors);
  const values = (quantity.of(shown) ?? new Array<null>(n).fill(null)).map(finite);
  const there = values.flatMap((value) => (value === null ? [] : [value]));
  const range = extent(there) ?? [0, 0];
  const [behind, ahead] = quantity.worse === 'low' ? range : [range[1], range[0]];
  const side = Math.max(240, Math.min(width, 620));
  const left = (width - side) / 2;
  const at = layout(n, round, side);
  const worst = there.length > 1 && range[0] < range[1] ? values.indexOf(outlier(there, quantity.worse)) : -1;
  // What all have in common is said once: a thousand nodes are drawn anew with every step.
  const plain = {
    stroke: theme.muted,
    'stroke-width': Math.min(1, at.size / 4),
  };
  const nodes = values.map((value, i) => {
    const { x, y } = at.position(i);
    const share = value === null ? null : range[0] === range[1] ? 0.5 : (value - range[0]) / (range[1] - range[0]);
    const look =
      share === null
        ? { fill: theme.background, stroke: theme.muted, 'stroke-dasharray': '2 2' }
        : { fill: colourAt(quantity.worse === 'low' ? share : 1 - share) };
    const own = i === selected ? { r: at.size * 1.5, stroke: theme.ink, 'stroke-width': 2.5 } : { r: at.size };
    const titles = n > mostTitles ? [] : [element(document, 'title', {}, nodeText(shown, quantity, i))];
    const place = { cx: x.toFixed(1), cy: y.toFixed(1) };
    return element(document, 'circle', { 'data-replica': i, ...place, ...look, ...own }, ...titles);
  });
  const ring = [worst]
    .filter((i) => i >= 0)
    .map((i) => {
      const { x, y } = at.position(i);
      return element(document, 'circle', {
        class: 'worst',
        cx: x.toFixed(1),
        cy: y.toFixed(1),
        r: at.size + 5,
        fill: 'none',
        stroke: theme.series[4]!,
        'stroke-width': 2.2,
      });
    });
  const text = (x: number, y: number, content: string, look: object = {}) =>
    element(document, 'text', { x, y, fill: theme.muted, ...look }, content);
  const wide = Math.min(260, width - 20);
  const bars = Array.from({ length: 40 }, (_, i) =>
    element(document, 'rect', {
      x: 4 + (i / 40) * wide,
      y: 18,
      width: wide / 40 + 0.6,
      height: 10,
      fill: colourAt((i + 0.5) / 40),
    }),
  );
  const drawn = round.edges.length / 2;
  const facts = [
    `${run.experiment.name}, step ${number(shown.step + 1)}, epoch ${number(shown.epoch + 1)}: ${round.kind}, ${number(round.all)} connections${drawn < round.all ? `, of which ${number(drawn)} are drawn` : ''}`,
    ...(worst < 0 ? [] : [`${extremeOf(quantity)}: replica ${worst}, ${quantity.text(values[worst]!)}`]),
    ...(there.length < n ? [missingText(run.experiment, n - there.length)] : []),
  ].flatMap((fact) => wrapped(fact, width));
  const top = 50 + facts.length * 17;
  const parts = [
    ...(frame.still
      ? []
      : [element(document, 'rect', { width: '100%', height: '100%', fill: 'none', 'pointer-events': 'all' })]),
    text(4, 10, quantity.label),
    ...bars,
    text(4, 42, there.length === 0 ? '' : labelOf(quantity, behind)),
    text(4 + wide, 42, there.length === 0 ? '' : labelOf(quantity, ahead), { 'text-anchor': 'end' }),
    ...facts.map((fact, i) => text(4, 62 + i * 17, fact, { fill: theme.ink })),
    element(
      document,
      'g',
      { transform: `translate(${left.toFixed(1)} ${top})` },
      drawEdges(round, shown.edges, at, frame, selected),
      element(document, 'g', { class: 'nodes', 'aria-label': 'dot', ...plain }, ...nodes, ...ring),
      ...(n > 64
        ? []
        : values.map((_, i) =>
            numbered(i, n, round, i === selected ? { ...at, size: at.size * 1.6 } : at, side, frame),
          )),
    ),
  ];
  const height = top + at.height;
  const look = { 'font-size': fontSize, 'font-family': fontFamily, color: theme.ink };
  return element(
    document,
    'svg',
    { class: 'dbench-figure', width, height, viewBox: `0 0 ${width} ${height}`, ...look },
    ...parts,
  );
}

const labelOf = ({ text }: { text(value: number): string }, value: number) =>
  Math.abs(value) < 1e-3 && value !== 0 ? tick(value) : text(value);

/** The number of a replica beside its node. */
function numbered(
  i: number,
  n: number,
  { columns }: NetworkRound,
  at: Placed,
  side: number,
  { document, theme }: Frame,
): SvgElement {
  const { x, y } = at.position(i);
  const far = at.size + 9;
  const angle = Math.atan2(y - side / 2, x - side / 2);
  const away =
    columns === null && n > 1
      ? { x: x + far * Math.cos(angle), y: y + far * Math.sin(angle) + 3 }
      : { x, y: y + at.size + 10 };
  return element(
    document,
    'text',
    {
      x: away.x.toFixed(1),
      y: away.y.toFixed(1),
      'text-anchor': 'middle',
      'font-size': 9,
      fill: theme.muted,
      'pointer-events': 'none',
    },
    String(i),
  );
}
