import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ConsensusMemory, noMemory } from '../algorithm/consensus.ts';
import { UserError } from '../base/error.ts';
import { makeFolder, makeFolders, reason } from '../base/file.ts';
import { TensorFile, writeTensors } from '../base/safetensors.ts';
import type { QueueState } from '../network/queue.ts';

/**
 * A checkpoint is a folder `step-N` with a file for each rank's block of replicas. Ranks write into `step-N.part`; when all are
 * done rank 0 renames it, so that a folder without `.part` is whole. Any number of ranks can read it. Ranks on a machine with a disk
 * of its own have such folders there, with their own blocks.
 */
export interface CheckpointBlock {
  readonly first: number;
  readonly last: number;
  /** Steps done. */
  readonly step: number;
  /** What all ranks know alike. */
  readonly common: Common;
  /** Rows by name, those of replica first, first + 1, … one after the other; read only until the next one is asked for. */
  readonly rows: Readonly<Record<string, (replica: number) => Float32Array>>;
}

/** Nanoseconds by name, with a place for each replica or port. */
export type Times = Readonly<Record<string, readonly number[]>>;

export interface Common {
  readonly consensus: ConsensusMemory;
  /** Of replicas that average in pairs. */
  readonly queue?: QueueState | undefined;
  /** When replicas and ports are free again, if the run has a network: lists of nanoseconds by name. */
  readonly times?: Times | undefined;
  /** Replicas that were away in the last step, if they come and go. */
  readonly away?: readonly number[] | undefined;
}

const part = (folder: string, step: number) => join(folder, `step-${step}.part`);
const whole = (folder: string, step: number) => join(folder, `step-${step}`);

/** Before any rank writes. */
export function beginCheckpoint(folder: string, step: number): void {
  try {
    rmSync(part(folder, step), { recursive: true, force: true });
    makeFolders(part(folder, step));
  } catch (cause) {
    throw new UserError(`cannot make the checkpoint ${part(folder, step)}: ${reason(cause)}`, { cause });
  }
}

export function writeBlock(folder: string, { first, last, step, common, rows }: CheckpointBlock): void {
  makeFolder(part(folder, step));
  const block = Object.entries(rows).map(([name, row]) => {
    const pieces = function* () {
      for (let i = first; i < last; i++) yield row(i);
    };
    return [name, { shape: [last - first, row(first).length], pieces: pieces() }] as const;
  });
  writeTensors(join(part(folder, step), `replicas-${first}-${last - 1}.safetensors`), {
    metadata: {
      step: String(step),
      consensus: JSON.stringify(common.consensus),
      ...(common.queue && { queue: JSON.stringify(common.queue) }),
      ...(common.times && { times: JSON.stringify(common.times) }),
      ...(common.away && { away: JSON.stringify(common.away) }),
    },
    tensors: Object.fromEntries(block),
  });
}

/** When all ranks have written: makes it count, and removes all but the newest `keep`. Only the first on each disk has to. */
export function finishCheckpoint(folder: string, step: number, keep: number): void {
  if (!renamed(part(folder, step), whole(folder, step))) return;
  for (const old of checkpointsIn(folder).slice(0, -keep)) remove(folder, old);
  // What was cut off while it was written or removed.
  for (const name of readdirSync(folder))
    if (name.endsWith('.part')) rmSync(join(folder, name), { recursive: true, force: true });
}

/** False if there is nothing of this name, because another rank was first. */
function renamed(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (cause) {
    if (['ENOENT', 'ESTALE'].includes((cause as NodeJS.ErrnoException).code ?? '')) return false;
    throw cause;
  }
}

/** A folder that is half removed must not look whole: it loses its name first. */
function remove(folder: string, step: number): void {
  rmSync(part(folder, step), { recursive: true, force: true });
  if (renamed(whole(folder, step), part(folder, step))) rmSync(part(folder, step), { recursive: true, force: true });
}

/** Removes the checkpoints after a step from which the run is resumed: they will be made again. */
export function rewindCheckpoints(folder: string, step: number): void {
  for (const later of checkpointsIn(folder).filter((each) => each > step)) remove(folder, later);
}

/** The steps of the checkpoints in a folder, ascending. */
export function checkpointsIn(folder: string): number[] {
  if (!existsSync(folder)) return [];
  const steps = readdirSync(folder).flatMap((name) => /^step-(\d+)$/.exec(name)?.[1] ?? []);
  return steps.map(Number).sort((a, b) => a - b);
}

/** Takes the rows of one name, which have this many elements. */
export interface RowReader {
  readonly length: number;
  put(replica: number, row: Float32Array): void;
}

/** Hands out the rows of replicas first ≤ i < last, from whichever blocks hold them; a row is read only until the next one. */
export function readCheckpoint(
  folder: string,
  step: number,
  { first, last }: { readonly first: number; readonly last: number },
  rows: Readonly<Record<string, RowReader>>,
): Common {
  // Blocks overlap if an attempt with other ranks had come as far: they hold the same bits.
  const found = new Set<number>();
  let common: Common | undefined;
  for (const name of readdirSync(whole(folder, step))) {
    const [, from, to] = (/^replicas-(\d+)-(\d+)\.safetensors$/.exec(name) ?? []).map(Number);
    if (from === undefined || to === undefined || to < first || from >= last) continue;
    const path = join(whole(folder, step), name);
    const file = new TensorFile(path, `remove ${whole(folder, step)}: the checkpoint before it is used then`);
    try {
      for (const [tensor, { length, put }] of Object.entries(rows)) {
        requireShape(file, path, tensor, [to - from + 1, length]);
        const row = new Float32Array(length);
        for (let i = Math.max(from, first); i <= to && i < last; i++) {
          file.read(tensor, (i - from) * length, row);
          put(i, row);
        }
      }
      common ??= {
        consensus: consensusOf(file, path),
        queue: storedOf(file, path, 'queue'),
        times: storedOf(file, path, 'times'),
        away: storedOf(file, path, 'away'),
      };
    } finally {
      file.close();
    }
    for (let i = Math.max(from, first); i <= to && i < last; i++) found.add(i);
  }
  if (found.size !== last - first || common === undefined)
    throw new UserError(`the checkpoint ${whole(folder, step)} lacks replicas of ${first} to ${last - 1}`, {
      hint: 'ranks on machines with disks of their own find only what they wrote; otherwise remove it, the one before is used then',
    });
  return common;
}

function requireShape(file: TensorFile, path: string, tensor: string, wanted: readonly number[]): void {
  const shape = file.shape(tensor);
  if (shape?.join() === wanted.join()) return;
  const found = shape === undefined ? `no tensor "${tensor}"` : `a tensor "${tensor}" of shape [${shape}]`;
  throw new UserError(`${path} has ${found}, but [${wanted}] is needed`, {
    hint: 'it is of another experiment or version',
  });
}

const consensusOf = ({ metadata }: TensorFile, path: string): ConsensusMemory =>
  readable(path, 'consensus', () => likeTemplate(noMemory, JSON.parse(metadata.consensus ?? ''))) as ConsensusMemory;

/** What only some runs have. */
const storedOf = <K extends 'queue' | 'times' | 'away'>({ metadata }: TensorFile, path: string, key: K): Common[K] =>
  metadata[key] === undefined ? undefined : readable(path, key, () => JSON.parse(metadata[key]!) as Common[K]);

function readable<T>(path: string, what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new UserError(`${path} is damaged: its ${what} cannot be read`, {
      cause,
      hint: 'remove the checkpoint: the one before it is used then',
    });
  }
}

/** The numbers of the template as they were stored; what an older version did not store keeps the template's number. */
function likeTemplate(template: unknown, stored: unknown): unknown {
  if (stored === undefined) return template;
  if (typeof template === 'object' && template !== null) {
    if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) throw new TypeError('not a group');
    return Object.fromEntries(
      Object.entries(template).map(([key, part]) => [
        key,
        likeTemplate(part, (stored as Record<string, unknown>)[key]),
      ]),
    );
  }
  // JSON has no NaN and no infinity.
  if (stored === null) return Number.NaN;
  if (typeof stored !== typeof template) throw new TypeError(`not a ${typeof template}`);
  return stored;
}
