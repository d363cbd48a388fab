import { totalmem } from 'node:os';
import { UserError } from './error.ts';
import { bytes } from './format.ts';

/** What cannot fit is refused, before the system ends the process or begins to swap. */
export function requireMemory(
  needed: number,
  what: string,
  hint = 'use fewer replicas or a smaller model, or more machines',
): void {
  if (needed <= totalmem()) return;
  throw new UserError(`${what} need ${bytes(needed)} of memory, this machine has ${bytes(totalmem())}`, { hint });
}
