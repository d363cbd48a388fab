import * as Plot from '@observablehq/plot';
import type { Style, Theme } from './theme.ts';

/** As much of the DOM as is needed here: a browser's, or one made of plain objects in Node. */
export interface SvgElement {
  readonly outerHTML: string;
  setAttribute(name: string, value: string): void;
  getAttribute(name: string): string | null;
  append(...children: unknown[]): void;
  prepend(...children: unknown[]): void;
  querySelector(selector: string): { remove(): void } | null;
}
export interface SvgDocument {
  createElementNS(namespace: string, name: string): unknown;
}

/** Where and how a figure is drawn. */
export interface Frame {
  readonly document: SvgDocument;
  readonly width: number;
  readonly theme: Theme;
  /** A picture that nobody can point at: no tooltips. */
  readonly still: boolean;
}

/** One line of the legend. */
export interface Entry {
  readonly name: string;
  readonly style: Style;
  readonly remark?: string | undefined;
}

export interface Parts {
  readonly legend?: readonly Entry[];
  /** Sentences above the figure. */
  readonly statements?: readonly string[];
  readonly panels: readonly Plot.PlotOptions[];
  /** So many panels beside each other, which share the width unless they have their own; 1 if nothing is said. */
  readonly columns?: number;
  /** A colour scale to explain, that of the first panel. */
  readonly ramp?: { readonly label: string; readonly format: (value: number) => string };
}

const namespace = 'http://www.w3.org/2000/svg';
export const fontSize = 12;
/** Without quotes inside of quotes, which would be escaped in files. */
export const fontFamily = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

export function element(
  document: SvgDocument,
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  ...children: unknown[]
): SvgElement {
  const created = document.createElementNS(namespace, name) as SvgElement;
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, String(value));
  created.append(...children);
  return created;
}

/** About how wide a text is, without a browser to ask: of a common sans serif, on the safe side. */
export function textWidth(text: string, size = fontSize): number {
  let ems = 0;
  for (const c of text) ems += /[ilj.,:;|'!]/.test(c) ? 0.3 : /[A-Zmw%—_]/.test(c) ? 0.7 : 0.54;
  return ems * size;
}

/** Words in lines no wider than `width`. */
export function wrapped(text: string, width: number, size = fontSize): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || textWidth(`${last} ${word}`, size) > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** A plot in pixels, for what has no axes. */
function pixels(height: number, marks: Plot.Markish[]): Plot.PlotOptions {
  const margins = { marginTop: 0, marginRight: 0, marginBottom: 0, marginLeft: 0 };
  return { height, ...margins, axis: null, x: { type: 'identity' }, y: { type: 'identity' }, marks };
}

const swatchWidth = 32;

/** What stands for an implementation: its line with its symbol, from x to the right. */
function swatchMarks(style: Style, x: number, y: number, { theme }: Frame): Plot.Markish[] {
  const line = { stroke: style.colour, strokeWidth: 2, strokeDasharray: style.dash };
  const dot = { symbol: style.symbol, fill: theme.background, stroke: style.colour, strokeWidth: 1.8 };
  return [
    Plot.link([0], { x1: x + 1, x2: x + swatchWidth - 1, y1: y, y2: y, ...line }),
    Plot.dot([0], { x: x + swatchWidth / 2, y, r: 4, ...dot }),
  ];
}

export function swatch(style: Style, frame: Frame): SvgElement {
  const svg = draw(pixels(16, swatchMarks(style, 0, 8, frame)), { ...frame, width: swatchWidth });
  svg.setAttribute('color', 'inherit');
  return svg;
}

function legend(entries: readonly Entry[], frame: Frame): Plot.PlotOptions {
  const [gap, lineHeight] = [14, 22];
  let [x, y] = [0, 11];
  const marks = entries.flatMap(({ name, style, remark }) => {
    const label = remark === undefined ? name : `${name} (${remark})`;
    const wide = swatchWidth + 6 + textWidth(label, fontSize + 0.5);
    if (x > 0 && x + wide > frame.width) [x, y] = [0, y + lineHeight];
    const at = x;
    x += wide + gap;
    const text = { text: String, textAnchor: 'start', fill: frame.theme.ink } as const;
    return [...swatchMarks(style, at, y, frame), Plot.text([label], { x: at + swatchWidth + 6, y, ...text })];
  });
  return pixels(y + 15, marks);
}

function statements(texts: readonly string[], { width, theme }: Frame): Plot.PlotOptions {
  const lines = texts.flatMap((text) => wrapped(text, width));
  return pixels(lines.length * 18 + 6, [
    Plot.text(lines, { x: 0, y: (_, i) => i * 18 + 9, text: String, textAnchor: 'start', fill: theme.muted }),
  ]);
}

function ramp(scale: Plot.Scale, { label, format }: NonNullable<Parts['ramp']>, { theme }: Frame): Plot.PlotOptions {
  const [low, high] = (scale.domain as number[]).slice(0, 2) as [number, number];
  const steps = 48;
  const [left, wide] = [4, 240];
  const log = scale.type === 'log';
  const at = (share: number) => (log ? low * (high / low) ** share : low + (high - low) * share);
  const ticks = [0, 0.5, 1];
  return pixels(46, [
    Plot.text([label], { x: left, y: 8, text: String, textAnchor: 'start', fill: theme.muted }),
    Plot.rect(
      Array.from({ length: steps }, (_, i) => i),
      {
        x1: (i: number) => left + (i / steps) * wide,
        x2: (i: number) => left + ((i + 1.2) / steps) * wide,
        y1: 18,
        y2: 28,
        fill: (i: number) => String(scale.apply(at((i + 0.5) / steps))),
      },
    ),
    ...ticks.map((share) =>
      Plot.text([share], {
        x: left + share * wide,
        y: 38,
        text: [format(at(share))],
        textAnchor: share === 0 ? 'start' : share === 1 ? 'end' : 'middle',
        fill: theme.muted,
      }),
    ),
  ]);
}

function draw(options: Plot.PlotOptions, { document, width, theme }: Frame): SvgElement & Plot.Plot {
  const svg = Plot.plot({
    marginLeft: 58,
    marginRight: 18,
    marginTop: 30,
    marginBottom: 42,
    width,
    ...options,
    document: document as never,
  }) as unknown as SvgElement & Plot.Plot;
  // What Plot's own style sheet would say, where every program that draws SVG reads it.
  svg.querySelector('style')?.remove();
  svg.setAttribute('font-size', String(fontSize));
  svg.setAttribute('font-family', fontFamily);
  svg.setAttribute('color', theme.ink);
  svg.setAttribute('overflow', 'visible');
  return svg;
}

/** Legend and sentences above the panels, as one SVG. */
export function compose(frame: Frame, parts: Parts): SvgElement {
  const { columns = 1 } = parts;
  const width = frame.width / columns;
  const panels = parts.panels.map((panel) => draw(panel, { ...frame, width }));
  // An inner SVG hears the pointer only where something is drawn.
  const ground = { width: '100%', height: '100%', fill: 'none', 'pointer-events': 'all' };
  if (!frame.still) for (const panel of panels) panel.prepend(element(frame.document, 'rect', ground));
  const colour = parts.ramp === undefined ? undefined : panels[0]!.scale('color');
  const heads = [
    ...(parts.legend === undefined || parts.legend.length === 0 ? [] : [legend(parts.legend, frame)]),
    ...(parts.statements === undefined || parts.statements.length === 0 ? [] : [statements(parts.statements, frame)]),
    ...(colour === undefined ? [] : [ramp(colour, parts.ramp!, frame)]),
  ].map((options) => draw(options, frame));
  const height = (part: SvgElement) => Number(part.getAttribute('height'));
  let y = 0;
  for (const head of heads) {
    head.setAttribute('y', String(y));
    y += height(head);
  }
  for (let first = 0; first < panels.length; first += columns) {
    const row = panels.slice(first, first + columns);
    let x = 0;
    for (const panel of row) {
      panel.setAttribute('x', String(x));
      panel.setAttribute('y', String(y));
      x += Number(panel.getAttribute('width'));
    }
    y += Math.max(...row.map(height));
  }
  const size = { width: frame.width, height: y, viewBox: `0 0 ${frame.width} ${y}` };
  return element(frame.document, 'svg', { class: 'dbench-figure', ...size }, ...heads, ...panels);
}
