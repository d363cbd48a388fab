import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { noMemory } from '../algorithm/consensus.ts';
import { beginCheckpoint, checkpointsIn, finishCheckpoint, readCheckpoint, writeBlock } from './checkpoint.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dbench-checkpoint-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Of two ranks with replicas 0 to 2 and 3; row i is [i, i, i]. */
function save(step: number, keep: number): void {
  beginCheckpoint(folder, step);
  for (const [first, last] of [
    [0, 3],
    [3, 4],
  ] as const)
    writeBlock(folder, {
      first,
      last,
      step,
      common: { consensus: { ...noMemory, gossips: step } },
      rows: { params: (i) => new Float32Array(3).fill(i) },
    });
  finishCheckpoint(folder, step, keep);
}

function read(first: number, last: number, step: number) {
  const rows: number[][] = [];
  const common = readCheckpoint(
    folder,
    step,
    { first, last },
    {
      params: { length: 3, put: (_, row) => rows.push([...row]) },
    },
  );
  return { rows, gossips: common.consensus.gossips };
}

it('is read by any number of ranks, and the newest are kept', () => {
  for (const step of [4, 8, 12]) save(step, 2);
  expect(checkpointsIn(folder)).toEqual([8, 12]);
  expect(read(2, 4, 12)).toEqual({
    rows: [
      [2, 2, 2],
      [3, 3, 3],
    ],
    gossips: 12,
  });
});

it('says what to do where it is damaged or not whole', () => {
  save(4, 2);
  const block = join(folder, 'step-4', 'replicas-0-2.safetensors');
  truncateSync(block, readFileSync(block).length - 1);
  const hint = `remove ${join(folder, 'step-4')}: the checkpoint before it is used then`;
  expect(() => read(0, 4, 4)).toThrow(expect.objectContaining({ name: 'UserError', hint }));
  rmSync(block);
  expect(() => read(0, 4, 4)).toThrow(`lacks replicas of 0 to 3`);
});
