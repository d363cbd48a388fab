import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseHTML } from 'linkedom';
import sharp from 'sharp';
import { UserError } from '../base/error.ts';
import { reason, writeWhole } from '../base/file.ts';
import { element, fontFamily, type SvgDocument, type SvgElement, wrapped } from './figure/compose.ts';
import { type Choice, type Choices, defaults, type Figure, type View } from './figure/figure.ts';
import { figures } from './figure/figures.ts';
import { light } from './figure/theme.ts';
import { picturesOf } from './picture.ts';
import type { Report } from './report.ts';

/** A figure on its own. */
export interface Still {
  /** Of the file, without its ending: what it shows, what was chosen, and the scale where there are several. */
  readonly name: string;
  readonly svg: string;
}

const width = 760;
const margin = 24;

const slug = (text: string) =>
  text
    .replaceAll(/[^\w.+-]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .toLowerCase();

/** The document that figures are drawn in outside of browsers. */
export function plainDocument(): SvgDocument {
  return (parseHTML('<!doctype html><html></html>') as unknown as { document: SvgDocument }).document;
}

/** All combinations of what is to be a file each; the rest as it is by default. */
function combinations(choices: readonly Choice[]): { readonly chosen: Choices; readonly parts: readonly string[] }[] {
  let all = [{ chosen: defaults(choices), parts: [] as readonly string[] }];
  for (const { id, options } of choices.filter(({ each }) => each))
    all = all.flatMap(({ chosen, parts }) =>
      options.map(({ value, label }) => ({ chosen: { ...chosen, [id]: value }, parts: [...parts, label] })),
    );
  return all;
}

/** With title and caption on white, as a file of its own. */
function standalone(drawing: SvgElement, figure: Figure, subtitle: string, document: SvgDocument): string {
  const inner = Number(drawing.getAttribute('height'));
  const caption = wrapped(figure.caption, width, 11.5);
  const top = margin + (subtitle === '' ? 34 : 54);
  const height = top + inner + 14 + caption.length * 16 + margin;
  const all = width + 2 * margin;
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

/** Every figure as a standalone SVG, for print and slides: on white, without anything to choose. */
export function stillsOf(report: Report): readonly Still[] {
  const document = plainDocument();
  const frame = { document, width, theme: light, still: true };
  const pictures = picturesOf(report);
  const several = report.comparisons.length > 1;
  return figures.flatMap((figure) =>
    report.comparisons.flatMap((comparison, index) => {
      const view: View = { report, pictures, comparison: index, hidden: new Set() };
      if ((figure.whole && index > 0) || !figure.applies(view)) return [];
      const scale = several && !figure.whole ? [comparison.label] : [];
      return combinations(figure.choices(view)).map(({ chosen, parts }): Still => {
        const drawing = figure.draw(view, chosen, frame);
        return {
          name: slug([figure.id, ...parts, ...scale].join('-')),
          svg: standalone(drawing, figure, [report.title, ...parts, ...scale].join(' · '), document),
        };
      });
    }),
  );
}

/** At twice the size, for screens of any density. */
export async function toPng(svg: string): Promise<Uint8Array> {
  return sharp(Buffer.from(svg), { density: 144 }).png({ compressionLevel: 9, palette: true }).toBuffer();
}

/** Writes every figure as SVG and PNG; returns the names. */
export async function writeStills(report: Report, folder: string): Promise<readonly string[]> {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw new UserError(`cannot make the folder ${folder}: ${reason(cause)}`, { cause });
  }
  const stills = stillsOf(report);
  for (const { name, svg } of stills) {
    writeWhole(join(folder, `${name}.svg`), `${svg}\n`);
    writeWhole(join(folder, `${name}.png`), await toPng(svg));
  }
  return stills.map(({ name }) => name);
}
