import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { numbersTraffic } from '../../src/algorithm/traffic.ts';
import { checkpointsIn, rewindCheckpoints } from '../../src/engine/checkpoint.ts';
import { outcomeOf } from './runs.ts';

const folder = mkdtempSync(join(tmpdir(), 'dbench-tether-'));
afterAll(() => rmSync(folder, { recursive: true }));

const common = {
  replicas: 6,
  epochs: 6,
  batch: 16,
  optimizer: { kind: 'sgd', momentum: 0.9 },
  learningRate: { base: 0.02 },
  checkpoints: { keep: 9 },
};
type Outcome = Awaited<ReturnType<typeof outcomeOf>>;
const figures = ({ steps }: Outcome) => steps.map(({ ms: _, ...rest }) => rest);

it('tether: resumed in the middle of its control it sees and decides the same', async () => {
  const settings = { ...common, algorithm: { kind: 'tether', target: 0.5 } };
  const whole = await outcomeOf(settings, { workers: 2, checkpoints: { folder, from: undefined } });
  const averages = whole.steps.filter(({ branch }) => branch! % 2 === 1);
  expect(averages.length).toBeGreaterThan(10);
  expect(averages.length).toBeLessThan(whole.steps.length - 10);
  expect(averages.every(({ harm, threshold, period }) => harm! > 0 && threshold! > 0 && period! >= 1)).toBe(true);
  const [from] = checkpointsIn(folder) as [number];
  rewindCheckpoints(folder, from);
  const resumed = await outcomeOf(settings, { workers: 3, checkpoints: { folder, from } });
  expect(figures(resumed)).toEqual(figures(whole).slice(from));
  expect(resumed.end.paramsSha256).toBe(whole.end.paramsSha256);
});

it('leash: resumed in the middle of its control it sees and decides the same', async () => {
  const settings = { ...common, algorithm: { kind: 'leash', target: 1 } };
  const checkpoints = join(folder, 'leash');
  const whole = await outcomeOf(settings, { workers: 2, checkpoints: { folder: checkpoints, from: undefined } });
  // It has changed its period several times, before and after the checkpoint.
  expect(new Set(whole.steps.map(({ period }) => period)).size).toBeGreaterThan(3);
  const [from] = checkpointsIn(checkpoints) as [number];
  rewindCheckpoints(checkpoints, from);
  const resumed = await outcomeOf(settings, { workers: 3, checkpoints: { folder: checkpoints, from } });
  expect(figures(resumed)).toEqual(figures(whole).slice(from));
  expect(resumed.end.paramsSha256).toBe(whole.end.paramsSha256);
});

it('ladder: changes between averages and gossip as it did before, resumed in the middle, and pays for both', async () => {
  // Gossip is cheap here and, so it is said, hardly worse: it is tried, and left again when it does more harm than allowed.
  const rungs = [{ every: 1 }, { by: 'gossip', every: 1, gain: 1, cost: 1.2 }];
  const settings = { ...common, topology: { kind: 'ring' }, algorithm: { kind: 'ladder', target: 0.02, rungs } };
  const checkpoints = join(folder, 'ladder');
  const whole = await outcomeOf(settings, { workers: 2, checkpoints: { folder: checkpoints, from: undefined } });
  const row = 4 * 244;
  const sent = whole.steps.slice(0, -1).map(({ sentBytes }) => sentBytes);
  const [average, measured] = [(2 * 5 * row) / 6, (2 * 5 * row) / 6 + numbersTraffic(6, 128).bytes];
  expect(new Set(sent.map((bytes) => Math.round(bytes)))).toEqual(
    new Set([0, average, measured, 2 * row].map((bytes) => Math.round(bytes))),
  );
  const gossips = sent.map((bytes) => bytes === 2 * row);
  expect([gossips.slice(10, 20).includes(true), gossips.slice(40, 50).includes(true)]).toEqual([true, false]);
  const [from] = checkpointsIn(checkpoints) as [number];
  rewindCheckpoints(checkpoints, from);
  const resumed = await outcomeOf(settings, { workers: 3, checkpoints: { folder: checkpoints, from } });
  expect(figures(resumed)).toEqual(figures(whole).slice(from));
  expect(resumed.end.paramsSha256).toBe(whole.end.paramsSha256);
});

it('leash: what is rounded costs its bits, and what it measures is counted', async () => {
  const { steps } = await outcomeOf({ ...common, algorithm: { kind: 'leash' } }, { workers: 1 });
  const averages = steps.slice(0, -1).filter(({ branch }) => branch! % 2 === 1);
  const bytesOf = (measures: boolean) => {
    const found = averages.filter(({ branch }) => (Math.floor(branch! / 2) % 2 === 0) === measures);
    expect(found.length).toBeGreaterThan(2);
    expect(new Set(found.map(({ sentMessages }) => sentMessages))).toEqual(new Set([2 * 5 + (measures ? 3 : 0)]));
    return found[0]!.sentBytes;
  };
  // 10·16 + 16 + 16·4 + 4 parameters of half a byte, one scale, both ways but for one's own sixth; two sketches of 64 numbers.
  expect(bytesOf(false)).toBeCloseTo((2 * 5 * (244 / 2 + 4)) / 6, 6);
  expect(bytesOf(true)).toBeCloseTo((2 * 5 * (244 / 2 + 4)) / 6 + numbersTraffic(6, 128).bytes, 6);
  expect(steps.find(({ branch }) => branch === 0)?.sentBytes ?? 0).toBe(0);
});

it('tether: the bytes of its signals are counted', async () => {
  const { steps } = await outcomeOf({ ...common, algorithm: { kind: 'tether', target: 0.5 } }, { workers: 1 });
  const looks = (step: (typeof steps)[number]) => step.branch! % 2 === 0 && Math.floor(step.branch! / 4) % 2 === 1;
  // A sketch of 16 numbers and its length, in three rounds of doubling.
  const look = steps.slice(0, -1).find(looks)!;
  expect([look.sentBytes, look.sentMessages]).toEqual([3 * 17 * 8, 3]);
  const free = steps.find(({ branch }) => branch === 0);
  expect(free?.sentBytes ?? 0).toBe(0);
  const average = steps.find(({ branch }) => branch! % 2 === 1)!;
  // Ten messages of a sixth of the row, and the sketches: d and h of 64 numbers, x of 16 and its length.
  const { bytes } = numbersTraffic(6, 64 + 64 + 17);
  expect(average.sentMessages).toBe(2 * 5 + 3);
  expect((average.sentBytes - bytes) % ((2 * 5 * 4) / 6)).toBeCloseTo(0, 6);
});

it('consensus control may do without a gossip while replicas are close enough, and counts what it takes to know', async () => {
  const controlled = (scale: number, least: number) =>
    outcomeOf({ ...common, epochs: 2, consensus: { kind: 'adaptive', scale, least } }, { workers: 2 });
  const alone = await outcomeOf({ ...common, epochs: 2, algorithm: { kind: 'local-sgd', period: 10_000 } });
  const never = await controlled(1e6, 0);
  expect(never.steps.every(({ gossips }) => gossips === 0)).toBe(true);
  expect(never.end.paramsSha256).toBe(alone.end.paramsSha256);
  const [tight, usual] = [await controlled(1e-3, 0), await controlled(1e-3, 1)];
  expect(tight.end.paramsSha256).toBe(usual.end.paramsSha256);
  const sent = ({ steps }: Outcome) => steps.reduce((sum, { sentBytes }) => sum + sentBytes, 0);
  // It measured once more in each step; the mean it then knows is worth the half of a mean after the first gossip.
  expect(sent(tight)).toBeGreaterThan(sent(usual));
  expect(sent(never)).toBeLessThan(sent(usual) / 2);
});
