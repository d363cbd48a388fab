import * as Plot from '@observablehq/plot';
import { percent } from './axis.ts';
import { compose } from './compose.ts';
import { legendOf, tips } from './curve.ts';
import { type Figure, groupsOf, styleOf } from './figure.ts';
import { allOn, networkChoice, networkOf } from './virtual.ts';

export const waiting: Figure = {
  id: 'network-waiting',
  title: 'Waiting on a network',
  caption:
    'The share of its time that each replica does not compute, as it waits for messages: of the first seed. A replica that waits least is what the others wait for.',
  applies: ({ report }) => report.networks.length > 0,
  choices: (view) => [networkChoice(view)],
  draw(view, choices, frame) {
    const { report } = view;
    const network = networkOf(view, choices);
    const groups = groupsOf(view);
    const curves = groups.map((group) => ({
      name: group.name,
      style: styleOf(report, group.name, frame.theme),
      points: network.runs[group.runs[0]!]!.waiting.map((share, replica) => ({ x: replica, y: 100 * share })),
    }));
    const text = curves.flatMap(({ name, points }) =>
      points.map(({ x, y }) => ({ x, y, text: `${name}\nreplica ${x} waits ${percent(y / 100)}` })),
    );
    return compose(frame, {
      legend: legendOf(report, groups, frame),
      statements: [allOn(view, network)],
      panels: [
        {
          height: 280,
          x: { label: 'replica', ticks: 8, inset: 6 },
          y: { label: 'waiting (% of its time)', grid: true, domain: [0, 100], ticks: 5 },
          marks: [
            ...curves.map(({ points, style }) =>
              Plot.dot(points, { x: 'x', y: 'y', r: 2.2, symbol: style.symbol, stroke: style.colour }),
            ),
            ...tips(text, frame),
          ],
        },
      ],
    });
  },
};
