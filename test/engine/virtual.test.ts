import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkpointsIn, rewindCheckpoints } from '../../src/engine/checkpoint.ts';
import type { Event } from '../../src/engine/event.ts';
import { resolve } from '../../src/experiment/experiment.ts';
import { retime } from '../../src/metric/retime.ts';
import type { RunSeries } from '../../src/metric/series.ts';
import { dbench, type Outcome, outcomeOf, small } from './runs.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-virtual-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const noisy = { compute: '2ms', noise: { kind: 'lognormal' } };
const epochs = 2;

/** What happened, apart from the clock of this machine. */
const told = ({ events }: Outcome) =>
  events.filter(({ type }) => type !== 'start').map((event) => ('ms' in event ? { ...event, ms: undefined } : event));

/** The same without what a network adds. */
const learned = (outcome: Outcome) =>
  told(outcome)
    .filter(({ type }) => type !== 'links')
    .map((event) => Object.fromEntries(Object.entries(event).filter(([key]) => !/virtual/i.test(key))));

const linksIn = ({ events }: Outcome) =>
  events.filter((event): event is Extract<Event, { type: 'links' }> => event.type === 'links');

const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);

/** What a report reads of a run. */
function seriesOf({ events, steps }: Outcome): RunSeries {
  const start = events.find((event) => event.type === 'start')!;
  const column = (value: (step: Outcome['steps'][number]) => number | null) =>
    Float64Array.from(steps, (step) => value(step) ?? Number.NaN);
  return {
    tensors: start.tensors.map(({ name, size }) => ({ name, shape: '', size })),
    stepsPerEpoch: start.stepsPerEpoch,
    steps: {
      step: column(({ step }) => step),
      epoch: column(({ epoch }) => epoch),
      gossips: column(({ gossips }) => gossips),
      controlledDistance: column(({ controlledDistance }) => controlledDistance),
      branch: column(({ branch }) => branch),
    },
  } as unknown as RunSeries;
}

describe('a network changes nothing but time, which is the same for any workers, resumed, and timed again', () => {
  it.each([
    ['D-PSGD', 'aws', {}],
    ['all-reduce', 'summit', { algorithm: { kind: 'centralized' } }],
    ['another neighbour in each step', 'phones', { topology: { kind: 'one-peer-exponential' } }],
    ['local steps', 'lan', { algorithm: { kind: 'dpsgd', localSteps: 4 } }],
    ['compressed messages', 'home', { algorithm: { kind: 'choco' } }],
    ['consensus control', { kind: 'silos', sharing: 'fair' }, { consensus: { kind: 'fixed', fraction: 0.3 } }],
    ['Ada', { kind: '10gbe', tcp: true }, { topology: { kind: 'ada', k0: 8, kEnd: 2 } }],
  ])('%s', async (_, network, settings) => {
    const timed = { ...settings, epochs, checkpoints: { keep: 9 }, network, devices: noisy };
    const without = await outcomeOf({ ...settings, epochs }, { workers: 2 });
    const checkpoints = { folder, from: undefined };
    const whole = await outcomeOf(timed, { workers: 3, checkpoints });
    expect(whole.end.paramsSha256).toBe(without.end.paramsSha256);
    expect(learned(whole).filter(({ type }) => type !== 'checkpoint')).toEqual(learned(without));
    expect(without.steps[0]!.virtualFinished).toBeNull();
    const [from] = checkpointsIn(folder) as [number];
    rewindCheckpoints(folder, from);
    const resumed = await outcomeOf(timed, { workers: 2, checkpoints: { folder, from } });
    const after = told(whole).slice(told(whole).findIndex((event) => event.type === 'checkpoint') + 1);
    expect(told(resumed)).toEqual(after);
    const [experiment] = resolve({ ...small, ...timed }, 'test');
    const again = retime(experiment!, seriesOf(whole), {
      network: experiment!.network!,
      devices: experiment!.devices!,
    });
    expect([...again.seconds]).toEqual(
      whole.steps.map(({ virtualFinished }) => Math.max(...(virtualFinished as number[]))),
    );
    if ('consensus' in settings) return;
    // What control measures is counted, but not as messages over links.
    const bytes = sum(linksIn(whole).flatMap((links) => links.bytes));
    const sent = small.replicas * sum(whole.steps.map(({ sentBytes }) => sentBytes));
    expect(Math.abs(bytes / sent - 1)).toBeLessThan(1e-12);
  });
});

it('local models are evaluated at their own time, their average at that of the last', async () => {
  const { evaluations, steps } = await outcomeOf({
    network: 'aws',
    devices: noisy,
    epochs: 1,
    evaluation: { replicas: 4 },
  });
  const finished = steps.at(-1)!.virtualFinished as number[];
  const { replicas, virtualSeconds, mergedVirtualSeconds } = evaluations.at(-1)!;
  expect(virtualSeconds).toEqual(replicas.map((i) => finished[i]));
  expect(mergedVirtualSeconds).toBe(Math.max(...finished));
  expect(new Set(finished).size).toBeGreaterThan(1);
});

it('where replicas average in pairs, a step ends with its last exchange; its links carry what is counted', async () => {
  const pairs = { algorithm: { kind: 'ad-psgd' }, network: 'aws', devices: noisy, epochs: 1 };
  const outcome = await outcomeOf(pairs, { workers: 2 });
  const ends = outcome.steps.map(({ virtualFinished }) => virtualFinished![0]!);
  for (const [t, { virtualStart, virtualFinished }] of outcome.steps.entries()) {
    expect(new Set(virtualFinished)).toEqual(new Set([ends[t]]));
    expect(new Set(virtualStart)).toEqual(new Set([ends[t - 1] ?? 0]));
  }
  const bytes = sum(linksIn(outcome).flatMap((links) => links.bytes));
  expect(bytes).toBe(small.replicas * sum(outcome.steps.map(({ sentBytes }) => sentBytes)));
});

it('a time that is measured is stored with the run, which is found again and not measured anew', async () => {
  const settings = { ...small, epochs: 1, network: 'lan', devices: { compute: 'measured', factor: 3 } };
  writeFileSync(join(folder, 'measured.json'), JSON.stringify(settings));
  const args = ['run', 'measured.json', '--continue', '--json'];
  const [first] = JSON.parse((await dbench(args, folder)).stdout);
  const stored = JSON.parse(readFileSync(join(folder, 'runs', first.id, 'experiment.json'), 'utf8'));
  expect(stored.devices).toEqual({ ...settings.devices, measured: expect.stringMatching(/^\d+ns$/) });
  const [step] = stored.devices.measured.split('ns');
  expect(first.virtualSeconds).toBeGreaterThan((3 * step * first.steps) / 1e9);
  expect(JSON.parse((await dbench(args, folder)).stdout)).toEqual([first]);
});

describe('until', () => {
  const timed = { network: 'lan', devices: { compute: '20ms' } };
  const last = ({ steps }: Outcome) => Math.max(...(steps.at(-1)!.virtualFinished as number[]));

  it('ends a run with the first step at which the time has come, evaluated and complete', async () => {
    const whole = await outcomeOf(timed);
    const limit = 0.4;
    const cut = await outcomeOf(
      { ...timed, until: { virtualSeconds: limit } },
      { checkpoints: { folder, from: undefined } },
    );
    expect(cut.end.status).toBe('complete');
    expect(cut.steps.length).toBeLessThan(whole.steps.length);
    expect(cut.steps.map(({ loss }) => loss)).toEqual(whole.steps.slice(0, cut.steps.length).map(({ loss }) => loss));
    expect(last(cut)).toBeGreaterThanOrEqual(limit);
    expect(Math.max(...(cut.steps.at(-2)!.virtualFinished as number[]))).toBeLessThan(limit);
    expect(cut.evaluations.at(-1)!.step).toBe(cut.steps.length);
    // Killed before it could say that it has ended: there is nothing left to do.
    const from = checkpointsIn(folder).at(-1)!;
    const again = await outcomeOf({ ...timed, until: { virtualSeconds: limit } }, { checkpoints: { folder, from } });
    expect(again.steps).toHaveLength(0);
    expect(again.end).toEqual(cut.end);
  });

  it('refuses times that cannot be told exactly', async () => {
    await expect(outcomeOf({ ...timed, devices: { compute: '5e6s' } })).rejects.toThrow(
      /step 1 would end after more than 104 days/,
    );
  });
});
