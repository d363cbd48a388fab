import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkpointsIn, rewindCheckpoints } from '../../src/engine/checkpoint.ts';
import { outcomeOf, shaOf } from './runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'dbench-faults-'));
afterAll(() => rmSync(folder, { recursive: true }));

const churn = { kind: 'onOff', on: 10, off: 5 };
const keep = { kind: 'keep', probability: 0.2 };
const away = [
  { replica: 3, from: 5, to: 12 },
  { replica: 11, from: 2, to: 22 },
];

const timed = {
  optimizer: { kind: 'sgd' },
  network: { kind: 'lan' },
  devices: { compute: '10ms', slow: { kind: 'steps', probability: 0.1, factor: 3 } },
};

/** Runs in which learning is not that of the whole topology. */
const cases = {
  loss: { faults: { loss: keep } },
  'loss of edges, gradient tracking': {
    algorithm: { kind: 'dsgt' },
    optimizer: { kind: 'sgd' },
    faults: { loss: { ...keep, scope: 'edge' } },
  },
  'churn, by the mean of neighbours': { faults: { loss: keep, churn } },
  'churn, push-sum, from the start': { algorithm: { kind: 'sgp' }, faults: { churn: { ...churn, back: 'initial' } } },
  'churn, quasi-global momentum': {
    algorithm: { kind: 'qg-dsgdm' },
    optimizer: { kind: 'sgd' },
    faults: { churn: { kind: 'list', away, back: 'own' } },
  },
  'a timeout, replicas that come and go by time': {
    ...timed,
    faults: {
      wait: { kind: 'timeout', time: '5ms' },
      churn: { kind: 'onOff', on: '200ms', off: '60ms', noticed: '5ms' },
    },
  },
  'running sums, a quorum and loss': {
    ...timed,
    algorithm: { kind: 'robust-push-sum' },
    faults: { wait: { kind: 'quorum', count: 1 }, loss: keep },
  },
} as const;

it.each(Object.entries(cases))(
  '%s: the same bits with 1, 2 and 3 workers, straight through and resumed',
  async (name, settings) => {
    const given = { checkpoints: { keep: 9 }, ...settings };
    const checkpoints = join(folder, name.replace(/\W/g, '-'));
    const whole = await outcomeOf(given, { workers: 2, checkpoints: { folder: checkpoints, from: undefined } });
    expect(whole.end.status).toBe('complete');
    expect(whole.end.paramsSha256).not.toBe(await shaOf({ ...settings, faults: undefined }));
    const from = checkpointsIn(checkpoints)[0]!;
    rewindCheckpoints(checkpoints, from);
    const resumed = await outcomeOf(given, { workers: 3, checkpoints: { folder: checkpoints, from } });
    expect(resumed.end.paramsSha256).toBe(whole.end.paramsSha256);
    const alone = await outcomeOf(given, { workers: 1 });
    const figures = ({ steps }: typeof whole) => steps.map(({ ms: _, ...rest }) => rest);
    expect(figures(alone)).toEqual(figures(whole));
    expect(alone.end.paramsSha256).toBe(whole.end.paramsSha256);
  },
);

describe('a replica that is away', () => {
  const faults = { churn: { kind: 'list', away } };

  it('has no numbers in the steps it misses, sends nothing, and comes back', async () => {
    const { steps, events, evaluations } = await outcomeOf({ faults });
    const none = (replica: number) => steps.filter(({ loss }) => loss[replica] === null).map(({ step }) => step);
    expect(none(3)).toEqual([5, 6, 7, 8, 9, 10, 11]);
    expect(none(11)).toEqual(Array.from({ length: 20 }, (_, t) => t + 2));
    expect(none(0)).toEqual([]);
    expect(events.filter(({ type }) => type === 'presence')).toEqual([
      { type: 'presence', step: 2, left: [11], returned: [], away: 1 },
      { type: 'presence', step: 5, left: [3], returned: [], away: 2 },
      { type: 'presence', step: 12, left: [], returned: [3], away: 1 },
      { type: 'presence', step: 22, left: [], returned: [11], away: 0 },
    ]);
    // Of the ring's 24 messages 4 go to or from replica 11, which leaves 11 replicas with 20 of them.
    expect(steps.map(({ sentMessages }) => sentMessages).slice(0, 4)).toEqual([2, 2, 20 / 11, 20 / 11]);
    expect(evaluations[0]!.replicas).toEqual([0, 1, 2, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('is not part of the mean, and its row stays', async () => {
    // Away from the first step to the last: the others train as a chain, and what it has are the first parameters.
    const alone = { churn: { kind: 'list', away: [{ replica: 3, from: 0, to: 1000 }] } };
    const { steps } = await outcomeOf({ replicas: 4, faults: alone });
    const distances = steps.map(({ replicaDistance }) => replicaDistance!);
    expect(distances.every((each) => each[3] === null)).toBe(true);
    const squares = distances[5]!.slice(0, 3).map((d) => d! ** 2);
    expect(Math.sqrt(squares.reduce((a, b) => a + b) / 3)).toBeCloseTo(steps[5]!.distance!, 6);
  });
});

it('messages that are lost were sent, and if all are lost nobody hears anybody', async () => {
  const { steps, end } = await outcomeOf({ faults: { loss: { kind: 'keep', probability: 1 } } });
  const whole = await outcomeOf({});
  expect(steps.map(({ sentBytes }) => sentBytes)).toEqual(whole.steps.map(({ sentBytes }) => sentBytes));
  expect(end.paramsSha256).not.toBe(whole.end.paramsSha256);
  expect(await shaOf({ faults: { loss: { kind: 'keep', probability: 0 } } })).toBe(whole.end.paramsSha256);
});

describe('on a network', () => {
  it('messages that are sent again change times and nothing else', async () => {
    const loss = { kind: 'retransmit', probability: 0.3, after: '50ms' };
    const [whole, lossy] = [await outcomeOf(timed), await outcomeOf({ ...timed, faults: { loss } })];
    expect(lossy.end.paramsSha256).toBe(whole.end.paramsSha256);
    const last = ({ evaluations }: typeof whole) => evaluations.at(-1)!.mergedVirtualSeconds!;
    expect(last(lossy)).toBeGreaterThan(last(whole) + 0.5);
    const sum = ({ events }: typeof whole, column: 'messages' | 'lost' | 'late' | 'bytes') =>
      events.flatMap((event) => (event.type === 'links' ? event[column] : [])).reduce<number>((a, b) => a + b!, 0);
    // Every loss is one more copy.
    expect(sum(lossy, 'messages')).toBe(sum(whole, 'messages') + sum(lossy, 'lost'));
    expect(sum(lossy, 'bytes') / sum(whole, 'bytes')).toBeCloseTo(sum(lossy, 'messages') / sum(whole, 'messages'), 9);
    expect(sum(lossy, 'lost') / sum(whole, 'messages')).toBeCloseTo(0.3 / 0.7, 1);
  });

  it('who does not wait is sooner, and what comes late is counted', async () => {
    const faults = { wait: { kind: 'quorum', count: 1 } };
    const [whole, quorum] = [await outcomeOf(timed), await outcomeOf({ ...timed, faults })];
    const last = ({ evaluations }: typeof whole) => evaluations.at(-1)!.mergedVirtualSeconds!;
    expect(last(quorum)).toBeLessThan(last(whole));
    const late = quorum.events.flatMap((event) => (event.type === 'links' ? event.late : []));
    expect(late.reduce<number>((a, b) => a + b!, 0)).toBeGreaterThan(10);
  });
});
