import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { factsOf } from '../../src/algorithm/facts.ts';
import { methods } from '../../src/algorithm/methods.ts';
import { checkpointsIn, rewindCheckpoints } from '../../src/engine/checkpoint.ts';
import { outcomeOf } from './runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'dbench-methods-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Short periods, so that what happens now and then happens here; a small rate, so that all of them learn. */
const common = {
  replicas: 6,
  epochs: 2,
  batch: 16,
  optimizer: { kind: 'sgd' },
  checkpoints: { keep: 9 },
};
/** Where learning follows time: devices of different and changing speed. */
const timed = {
  network: 'lan',
  devices: { compute: '2ms', each: [1, 1, 3, 1, 1, 1], noise: { kind: 'exponential', mean: 0.5 } },
};
const isAsynchronous = (name: string) => factsOf({ kind: name } as never).asynchronous;
const settingsOf = (name: string) => {
  const { settings } = methods.find((method) => method.name === name)!;
  return 'period' in settings ? { kind: name, period: 3 } : { kind: name };
};

/** Every method trains, and its bits follow from the experiment alone: resumed by another number of workers they are the same. */
it.each(methods.map(({ name }) => name))(
  '%s: the same bits with 1, 2 and 3 workers, straight through and resumed',
  async (name) => {
    // Adam's steps are as long as the rate, whatever the gradient.
    const learningRate = { base: name.includes('dam') ? 0.005 : 0.05 };
    const settings = { ...common, learningRate, algorithm: settingsOf(name), ...(isAsynchronous(name) && timed) };
    const checkpoints = join(folder, name);
    const whole = await outcomeOf(settings, { workers: 2, checkpoints: { folder: checkpoints, from: undefined } });
    const first = whole.steps[0]!.loss[0]!;
    expect(whole.end.status).toBe('complete');
    expect(whole.evaluations.at(-1)!.local[0]!.loss).toBeLessThan(first);
    const from = checkpointsIn(checkpoints)[0]!;
    rewindCheckpoints(checkpoints, from);
    const resumed = await outcomeOf(settings, { workers: 3, checkpoints: { folder: checkpoints, from } });
    expect(resumed.end.paramsSha256).toBe(whole.end.paramsSha256);
    const alone = await outcomeOf(settings, { workers: 1 });
    expect(alone.end.paramsSha256).toBe(whole.end.paramsSha256);
    const figures = ({ steps }: typeof whole) => steps.map(({ ms: _, ...rest }) => rest);
    expect(figures(alone)).toEqual(figures(whole));
  },
);
