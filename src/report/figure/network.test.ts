import { expect, it } from 'vitest';
import type { NetworkRound, ReplicaFrame, RunReport } from '../report.ts';
import { plainDocument } from '../still.ts';
import { drawNetworkFrame, nodeText, quantityOf } from './network.ts';
import { light } from './theme.ts';

it('draws a replica that diverged like one without a figure, and the others by theirs', () => {
  const round: NetworkRound = {
    kind: 'ring',
    directed: false,
    columns: null,
    period: 1,
    all: 3,
    edges: [0, 1, 0, 2, 1, 2],
  };
  const shown = { step: 0, epoch: 0, loss: [Number.NaN, 1, Infinity, 3], edges: [Number.NaN, 1, 2] };
  const run = { tensors: [], experiment: { name: 'nan', replicas: 4, algorithm: { kind: 'dpsgd' } } };
  const frame = { document: plainDocument(), width: 400, theme: light, still: true };
  const svg = drawNetworkFrame(
    shown as unknown as ReplicaFrame,
    round,
    run as unknown as RunReport,
    'loss',
    frame,
    null,
  ).outerHTML;
  expect(svg).not.toMatch(/NaN|Infinity|undefined/);
  expect(svg).toContain('largest training loss: replica 3, 3');
  expect(svg).toContain('2 of 4 replicas lost, away or not measured');
  expect(nodeText(shown as unknown as ReplicaFrame, quantityOf('loss', []), 0)).toBe('replica 0: not measured');
});
