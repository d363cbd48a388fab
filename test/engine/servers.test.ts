import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkpointsIn, rewindCheckpoints } from '../../src/engine/checkpoint.ts';
import { outcomeOf } from './runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'dbench-servers-'));
afterAll(() => rmSync(folder, { recursive: true }));

const servers = (count: number, more: object = {}) => ({ kind: 'parallel-servers', servers: count, ...more });
const plain = { optimizer: { kind: 'sgd' }, learningRate: { base: 0.1 }, epochs: 2 };

describe('special cases', () => {
  it('one client a server, for good, is D-PSGD to the last bit', async () => {
    const parallel = await outcomeOf({
      ...{ ...plain, replicas: 12, topology: { kind: 'ring' } },
      algorithm: servers(6, { scheduler: { kind: 'fixed' } }),
    });
    const gossip = await outcomeOf({ ...plain, replicas: 6, topology: { kind: 'ring' } });
    const clients = parallel.steps.map(({ loss }) => loss.slice(0, 6));
    expect(clients).toEqual(gossip.steps.map(({ loss }) => loss));
    expect(parallel.evaluations.at(-1)!.local).toEqual(gossip.evaluations.at(-1)!.local);
    expect(parallel.evaluations.at(-1)!.replicas).toEqual([6, 7, 8, 9, 10, 11]);
    // Servers do not train.
    for (const { loss, gradientNorm } of parallel.steps)
      expect([...loss.slice(6), ...gradientNorm.slice(6)]).toEqual(new Array(12).fill(null));
  });

  it('one server for all clients is federated averaging', async () => {
    const parallel = await outcomeOf({
      ...{ ...plain, replicas: 7 },
      algorithm: servers(1, { scheduler: { kind: 'all' }, localSteps: 4 }),
    });
    const local = await outcomeOf({ ...plain, replicas: 6, algorithm: { kind: 'local-sgd', period: 4 } });
    const losses = local.steps.flatMap(({ loss }) => loss as number[]);
    parallel.steps
      .flatMap(({ loss }) => loss.slice(0, 6) as number[])
      .forEach((loss, at) => {
        expect(loss).toBeCloseTo(losses[at]!, 5);
      });
    // What the server has is what all have: it is the average of all.
    expect(parallel.evaluations.at(-1)!.merged!.loss).toBeCloseTo(parallel.evaluations.at(-1)!.local[0]!.loss, 6);
  });
});

it('counts what clients send up, servers among themselves and down', async () => {
  const { steps } = await outcomeOf({
    ...{ ...plain, epochs: 1, replicas: 12, topology: { kind: 'ring' } },
    algorithm: servers(3, { localSteps: 2 }),
  });
  const parameters = 10 * 16 + 16 + 16 * 4 + 4;
  // Nine up, a ring of three, nine down: by twelve replicas.
  const [messages, bytes] = [(9 + 6 + 9) / 12, ((9 + 6 + 9) / 12) * 4 * parameters];
  expect(steps.map(({ sentMessages }) => sentMessages)).toEqual(
    steps.map(({ step }) => (step % 2 === 0 ? 0 : messages)),
  );
  expect(steps[1]!.sentBytes).toBeCloseTo(bytes, 6);
});

/** The bits follow from the experiment alone, whoever rests. */
it.each([
  ['random', { scheduler: { kind: 'random' }, gamma: 0.5, localSteps: 3 }, {}],
  ['oldest', { scheduler: { kind: 'oldest', clients: 2 } }, {}],
  [
    'fastest',
    { scheduler: { kind: 'fastest', clients: 2 }, carry: false },
    { network: 'lan', devices: { compute: '10ms', each: [3, 1, 2, 5, 4, 1, 1, 2, 1, 1, 1, 1] } },
  ],
])('%s: the same bits with 1, 2 and 3 workers, straight through and resumed', async (name, more, given) => {
  const settings = { ...plain, replicas: 12, algorithm: servers(3, more), checkpoints: { keep: 9 }, ...given };
  const checkpoints = join(folder, name);
  const whole = await outcomeOf(settings, { workers: 2, checkpoints: { folder: checkpoints, from: undefined } });
  const from = checkpointsIn(checkpoints)[0]!;
  rewindCheckpoints(checkpoints, from);
  const resumed = await outcomeOf(settings, { workers: 3, checkpoints: { folder: checkpoints, from } });
  const alone = await outcomeOf(settings, { workers: 1 });
  expect([resumed.end.paramsSha256, alone.end.paramsSha256]).toEqual([whole.end.paramsSha256, whole.end.paramsSha256]);
  const { clients, local } = whole.evaluations.at(-1)!;
  expect(clients!.loss).toBeGreaterThan(0);
  expect(local).toHaveLength(3);
  const trained = whole.steps[0]!.loss.flatMap((loss, i) => (loss === null ? [] : [i]));
  expect(trained.length).toBe(name === 'random' ? 9 : 6);
});

it.each([
  [{ algorithm: servers(12) }, /12 of 12 replicas cannot be servers/],
  [{ algorithm: servers(2, { reach: 3 }) }, /a client cannot reach 3/],
  [{ algorithm: servers(2, { scheduler: { kind: 'nearest' } }) }, /needs network and devices/],
  [{ algorithm: servers(2), consensus: { kind: 'fixed' } }, /nothing to control/],
  [{ algorithm: servers(4), topology: { kind: 'hypercube', k: 3 } }, /topology/],
])('%j is refused', async (settings, message) => {
  await expect(outcomeOf({ ...plain, replicas: 12, ...settings })).rejects.toThrow(message);
});
