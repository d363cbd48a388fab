import { element, fontFamily, type SvgDocument, type SvgElement, wrapped } from './compose.ts';
import type { Figure } from './figure.ts';
import { light } from './theme.ts';

/** Of the figure in a file of its own. */
export const stillWidth = 760;
const margin = 24;

/** Of a figure for a paper: its text is about as large as a caption where it fills a column. */
export const plainWidth = 440;
const plainMargin = 6;

/**
 * For papers, which have their own title and caption: the drawing alone on white. Text stays text, in fonts that every system has or
 * replaces by its like, and colours are written out, so that Inkscape, LaTeX (by its package svg) and librsvg take it as it is.
 */
export function plain(drawing: SvgElement, figure: Figure, document: SvgDocument): string {
  const [width, height] = ['width', 'height'].map((side) => Number(drawing.getAttribute(side)) + 2 * plainMargin) as [
    number,
    number,
  ];
  for (const side of ['x', 'y']) drawing.setAttribute(side, String(plainMargin));
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const svg = element(
    document,
    'svg',
    { xmlns: 'http://www.w3.org/2000/svg', ...size },
    element(document, 'title', {}, figure.title),
    element(document, 'rect', { width, height, fill: light.background }),
    drawing,
  );
  return svg.outerHTML.replaceAll('currentColor', light.ink).replaceAll(fontFamily, 'Helvetica, Arial, sans-serif');
}

/** With title and caption on white, as a file of its own. */
export function standalone(drawing: SvgElement, figure: Figure, subtitle: string, document: SvgDocument): string {
  const inner = Number(drawing.getAttribute('height'));
  const caption = wrapped(figure.caption, stillWidth, 11.5);
  const top = margin + (subtitle === '' ? 34 : 54);
  const height = top + inner + 14 + caption.length * 16 + margin;
  const all = stillWidth + 2 * margin;
  const text = (y: number, size: number, fill: string, content: string, look: object = {}) =>
    element(document, 'text', { x: margin, y, 'font-size': size, fill, ...look }, content);
  drawing.setAttribute('x', String(margin));
  drawing.setAttribute('y', String(top));
  const svg = element(
    document,
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      width: all,
      height,
      viewBox: `0 0 ${all} ${height}`,
      'font-family': fontFamily,
      role: 'img',
    },
    element(document, 'title', {}, [figure.title, subtitle].filter(Boolean).join(': ')),
    element(document, 'desc', {}, figure.caption),
    element(document, 'rect', { width: all, height, fill: light.background }),
    text(margin + 16, 18, light.ink, figure.title, { 'font-weight': 600 }),
    ...(subtitle === '' ? [] : [text(margin + 37, 13, light.muted, subtitle)]),
    drawing,
    ...caption.map((line, i) => text(top + inner + 26 + i * 16, 11.5, light.muted, line)),
  );
  return svg.outerHTML;
}
