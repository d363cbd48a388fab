import { expect, it } from 'vitest';
import { resolve } from '../experiment/experiment.ts';
import { devicesOf } from '../network/devices.ts';
import { retime } from './retime.ts';
import type { RunSeries } from './series.ts';

const [n, parameters, steps] = [8, 250, 6];
const mb = { kind: 'uniform', latency: '1ms', rate: '1MB/s' };
const devices = devicesOf(undefined, { compute: '10ms' });

/** A run of this algorithm, as its events tell it: `gossips` and measured distances are those of each step. */
function timed(settings: object, { gossips = 1, distance = Number.NaN } = {}) {
  const [experiment] = resolve(
    {
      name: 'timed',
      replicas: n,
      data: { kind: 'synthetic' },
      model: { kind: 'mlp' },
      batch: 4,
      epochs: 2,
      learningRate: { base: 0.1 },
      ...settings,
    },
    'timed',
  );
  const column = (value: (step: number) => number) => Float64Array.from({ length: steps }, (_, step) => value(step));
  const series = {
    tensors: [{ name: 'weight', shape: '250', size: parameters }],
    stepsPerEpoch: 3,
    steps: {
      step: column((step) => step),
      epoch: column((step) => Math.floor(step / 3)),
      gossips: column(() => gossips),
      controlledDistance: column(() => distance),
      branch: column(() => Number.NaN),
    },
  } as unknown as RunSeries;
  return retime(experiment!, series, { network: mb, devices });
}

const milliseconds = (seconds: Float64Array) => Array.from(seconds, (each) => Math.round(1e6 * each) / 1e3);
const sent = (links: readonly { readonly bytes: number }[]) => links.reduce((sum, { bytes }) => sum + bytes, 0);

it('a ring takes compute, latency and two messages per step; bytes on the links are those that replicas send', () => {
  const { seconds, links, waiting, path } = timed({ topology: { kind: 'ring' } });
  expect(milliseconds(seconds)).toEqual([13, 26, 39, 52, 65, 78]);
  expect(sent(links)).toBe(n * steps * 2 * 4 * parameters);
  expect(links).toHaveLength(2 * n);
  for (const share of waiting) expect(share).toBeCloseTo(3 / 13, 12);
  // Four steps in the middle: their critical path is as long as they are.
  expect(path[0]!.start).toBe(13e6);
  expect(path.at(-1)!.end).toBe(65e6);
});

it('goes by the gossips that were made, and waits where distances were measured', () => {
  expect(milliseconds(timed({}, { gossips: 3 }).seconds)[0]).toBe(10 + 3 * 3);
  expect(milliseconds(timed({}, { gossips: 3, distance: 1 }).seconds)[0]).toBeGreaterThan(10 + 3 * 3 + 3);
});

it('follows a topology that changes, and averages in some steps only', () => {
  const onePeer = timed({ topology: { kind: 'one-peer-exponential' } });
  expect(milliseconds(onePeer.seconds)).toEqual([12, 24, 36, 48, 60, 72]);
  expect(onePeer.links).toHaveLength(3 * n);
  const piecewise = timed({
    topology: {
      kind: 'piecewise',
      phases: [
        { from: 0, topology: { kind: 'ring' } },
        { from: 1, topology: { kind: 'complete' } },
      ],
    },
  });
  expect(milliseconds(piecewise.seconds)).toEqual([13, 26, 39, 57, 75, 93]);
  const local = timed({ algorithm: { kind: 'dpsgd', localSteps: 3 } });
  expect(milliseconds(local.seconds)).toEqual([10, 20, 33, 43, 53, 66]);
});

it('all-reduce sends as much as it counts, and ends for all together', () => {
  const { seconds, links } = timed({ algorithm: { kind: 'centralized' } });
  expect(sent(links)).toBeCloseTo(steps * 2 * (n - 1) * 4 * parameters, 6);
  // The tree is faster here: 2 · 3 levels of 1 ms latency and 1 ms each.
  expect(milliseconds(seconds)[0]).toBe(22);
});

it('servers and clients: bytes on the links are those that are counted, and resting clients compute nothing', () => {
  const algorithm = { kind: 'parallel-servers', servers: 2, scheduler: { kind: 'oldest', clients: 1 } };
  const { seconds, links, waiting } = timed({ algorithm });
  // In every step two clients up, two servers with each other, two clients down.
  expect(sent(links)).toBe(steps * 6 * 4 * parameters);
  // A client computes 10 ms, up and down take 2 each, and servers 1 ms or 2 between: the last step ends after all of these.
  expect(seconds.at(-1)!).toBeGreaterThan(steps * 0.014);
  // Of six clients each trains in two of six steps; servers never compute.
  expect(waiting.slice(6)).toEqual([1, 1]);
  for (const share of waiting.slice(0, 6)) expect(share).toBeGreaterThan(0.5);
});
