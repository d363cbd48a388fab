import * as Plot from '@observablehq/plot';
import { timeText } from '../../network/text.ts';
import type { VirtualReport } from '../report.ts';
import { number } from './axis.ts';
import { compose } from './compose.ts';
import { tips } from './curve.ts';
import type { Figure, View } from './figure.ts';
import { drawable, implementationChoice, implementationOf, networkChoice, networkOf, oneOn } from './virtual.ts';

/** Replicas in the picture: more rows could not be told apart. */
const mostRows = 16;

type Happening = VirtualReport['runs'][number]['happenings'][number];

const shown = (view: View) => drawable(view, ({ happenings }) => happenings.length > 0);

export const gantt: Figure = {
  id: 'network-steps',
  title: 'A few steps on a network',
  caption:
    'What replicas do in four steps in the middle of the run: bars are computing, thin lines messages from the sender’s row to the receiver’s, from the moment they begin to leave until they are there. The thick line is the critical path: what the end of the last step had to wait for. Only the first replicas are drawn.',
  wide: true,
  applies: (view) => view.report.networks.length > 0 && shown(view).length > 0,
  choices: (view) => [networkChoice(view), implementationChoice(shown(view))],
  draw(view, choices, frame) {
    const network = networkOf(view, choices);
    const group = implementationOf(shown(view), choices);
    const { happenings, path } = network.runs[group.runs[0]!]!;
    const first = Math.min(...happenings.map((one) => (one.what === 'message' ? one.ready : one.start)));
    const at = (ns: number) => (ns - first) / 1e6;
    const rows = Math.min(mostRows, group.replicas);
    const bars = happenings.filter(
      (one): one is Extract<Happening, { what: 'compute' }> => one.what === 'compute' && one.replica < rows,
    );
    const messages = happenings.filter(
      (one): one is Extract<Happening, { what: 'message' }> =>
        one.what === 'message' && one.from < rows && one.to < rows,
    );
    const means = happenings.filter((one): one is Extract<Happening, { what: 'mean' }> => one.what === 'mean');
    const critical = path.filter(({ replica, to = replica, start }) => replica < rows && to < rows && start >= first);
    const colour = frame.theme.series;
    const text = bars.map((bar) => ({
      x: at((bar.start + bar.end) / 2),
      y: bar.replica,
      text: `replica ${bar.replica}, step ${number(bar.step)}\ncomputes ${timeText(bar.end - bar.start)}`,
    }));
    return compose(frame, {
      statements: [
        `${oneOn(view, group, network)}${group.replicas > rows ? `, replicas 0 to ${rows - 1} of ${group.replicas}` : ''}`,
      ],
      panels: [
        {
          height: 70 + 22 * rows,
          x: { label: 'milliseconds', ticks: 8 },
          y: {
            label: 'replica',
            type: 'linear',
            domain: [rows - 0.5, -0.5],
            ticks: rows,
            tickFormat: (value: number) => (Number.isInteger(value) ? number(value) : ''),
          },
          marks: [
            Plot.rect(means, {
              x1: (one) => at(one.start),
              x2: (one) => at(one.end),
              y1: -0.5,
              y2: rows - 0.5,
              fill: frame.theme.shade,
            }),
            Plot.rect(bars, {
              x1: (one) => at(one.start),
              x2: (one) => at(one.end),
              y1: (one) => one.replica - 0.32,
              y2: (one) => one.replica + 0.32,
              fill: colour[6]!,
              stroke: frame.theme.background,
              strokeWidth: 0.5,
            }),
            Plot.link(messages, {
              x1: (one) => at(one.start),
              x2: (one) => at(one.end),
              y1: (one) => one.from,
              y2: (one) => one.to,
              stroke: frame.theme.muted,
              strokeWidth: 0.5,
              strokeOpacity: messages.length > 600 ? 0.25 : 0.6,
            }),
            Plot.link(critical, {
              x1: (one) => at(one.start),
              x2: (one) => at(one.end),
              y1: (one) => one.replica,
              y2: (one) => one.to ?? one.replica,
              stroke: colour[4]!,
              strokeWidth: 2.4,
            }),
            ...tips(text, frame),
          ],
        },
      ],
    });
  },
};
