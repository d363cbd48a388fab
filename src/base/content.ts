import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { z } from 'zod';
import { UserError } from './error.ts';

/** Stands beside a setting that names a file: `path` and `sha256`, `trainPath` and `trainSha256`. */
export const sha256Setting = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .optional()
  .describe('SHA-256 of the content, filled in when a run starts; if given, the content must match');

export const sha256Of = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

const pieceBytes = 2 ** 20;

/** The SHA-256 of a file of any size, read piece by piece: about a second per GB, more if the disk is slower. */
export function fileSha256(path: string): string {
  const hash = createHash('sha256');
  const piece = new Uint8Array(pieceBytes);
  const file = openSync(path, 'r');
  try {
    for (let read = readSync(file, piece); read > 0; read = readSync(file, piece)) hash.update(piece.subarray(0, read));
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}

/** A run is known by what its files held when it was planned: other content under the same name is refused. */
export function requireSha256(path: string, found: string, wanted: string | undefined): void {
  if (wanted === undefined || found === wanted) return;
  const short = (sum: string) => sum.slice(0, 12);
  throw new UserError(`${path} has changed: its SHA-256 is ${short(found)}…, the experiment says ${short(wanted)}…`, {
    hint: 'bring back the file as it was, or start a new run with the file as it is',
  });
}
