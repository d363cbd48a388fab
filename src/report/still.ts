import { join } from 'node:path';
import { parseHTML } from 'linkedom';
import sharp from 'sharp';
import { makeFolder, writeWhole } from '../base/file.ts';
import type { SvgDocument } from './figure/compose.ts';
import { type Choice, type Choices, defaults, type View } from './figure/figure.ts';
import { figures } from './figure/figures.ts';
import { plain, plainWidth, standalone, stillWidth } from './figure/standalone.ts';
import { light } from './figure/theme.ts';
import { picturesOf } from './picture.ts';
import type { Report } from './report.ts';

/** A figure on its own. */
export interface Still {
  /** Of the file, without its ending: what it shows, what was chosen, and the scale if there are several. */
  readonly name: string;
  readonly svg: string;
}

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

export interface StillOptions {
  /** Without title and caption, for papers. */
  readonly plain?: boolean | undefined;
}

/** Every figure as an SVG of its own, for print and slides: on white, without anything to choose. */
export function stillsOf(report: Report, options: StillOptions = {}): readonly Still[] {
  const document = plainDocument();
  const frame = { document, width: options.plain ? plainWidth : stillWidth, theme: light, still: true };
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
          svg: options.plain
            ? plain(drawing, figure, document)
            : standalone(drawing, figure, [report.title, ...parts, ...scale].join(' · '), document),
        };
      });
    }),
  );
}

/** At twice the size, for screens of any density. */
export async function toPng(svg: string): Promise<Uint8Array> {
  return sharp(Buffer.from(svg), { density: 144 }).png({ palette: true, effort: 3 }).toBuffer();
}

/** Writes every figure as SVG and PNG; returns the files. */
export async function writeStills(
  report: Report,
  folder: string,
  options: StillOptions = {},
): Promise<readonly string[]> {
  makeFolder(folder);
  const files: string[] = [];
  for (const { name, svg } of stillsOf(report, options)) {
    const [vector, raster] = [join(folder, `${name}.svg`), join(folder, `${name}.png`)];
    writeWhole(vector, `${svg}\n`);
    writeWhole(raster, await toPng(svg));
    files.push(vector, raster);
  }
  return files;
}
