import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ConsensusMemory } from '../algorithm/consensus.ts';
import { UserError } from '../base/error.ts';
import { reason } from '../base/file.ts';
import { readTensors, writeTensors } from '../base/safetensors.ts';

/**
 * A checkpoint is a folder `step-N` with a file for each rank's block of replicas. Ranks write into `step-N.part`; when all are
 * done rank 0 renames it, so that a folder without `.part` is whole. Any number of ranks can read it.
 */
export interface Block {
  readonly first: number;
  readonly last: number;
  /** Steps done. */
  readonly step: number;
  readonly consensus: ConsensusMemory;
  /** Rows by name, those of replica first, first + 1, … one after the other. */
  readonly rows: Readonly<Record<string, { readonly columns: number; readonly data: Float32Array }>>;
}

const part = (folder: string, step: number) => join(folder, `step-${step}.part`);
const whole = (folder: string, step: number) => join(folder, `step-${step}`);

/** Before any rank writes. */
export function beginCheckpoint(folder: string, step: number): void {
  try {
    rmSync(part(folder, step), { recursive: true, force: true });
    mkdirSync(part(folder, step), { recursive: true });
  } catch (cause) {
    throw new UserError(`cannot make the checkpoint ${part(folder, step)}: ${reason(cause)}`, { cause });
  }
}

export function writeBlock(folder: string, { first, last, step, consensus, rows }: Block): void {
  const tensors = Object.entries(rows).map(([name, { columns, data }]) => [
    name,
    { shape: [last - first, columns], data },
  ]);
  const metadata = {
    first: String(first),
    last: String(last),
    step: String(step),
    consensus: JSON.stringify(consensus),
  };
  writeTensors(join(part(folder, step), `replicas-${first}-${last - 1}.safetensors`), {
    metadata,
    tensors: Object.fromEntries(tensors),
  });
}

/** When all ranks have written: makes it count, and removes all but the newest `keep`. */
export function finishCheckpoint(folder: string, step: number, keep: number): void {
  rmSync(whole(folder, step), { recursive: true, force: true });
  renameSync(part(folder, step), whole(folder, step));
  for (const old of checkpointsIn(folder).slice(0, -keep)) rmSync(whole(folder, old), { recursive: true });
}

/** The steps of the checkpoints in a folder, ascending. */
export function checkpointsIn(folder: string): number[] {
  if (!existsSync(folder)) return [];
  const steps = readdirSync(folder).flatMap((name) => /^step-(\d+)$/.exec(name)?.[1] ?? []);
  return steps.map(Number).sort((a, b) => a - b);
}

/** The rows of replicas first ≤ i < last, from whichever blocks hold them. */
export function readCheckpoint(folder: string, step: number, first: number, last: number): Block {
  const files = readdirSync(whole(folder, step)).filter((name) => name.endsWith('.safetensors'));
  const rows: Record<string, { columns: number; data: Float32Array }> = {};
  let found = 0;
  let consensus: ConsensusMemory | undefined;
  for (const name of files) {
    const [, from, to] = /^replicas-(\d+)-(\d+)\./.exec(name)!.map(Number) as [number, number, number];
    if (to < first || from >= last) continue;
    const { metadata, tensors } = readTensors(join(whole(folder, step), name));
    consensus = JSON.parse(metadata.consensus!) as ConsensusMemory;
    for (const [row, { shape, data }] of Object.entries(tensors)) {
      const columns = shape[1]!;
      rows[row] ??= { columns, data: new Float32Array((last - first) * columns) };
      const [start, end] = [Math.max(from, first), Math.min(to + 1, last)];
      rows[row].data.set(data.subarray((start - from) * columns, (end - from) * columns), (start - first) * columns);
    }
    found += Math.min(to + 1, last) - Math.max(from, first);
  }
  if (found !== last - first || consensus === undefined)
    throw new UserError(`the checkpoint ${whole(folder, step)} lacks replicas of ${first} to ${last - 1}`, {
      hint: 'remove it; the one before is used then',
    });
  return { first, last, step, consensus, rows };
}
