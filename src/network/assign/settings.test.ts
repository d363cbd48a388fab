import { describe, expect, it } from 'vitest';
import { cases } from './cases.ts';
import { listedCost } from './search.ts';
import { readSchedule } from './settings.ts';

const given = { network: 'aws', devices: 10, stages: 5, gradients: '650MB', activations: '10MB' };

describe('a schedule that is asked for', () => {
  it('takes the slower of path and ports, and half of a round trip unless the whole is asked for', () => {
    const { problem } = readSchedule(given, 'file');
    // Oregon to Virginia: half of 67 ms, .79 Gb/s.
    expect(problem.hop[1]).toBeCloseTo(0.0335 + (8 * 10e6) / 0.79e9, 9);
    expect(readSchedule({ ...given, roundTrips: true }, 'file').problem.hop[1]! - problem.hop[1]!).toBeCloseTo(
      0.0335,
      9,
    );
    const home = readSchedule(
      { ...given, network: { kind: 'uniform', latency: '1ms', rate: '1Gb/s', up: '10Mb/s' } },
      'file',
    );
    expect(home.problem.hop[1]).toBeCloseTo(0.001 + (8 * 10e6) / 10e6, 9);
  });

  it.each([
    [{ stages: 3 }, /10 devices cannot be divided into 3 groups/],
    [{ activations: 10 }, /activations: the size 10 has no unit/],
    [{ gradients: '-1MB' }, /gradients: a size must be at least 0/],
    [{ network: 'awz' }, /there is no network "awz"/],
    [{ devices: 0 }, /devices: must be a whole number from 1/],
    [
      {
        network: {
          kind: 'matrix',
          latencies: { unit: 'ms', values: [[0]] },
          rates: { unit: 'Gb/s', values: [[0, 1]] },
        },
      },
      /square/,
    ],
  ])('%j is refused', (change, message) => {
    expect(() => readSchedule({ ...given, ...change }, 'file')).toThrow(message);
  });

  it('knows the published cases', () => {
    for (const { name, problem } of cases) {
      const { settings, problem: read } = readSchedule(problem, name);
      expect([settings.devices, settings.stages, listedCost(read).total > 3]).toEqual([64, 8, true]);
    }
  });
});
