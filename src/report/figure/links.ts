import * as Plot from '@observablehq/plot';
import { bytes, number, percent } from './axis.ts';
import { compose } from './compose.ts';
import { tips } from './curve.ts';
import type { Figure, View } from './figure.ts';
import { drawable, implementationChoice, implementationOf, networkChoice, networkOf, oneOn } from './virtual.ts';

const shown = (view: View) => drawable(view, ({ links }) => links.length > 0);

export const links: Figure = {
  id: 'network-links',
  title: 'Use of links',
  caption:
    'Which links carry messages, and how much of the run’s time a port is busy with them: a row is a sender, a column a receiver. An exact mean counts as one around a ring.',
  applies: (view) => view.report.networks.length > 0 && shown(view).length > 0,
  choices: (view) => [networkChoice(view), implementationChoice(shown(view))],
  draw(view, choices, frame) {
    const network = networkOf(view, choices);
    const group = implementationOf(shown(view), choices);
    const { links: used } = network.runs[group.runs[0]!]!;
    const most = Math.max(...used.map(({ busy }) => busy), 1e-12);
    const n = group.replicas;
    const side = Math.min(frame.width - 80, 460);
    const axis = {
      ticks: Math.min(n, 8),
      tickFormat: (value: number) => (Number.isInteger(value) ? number(value) : ''),
    };
    const text = used.map(({ from, to, bytes: sent, busy }) => ({
      x: to,
      y: from,
      text: `${from} to ${to}\n${bytes(sent)}, busy ${percent(busy)}`,
    }));
    return compose(frame, {
      statements: [oneOn(view, group, network)],
      ramp: { label: 'busy share of the time', format: (share) => percent(share) },
      panels: [
        {
          height: side + 72,
          width: side + 76,
          x: { label: 'receiver', domain: [-0.5, n - 0.5], ...axis },
          y: { label: 'sender', domain: [n - 0.5, -0.5], ...axis },
          color: { type: 'linear', scheme: frame.theme.name === 'dark' ? 'viridis' : 'blues', domain: [0, most] },
          marks: [
            Plot.frame({ stroke: frame.theme.muted, strokeOpacity: 0.3 }),
            Plot.rect(used, {
              x1: ({ to }) => to - 0.5,
              x2: ({ to }) => to + 0.5,
              y1: ({ from }) => from - 0.5,
              y2: ({ from }) => from + 0.5,
              fill: 'busy',
            }),
            ...tips(text, frame),
          ],
        },
      ],
    });
  },
};
