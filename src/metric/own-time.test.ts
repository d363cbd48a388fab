import { expect, it } from 'vitest';
import { resolve } from '../experiment/experiment.ts';
import { ownTimes } from './own-time.ts';
import type { RunSeries } from './series.ts';

const [experiment] = resolve(
  {
    name: 'pairs',
    replicas: 8,
    data: { kind: 'synthetic', classes: 2, shape: [4], train: 640, test: 40 },
    model: { kind: 'mlp', hidden: [4] },
    batch: 8,
    epochs: 1,
    learningRate: { base: 0.1 },
    algorithm: { kind: 'ad-psgd' },
    network: { kind: 'uniform', latency: '0us', rate: '1TB/s' },
    devices: { compute: '1ms', each: [1, 1, 1, 10, 1, 1, 1, 1] },
  },
  'test',
);

it('the times of a run in pairs, once more from its queue', () => {
  const [count, size] = [100, 250];
  const series = {
    tensors: [{ name: 'x', shape: String(size), size }],
    steps: { step: Float64Array.from({ length: count }, (_, t) => t) },
  };
  const { seconds, waiting, links, happenings } = ownTimes(experiment!, series as unknown as RunSeries);
  // Exchanges take 1 ns: seven devices make a step per millisecond, one a tenth of it.
  expect(seconds.at(-1)).toBeCloseTo((count * 8) / 7100, 3);
  expect([...seconds]).toEqual([...seconds].sort((a, b) => a - b));
  expect(Math.max(...waiting)).toBeLessThan(0.01);
  // Each exchange sends a row both ways, along the ring.
  expect(links).toHaveLength(16);
  expect(links.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(count * 8 * 2 * 4 * size);
  // In four steps in the middle, everyone is seen computing, the slow one all the time.
  const bars = happenings.filter((one) => one.what === 'compute');
  expect(new Set(bars.map(({ replica }) => replica)).size).toBe(8);
  expect(bars.filter(({ replica }) => replica === 3).length).toBeLessThanOrEqual(2);
});
