import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Dataset } from '../../src/data/dataset.ts';
import { beginCheckpoint, checkpointsIn, finishCheckpoint } from '../../src/engine/checkpoint.ts';
import { inPairs, outcomeOf, small } from './runs.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-resume-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A text of twelve words and three speakers, of whom some are in the middle of a pass where the epoch ends. */
const tokens = (length: number) => Int32Array.from({ length }, (_, i) => (i * i + (i >> 3)) % 12);
const text: Dataset = {
  name: 'words',
  task: 'language',
  vocabulary: Array.from({ length: 12 }, (_, i) => String(i)),
  train: {
    tokens: tokens(1000),
    utterances: { starts: Int32Array.of(0, 200, 500, 1000), speakers: Int32Array.of(0, 1, 2) },
  },
  test: { tokens: tokens(100) },
};

/** All that a later step depends on must be in a checkpoint: gone on from the first epoch's, every event is the same. */
describe('from a checkpoint the same bits follow', () => {
  const combineFirst = { algorithm: { kind: 'dpsgd', order: 'combine-then-adapt' } };
  it.each([
    ['momentum', {}],
    ['Adam', { optimizer: { kind: 'adam' }, learningRate: { base: 0.01 } }],
    ['centralized', { algorithm: { kind: 'centralized' } }],
    ['a topology that changes', { topology: { kind: 'one-peer-exponential' } }],
    ['a schedule', { topology: { kind: 'ada', k0: 8, kEnd: 2 }, learningRate: { base: 0.1, warmup: 2 } }],
    ['local steps', { algorithm: { kind: 'dpsgd', localSteps: 4 } }],
    ['fixed control', { consensus: { kind: 'fixed', fraction: 0.3 } }],
    ['adaptive control', { consensus: { kind: 'adaptive', scale: 0.5 } }],
    ['adaptive control, combining first', { ...combineFirst, consensus: { kind: 'adaptive', scale: 0.5 } }],
    ['critical distance', { consensus: { kind: 'critical', fraction: 0.05 } }],
    ['critical distance, combining first', { ...combineFirst, consensus: { kind: 'critical', fraction: 0.05 } }],
    ['asynchronous pairs', inPairs],
    [
      'asynchronous pairs that overlap, dropout',
      {
        ...inPairs,
        algorithm: { kind: 'ad-psgd', overlap: true },
        model: { kind: 'mlp', hidden: [16], dropout: 0.3 },
        optimizer: { kind: 'adam' },
        learningRate: { base: 0.01 },
      },
    ],
    ['dropout', { model: { kind: 'mlp', hidden: [16], dropout: 0.3 } }],
    [
      'batch norm',
      { replicas: 3, model: { kind: 'resnet20' }, data: { ...small.data, shape: [3, 8, 8], train: 96 }, batch: 16 },
    ],
    [
      'asynchronous pairs, batch norm',
      {
        ...{ replicas: 3, model: { kind: 'resnet20' }, batch: 16, epochs: 2 },
        ...inPairs,
        data: { ...small.data, shape: [3, 8, 8], train: 96 },
      },
    ],
    [
      'carried state',
      {
        replicas: 3,
        data: { kind: 'shakespeare', partition: { kind: 'group' } },
        model: { kind: 'lstm', layers: 1, hidden: 8, bptt: 5 },
        batch: 4,
      },
      text,
    ],
  ])('%s', async (_, settings, dataset?: Dataset) => {
    const checkpoints = { folder, from: undefined };
    const whole = await outcomeOf({ ...settings, checkpoints: { keep: 9 } }, { workers: 2, checkpoints }, dataset);
    const from = checkpointsIn(folder)[0]!;
    const second = { workers: 3, checkpoints: { folder: copyOf(from), from } };
    const resumed = await outcomeOf({ ...settings }, second, dataset);
    const told = ({ steps }: typeof whole) =>
      steps.filter(({ step }) => step >= from).map(({ ms: _, ...figures }) => figures);
    expect(told(resumed)).toEqual(told(whole));
    expect(resumed.end.paramsSha256).toBe(whole.end.paramsSha256);
  });

  function copyOf(step: number): string {
    const copy = join(folder, 'copy');
    mkdirSync(copy);
    renameSync(join(folder, `step-${step}`), join(copy, `step-${step}`));
    return copy;
  }
});

describe('checkpoints', () => {
  it('that were cut off while they were written or removed leave nothing behind', () => {
    for (const step of [1, 2, 3]) {
      beginCheckpoint(folder, step);
      writeFileSync(join(folder, `step-${step}.part`, 'a'), '');
      if (step === 2) continue;
      finishCheckpoint(folder, step, 1);
    }
    expect(readdirSync(folder)).toEqual(['step-3']);
  });
});
