import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dispersion } from '../base/statistics.ts';
import type { Event, StepEvent } from '../engine/event.ts';
import { EventStore } from '../store/database.ts';
import { LiveLog, liveFile, writeHistory } from '../store/live.ts';
import { liveSeriesOf, readLines, readLive } from './live.ts';
import { readSeries } from './series.ts';

let folder: string;
const liveSeries = (from: string) => {
  const live = readLive(from);
  return live && liveSeriesOf(live);
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-live-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const start: Event = {
  type: 'start',
  step: 0,
  steps: 40,
  stepsPerEpoch: 10,
  workers: 1,
  tensors: [
    { name: 'w', shape: [2, 3], kind: 'weight', size: 6 },
    { name: 'b', shape: [3], kind: 'bias', size: 3 },
  ],
};
const step = (at: number): StepEvent => ({
  type: 'step',
  step: at,
  epoch: Math.floor(at / 10),
  connections: 2,
  learningRate: 0.5,
  loss: [at, at + 2, null],
  accuracy: [0.25, 0.75, null],
  gradientNorm: [1, 1, null],
  distance: at % 2 === 0 ? 3 : null,
  replicaDistance: at % 2 === 0 ? [2, 4, null] : null,
  controlledDistance: null,
  targetDistance: null,
  estimatedDistance: null,
  threshold: null,
  harm: null,
  period: null,
  branch: null,
  round: at,
  gossips: 1,
  ownSteps: null,
  staleness: null,
  sentBytes: 100,
  sentMessages: 2,
  virtualStart: [at, at + 0.5, null],
  virtualComputed: [at + 0.25, at + 0.75, null],
  virtualFinished: [at + 1, at + 1.5, null],
  ms: { data: 1, compute: 2, mix: 3, wait: 4, probe: 5 },
});
const norms = (at: number): Event => ({
  type: 'norms',
  step: at,
  norms: [
    [1, at + 1, null],
    [2, 2, null],
  ],
});
const evaluation = (at: number): Event => ({
  type: 'evaluation',
  step: at,
  epoch: at / 10,
  replicas: [0, 1],
  samples: 10,
  local: [
    { loss: 1, accuracy: 0.5 },
    { loss: 3, accuracy: 0.7 },
  ],
  merged: { loss: 2, accuracy: 0.9 },
  train: null,
  ms: 1,
  virtualSeconds: [at, at + 0.5],
  mergedVirtualSeconds: at + 0.5,
});
/** A step every so many milliseconds. */
const events = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => [
    step(from + i),
    norms(from + i),
    ...((from + i + 1) % 10 === 0 ? [evaluation(from + i + 1)] : []),
  ]).flat();

function write(all: readonly Event[], everyMs: number, before?: number): LiveLog {
  let now = 1e12;
  const log = new LiveLog(folder, () => now);
  if (before !== undefined) log.rewind(before);
  for (const event of all) {
    if (event.type === 'step') now += everyMs;
    log.append(event);
  }
  return log;
}
const written = () =>
  readFileSync(liveFile(folder), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const count = (type: string) => written().filter((line) => line.type === type).length;

describe('the live file', () => {
  it('gives the series that the database will give, if every step has its line', async () => {
    const all = [start, ...events(0, 40), { type: 'end', status: 'complete', step: 40, paramsSha256: '' } as Event];
    write(all, 1000);
    const store = await EventStore.open(join(folder, 'events.duckdb'));
    for (const event of all) await store.append(event);
    store.close();
    const [live, stored] = [liveSeries(folder)!, (await readSeries(join(folder, 'events.duckdb')))!];
    expect(live.stepsPerEpoch).toBe(10);
    expect(live.tensors).toEqual(stored.tensors);
    expect(live.steps).toEqual(stored.steps);
    expect(live.evaluations).toEqual(stored.evaluations);
    expect(live.variance.step).toEqual(stored.variance.step);
    expect(live.variance.gini[14]).toBeCloseTo(stored.variance.gini[14]!, 5);
    expect(live.variance.gini[14]).toBeCloseTo(dispersion([1, 8]).gini, 5);
  });

  it('has at most three lines a second on steps and one on replicas; what they leave out is in their means', () => {
    write([start, ...events(0, 400)], 10);
    // Four seconds.
    expect(count('step')).toBeLessThanOrEqual(13 + 40);
    const steps = written().filter((line) => line.type === 'step');
    expect(steps.reduce((sum, line) => sum + line.steps, 0)).toBe(400);
    expect(count('replicas')).toBeLessThanOrEqual(5);
    expect(count('evaluation')).toBe(40);
    // A clock is no mean: each line has the time of its last step.
    for (const line of steps) expect(line.virtualFinished).toEqual([line.step + 1.25, line.step + 1, line.step + 1.5]);
    const series = liveSeries(folder)!;
    expect(series.steps.step).toHaveLength(400);
    expect(series.steps.sentBytes.reduce((sum, bytes) => sum + bytes)).toBeCloseTo(40_000, 6);
    expect(series.steps.epoch[399]).toBe(39);
  });

  it('grows ever slower: hours of steps have few lines', () => {
    write([start, ...Array.from({ length: 6000 }, (_, i) => step(i))], 1000);
    expect(count('step')).toBeLessThan(2000 * (1 + Math.log(3)) + 10);
    expect(count('replicas')).toBeLessThan(600 * (1 + Math.log(10)) + 10);
  });

  it('tells how many messages were lost or late until now, once some were', () => {
    const links = (at: number, lost: number[]): Event => ({
      type: 'links',
      step: at,
      epoch: 0,
      source: [0, 1],
      replica: [1, 0],
      bytes: [8, 8],
      messages: [10, 10],
      lost,
      late: [0, lost[0]!],
      busyNs: [1, 1],
    });
    write([start, step(0), links(1, [0, 0]), step(1), links(2, [2, 1]), step(2), links(3, [1, 0])], 10);
    expect(written().filter(({ type }) => type === 'messages')).toEqual([
      { type: 'messages', step: 2, sent: 40, lost: 3, late: 2 },
      { type: 'messages', step: 3, sent: 60, lost: 4, late: 3 },
    ]);
  });

  it('may end in a line that is not yet whole', () => {
    write([start, ...events(0, 3)], 1000);
    const before = readLive(folder)!;
    const { next } = readLines(liveFile(folder), 0)!;
    appendFileSync(liveFile(folder), '{"type":"step","step":3,"st');
    expect(readLive(folder)).toEqual(before);
    expect(readLines(liveFile(folder), next)).toEqual({ lines: [], next });
    appendFileSync(liveFile(folder), 'eps":1}\n');
    expect(readLive(folder)!.steps).toHaveLength(before.steps.length + 1);
    expect(readLines(liveFile(folder), next)!.lines).toEqual(['{"type":"step","step":3,"steps":1}']);
  });

  it('may hold what is no line of ours', () => {
    write([start, ...events(0, 3)], 1000);
    const before = readLive(folder)!;
    appendFileSync(liveFile(folder), 'null\n[]\n7\n{"type":"other"}\nnot JSON\n\n');
    expect(readLive(folder)).toEqual(before);
  });

  it('is rewound when a run that was killed is resumed', () => {
    write([start, ...events(0, 25)], 1000);
    write([{ ...start, step: 20 } as Event, ...events(20, 22)], 1000, 20);
    const live = readLive(folder)!;
    expect(live.steps.map((line) => line.step)).toEqual(Array.from({ length: 22 }, (_, i) => i));
    expect(live.evaluations.map((line) => line.step)).toEqual([10, 20]);
    expect(live.start!.step).toBe(20);
  });

  it('begins with what the database holds when a run that was stopped is resumed', async () => {
    const database = join(folder, 'events.duckdb');
    const store = await EventStore.open(database);
    for (const event of [start, ...events(0, 20)]) await store.append(event);
    store.close();
    await writeHistory(folder, database);
    const stored = (await readSeries(database))!;
    const before = liveSeries(folder)!;
    expect(before.steps.loss).toEqual(stored.steps.loss);
    expect(before.steps.replicaDistance).toEqual(stored.steps.replicaDistance);
    expect(before.evaluations).toEqual(stored.evaluations);
    write([{ ...start, step: 20 } as Event, ...events(20, 21)], 1000, 20);
    expect(liveSeries(folder)!.steps.step).toHaveLength(21);
  });

  it('is removed, and then there is none', () => {
    const log = write([start, ...events(0, 3)], 1000);
    log.remove();
    expect(existsSync(liveFile(folder))).toBe(false);
    expect(liveSeries(folder)).toBeUndefined();
    expect(readLines(liveFile(folder), 0)).toBeUndefined();
  });

  it('that is a link is not followed', () => {
    writeFileSync(join(folder, 'secret'), '{"type":"step","step":0}\n');
    symlinkSync(join(folder, 'secret'), liveFile(folder));
    expect(readLines(liveFile(folder), 0)).toBeUndefined();
  });

  it('cannot end a run: what cannot be written is not', () => {
    const log = new LiveLog(join(folder, 'nowhere'));
    expect(() => log.append(start)).not.toThrow();
  });
});
