import { totalmem } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
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

let kept = 0;
const givenBack = new FinalizationRegistry<undefined>(() => {
  kept -= 1;
});

/**
 * Makes something that lives outside the heap and is given back only when the heap is collected, although nothing tells V8 that it is
 * large: a WebAssembly memory has 10 GB of addresses and two mappings. A process that makes run after run would reach the system's limit
 * of mappings before the next collection, so there is one if many are kept.
 */
export function collected<T extends WeakKey>(make: () => T): T {
  if (kept >= 8) collectGarbage();
  const made = make();
  givenBack.register(made, undefined);
  kept += 1;
  return made;
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}
