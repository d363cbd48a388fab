import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { UserError } from '../base/error.ts';
import { resolve } from './experiment.ts';

const folder = mkdtempSync(join(tmpdir(), 'dbench-faults-'));
afterAll(() => rmSync(folder, { recursive: true }));

const base = {
  name: 'faults',
  replicas: 4,
  data: { kind: 'synthetic', train: 64, test: 16 },
  model: { kind: 'mlp', hidden: [4] },
  batch: 4,
  epochs: 1,
  learningRate: { base: 0.1 },
};
const timed = { network: 'lan', devices: { compute: '1ms' } };

function problem(settings: object): string {
  try {
    resolve({ ...base, ...settings }, 'faults.yaml');
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
  return '';
}

const away = (...list: readonly (readonly [number, number | string, number | string])[]) => ({
  churn: { kind: 'list', away: list.map(([replica, from, to]) => ({ replica, from, to })) },
});

it.each([
  [{ loss: { kind: 'keep', probability: 1.5 } }, 'faults.loss.probability: must be a number from 0 to 1, got 1.5'],
  [{ loss: { kind: 'keep', probability: -1 } }, 'faults.loss.probability: must be a number from 0 to 1, got -1'],
  [
    { loss: { kind: 'retransmit', probability: 1 } },
    'faults.loss.probability: must be a number from 0 and below 1, got 1',
  ],
  [{ loss: { kind: 'drop', probability: 1 } }, '"drop" is not a known kind; use one of: retransmit, keep'],
  [
    { loss: { kind: 'retransmit', probability: 0.1 } },
    'loss: retransmit needs times, and there are none without a network',
  ],
  [{ wait: { kind: 'timeout', time: '1s' } }, 'wait: timeout needs times'],
  [{ wait: { kind: 'timeout', time: 3 } }, 'the time 3 has no unit; write it as in'],
  [away([0, '1s', '2s']), 'churn by time needs times'],
  [away([7, 1, 2]), 'faults.churn.away[0]: there is no replica 7, the last of 4 is 3'],
  [away([1, 5, 5]), 'replica 1 cannot be away from 5 to 5; to must be above from'],
  [away([1, 5, 9], [1, 8, 10]), 'away[1]: replica 1 is away from 8 to 10, but away[0] says from 5 to 9'],
  [away([0, 5, 9], [1, 3, 7], [2, 6, 8], [3, 6, 7]), 'all 4 replicas are away from step 6 on'],
  [away([0, 5, '9s']), 'some durations are numbers of steps, others are times'],
  [away([0, 5, '9 fortnights']), '"fortnights" is no unit of a time'],
  [{ churn: { kind: 'onOff', on: 0, off: 3 } }, 'on and off must be above 0'],
  [{ churn: { kind: 'diurnal', least: 0.9, period: 10 } }, 'most must be at least least = 0.9, got 0.8'],
] as const)('%j is refused: %s', (faults, message) => {
  expect(problem({ faults })).toContain(message);
});

it.each([
  [
    { ...timed, faults: { wait: { kind: 'quorum', count: 3 } } },
    'nobody hears more than 2 others on this topology, got 3',
  ],
  [{ algorithm: { kind: 'centralized' }, faults: away([0, 1, 2]) }, 'takes exact means over all replicas'],
  [{ algorithm: { kind: 'choco' }, faults: away([0, 1, 2]) }, 'has neighbours add up compressed messages'],
  [{ algorithm: { kind: 'd2' }, faults: away([0, 1, 2]) }, 'corrects for weights that are the same in every step'],
  [
    { algorithm: { kind: 'dsgt' }, faults: { loss: { kind: 'keep', probability: 0.1 } } },
    'averages a second row whose sum over the replicas must stay the same',
  ],
  [
    { ...timed, algorithm: { kind: 'ntk-dfl' }, faults: { wait: { kind: 'quorum', count: 1 } } },
    'sends its neighbours more than one message in a step',
  ],
  [{ consensus: { kind: 'adaptive' }, faults: away([0, 1, 2]) }, 'consensus control measures all replicas together'],
] as const)('%j is refused: %s', (settings, message) => {
  expect(problem(settings)).toContain(message);
});

it.each([
  { algorithm: { kind: 'dsgt' }, faults: { loss: { kind: 'keep', probability: 0.1, scope: 'edge' } } },
  { algorithm: { kind: 'centralized' }, ...timed, faults: { loss: { kind: 'retransmit', probability: 0.1 } } },
  { algorithm: { kind: 'qg-dsgdm' }, faults: { loss: { kind: 'keep', probability: 0.1 }, ...away([0, 1, 2]) } },
  { algorithm: { kind: 'sgp' }, ...timed, faults: { wait: { kind: 'quorum', count: 1 } } },
])('%j is fine', (settings) => {
  expect(problem(settings)).toBe('');
});

it('a trace becomes a list; a bad one is refused with its line', () => {
  const path = join(folder, 'trace.csv');
  const churn = { kind: 'trace', path, back: 'own' };
  writeFileSync(path, 'replica,from,to\n1,0.5,2\n\n3,10,1e2\n');
  const [run] = resolve({ ...base, ...timed, faults: { churn } }, 'test');
  expect(run!.faults!.churn).toEqual({
    kind: 'list',
    away: [
      { replica: 1, from: '0.5s', to: '2s' },
      { replica: 3, from: '10s', to: '100s' },
    ],
    back: 'own',
    noticed: '1s',
  });
  for (const [text, message] of [
    ['1,2,3\n', 'the first line must be "replica,from,to", got "1,2,3"'],
    ['replica,from,to\n1,2\n', 'line 2: expected a replica and two times in seconds, as in 3,10.5,60; got "1,2"'],
    ['replica,from,to\n1,2,x\n', 'got "1,2,x"'],
    ['replica,from,to\n1.5,2,3\n', 'got "1.5,2,3"'],
  ] as const) {
    writeFileSync(path, text);
    expect(problem({ ...timed, faults: { churn } })).toContain(message);
  }
  rmSync(path);
  expect(problem({ ...timed, faults: { churn } })).toContain('trace.csv');
});
