import { expect, it } from 'vitest';
import { buildTopology } from '../topology/topology.ts';
import { divisionOf } from './division.ts';
import { rowExchange } from './exchange.ts';

const kinds = [
  { kind: 'ring' },
  { kind: 'exponential' },
  { kind: 'lattice', k: 6 },
  { kind: 'star' },
  { kind: 'complete' },
];

it.each(kinds)('$kind: everything that is sent is received, once, and all that W needs is there', (config) => {
  for (const [replicas, processes] of [
    [12, 1],
    [12, 3],
    [13, 5],
    [12, 12],
  ] as const) {
    const mixing = buildTopology(config, replicas, 1).mixing(0);
    const all = Array.from({ length: processes }, (_, p) => rowExchange(mixing, divisionOf(replicas, processes, p)));
    const { owner } = divisionOf(replicas, processes, 0);
    const sent = all.flatMap(({ sends }, from) => sends.map(({ replica, peer }) => `${replica}: ${from} to ${peer}`));
    const received = all.flatMap(({ receives }, to) =>
      receives.map(({ replica, peer }) => `${replica}: ${peer} to ${to}`),
    );
    expect(sent.toSorted()).toEqual(received.toSorted());
    expect(new Set(sent).size).toBe(sent.length);
    const needed = new Set<string>();
    for (let i = 0; i < replicas; i++)
      for (const j of mixing.source.subarray(mixing.start[i], mixing.start[i + 1]))
        if (owner[i] !== owner[j]) needed.add(`${j}: ${owner[j]} to ${owner[i]}`);
    expect(new Set(received)).toEqual(needed);
  }
});

it('a ring in blocks sends two rows a process, whatever its size', () => {
  const mixing = buildTopology({ kind: 'ring' }, 64, 1).mixing(0);
  expect(rowExchange(mixing, divisionOf(64, 4, 1))).toEqual({
    sends: [
      { replica: 16, peer: 0 },
      { replica: 31, peer: 2 },
    ],
    receives: [
      { replica: 15, peer: 0 },
      { replica: 32, peer: 2 },
    ],
  });
});
