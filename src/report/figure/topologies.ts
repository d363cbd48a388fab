import { element, fontFamily, fontSize, wrapped } from './compose.ts';
import { type Figure, groupsOf, type Picture, type View } from './figure.ts';
import type { Theme } from './theme.ts';

const box = 240;

/** The drawings to show, with the names of all that are shown and have it. */
function shown(view: View): readonly { readonly titles: readonly string[]; readonly picture: Picture }[] {
  const groups = new Set(groupsOf(view));
  return view.pictures.flatMap((picture) => {
    const own = picture.of.filter(({ group }) => groups.has(view.report.groups[group]!));
    return own.length === 0 ? [] : [{ picture, titles: own.map(({ title }) => title) }];
  });
}

function style({ name, ink, background, series }: Theme): string {
  const rim = name === 'dark' ? '#303b46' : '#e3e8ee';
  return [
    `.dbench-picture .rim{fill:none;stroke:${rim}}`,
    `.dbench-picture .edges path{fill:none;stroke:${series[1]}}`,
    `.dbench-picture .arrows{fill:${series[1]}}`,
    `.dbench-picture .nodes circle{fill:${series[4]};stroke:${background}}`,
    `.dbench-picture .dots{stroke:${series[4]};stroke-linecap:round}`,
    `.dbench-picture text{fill:${ink}}`,
  ].join('\n');
}

export const topologies: Figure = {
  id: 'topologies',
  title: 'Topologies',
  caption:
    'Who averages with whom: a dot is a replica, a line a connection. The larger the spectral gap, the faster differences between the replicas fade. Centralized training averages the gradients of all; if the topology changes over the epochs, some of its stages are drawn.',
  wide: true,
  applies: (view) => shown(view).length > 0,
  choices: () => [],
  draw(view, _, { document, width, theme }) {
    const pictures = shown(view);
    const most = Math.max(2, Math.floor(width / 165));
    // Rows of about the same length.
    const columns = Math.ceil(pictures.length / Math.ceil(pictures.length / most));
    const cell = width / columns;
    const side = Math.min(cell - 24, 200);
    const rows = Array.from({ length: Math.ceil(pictures.length / columns) }, (_, row) =>
      pictures.slice(row * columns, (row + 1) * columns),
    );
    const parts: unknown[] = [];
    let y = 4;
    for (const row of rows) {
      const texts = row.map(({ titles, picture }) => [
        ...titles.flatMap((title) => wrapped(title, cell - 10)).map((text) => ({ text, bold: true })),
        ...picture.facts.flatMap((fact) => wrapped(fact, cell - 10).map((text) => ({ text, bold: false }))),
      ]);
      row.forEach(({ picture: { shapes } }, column) => {
        const centre = (column + 0.5) * cell;
        const inner = element(document, 'svg', {
          x: centre - side / 2,
          y,
          width: side,
          height: side,
          viewBox: `0 0 ${box} ${box}`,
        });
        (inner as unknown as { innerHTML: string }).innerHTML = shapes;
        const lines = texts[column]!.map(({ text, bold }, i) => {
          const look = bold ? { 'font-weight': 600 } : { 'fill-opacity': 0.75 };
          return element(
            document,
            'text',
            { x: centre, y: y + side + 18 + i * 16, 'text-anchor': 'middle', ...look },
            text,
          );
        });
        parts.push(inner, ...lines);
      });
      y += side + 30 + 16 * Math.max(...texts.map((lines) => lines.length));
    }
    const look = { 'font-size': fontSize, 'font-family': fontFamily, color: theme.ink };
    const size = { width, height: y, viewBox: `0 0 ${width} ${y}` };
    const rules = element(document, 'style', {}, style(theme));
    return element(document, 'svg', { class: 'dbench-figure dbench-picture', ...size, ...look }, rules, ...parts);
  },
};
