import * as Plot from '@observablehq/plot';
import { number } from './axis.ts';
import { compose } from './compose.ts';
import { type Figure, groupsOf, type View } from './figure.ts';
import type { Theme } from './theme.ts';

function rowsOf(view: View) {
  return groupsOf(view).flatMap((group) =>
    group.runs.map((index, place) => {
      const { summary, plannedSteps } = view.report.runs[index]!;
      const { steps, status } = summary;
      const share = status === 'complete' ? 1 : plannedSteps === null ? 0 : Math.min(1, steps / plannedSteps);
      const of = plannedSteps === null || status === 'complete' ? '' : ` of ${number(plannedSteps)}`;
      const name = group.runs.length > 1 ? `${group.name}, seed ${group.seeds[place]}` : group.name;
      return { name, share, status, text: `${status}, ${number(steps)}${of} steps` };
    }),
  );
}

const colours = ({ series, muted }: Theme): Readonly<Record<string, string>> => ({
  complete: series[2]!,
  running: series[1]!,
  diverged: series[4]!,
  stopped: series[3]!,
  interrupted: muted,
});

/** More bars would be a page of their own. */
const mostRows = 60;

export const progress: Figure = {
  id: 'progress',
  title: 'How far the runs are',
  caption:
    'Steps done of those planned. A run that was stopped or interrupted can be resumed; one that diverged cannot.',
  applies: (view) => rowsOf(view).length > 0,
  choices: () => [],
  draw(view, _, frame) {
    const all = rowsOf(view);
    const rows = all.slice(0, mostRows);
    const left = Math.min(190, frame.width / 2.6);
    const fits = Math.max(8, Math.floor(left / 7.2));
    const by = colours(frame.theme);
    const panel: Plot.PlotOptions = {
      height: 56 + 26 * rows.length,
      marginLeft: left,
      marginTop: 8,
      x: { label: 'share of the steps (%)', domain: [0, 100], ticks: 5, grid: true },
      y: {
        type: 'band',
        label: null,
        domain: rows.map((_, i) => i),
        padding: 0.3,
        tickSize: 0,
        tickFormat: (i: number) =>
          rows[i]!.name.length > fits ? `${rows[i]!.name.slice(0, fits - 1)}…` : rows[i]!.name,
      },
      marks: [
        Plot.barX(rows, { x: 100, y: (_, i: number) => i, fill: frame.theme.shade }),
        Plot.barX(rows, {
          x: ({ share }) => 100 * share,
          y: (_, i: number) => i,
          fill: ({ status }) => by[status]!,
          fillOpacity: 0.75,
        }),
        Plot.text(rows, {
          x: 1,
          y: (_, i: number) => i,
          text: 'text',
          textAnchor: 'start',
          fill: frame.theme.ink,
          stroke: frame.theme.background,
          strokeWidth: 2.5,
          strokeOpacity: 0.6,
        }),
      ],
    };
    const more = all.length > mostRows ? [`The first ${mostRows} of ${number(all.length)} runs.`] : [];
    return compose(frame, { statements: more, panels: [panel] });
  },
};
