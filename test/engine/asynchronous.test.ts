import { describe, expect, it } from 'vitest';
import { resolve } from '../../src/experiment/experiment.ts';
import { dbench, inPairs, outcomeOf, small } from './runs.ts';

const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);

describe('a run whose replicas average in pairs', () => {
  it('has steps of n gradients; slow replicas make fewer of their own and hold nobody up', async () => {
    const each = Array.from({ length: 12 }, (_, i) => (i === 4 ? 10 : 1));
    const { steps, evaluations, end } = await outcomeOf({ ...inPairs, devices: { compute: '20ms', each } });
    expect(end).toMatchObject({ status: 'complete', step: 30 });
    expect(evaluations).toHaveLength(3);
    expect(steps.map(({ ownSteps }) => sum(ownSteps!))).toEqual(steps.map(({ step }) => 12 * (step + 1)));
    const own = steps.at(-1)!.ownSteps!;
    expect(own[4]).toBeLessThanOrEqual(4);
    expect(Math.min(...own.filter((_, i) => i !== 4).map((count) => count!))).toBeGreaterThan(28);
    // The slow one has no loss before its first gradient, and its gradients are the stalest.
    expect(steps[0]!.loss[4]).toBeNull();
    expect(steps.at(-1)!.loss.every((loss) => loss !== null && loss < 1.5)).toBe(true);
    const stale = steps.flatMap(({ staleness }) => staleness![4] ?? []);
    expect(stale).toHaveLength(own[4]!);
    const others = steps.flatMap(({ staleness }) => staleness!.filter((value, i) => i !== 4 && value !== null));
    expect(Math.max(...stale)).toBeGreaterThan(3 * (sum(others) / others.length));
    // Each replica sends two rows in a step, in its own exchange and in one that another asked for.
    expect(steps.map(({ sentBytes, sentMessages }) => [sentBytes, sentMessages])).toEqual(
      steps.map(() => [2 * 4 * 244, 2]),
    );
  });

  it('follows time: other devices, other bits', async () => {
    const [slow, fast, again] = await Promise.all(
      ['2ms', '1ms', '2ms'].map(async (compute) => {
        const devices = { ...inPairs.devices, compute };
        return (await outcomeOf({ ...inPairs, devices, epochs: 1 })).end.paramsSha256;
      }),
    );
    expect(again).toBe(slow);
    expect(fast).not.toBe(slow);
  });
});

describe('what does not fit is refused in a sentence', () => {
  const refused = (settings: object) => {
    try {
      resolve({ ...small, ...inPairs, ...settings }, 'test');
    } catch (error) {
      return (error as Error).message;
    }
    return 'nothing is wrong';
  };
  it.each([
    [
      'no network',
      { network: undefined, devices: undefined },
      /time that replicas take decides.*give network.*devices/,
    ],
    ['no compute time', { devices: undefined }, /devices: the time of a step is missing/],
    ['a directed topology', { topology: { kind: 'exponential' } }, /needs an undirected topology.*it fits ring/],
    ['one that changes', { topology: { kind: 'ada', k0: 6, kEnd: 2 } }, /needs a topology that is the same in every/],
    ['one replica', { replicas: 1 }, /needs a neighbour for every replica.*at least two replicas/],
    ['consensus control', { consensus: { kind: 'fixed' } }, /nothing to control, the ad-psgd algorithm/],
    ['a compressor', { algorithm: { kind: 'ad-psgd', compressor: { kind: 'sign' } } }, /compressor/],
  ])('%s', (_, settings, message) => {
    expect(refused(settings)).toMatch(message);
  });
  it('exit code 2', async () => {
    const { status, stderr } = await dbench(['run', 'quickstart', '--set', 'algorithm.kind=ad-psgd'], process.cwd());
    expect(status).toBe(2);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});
