/** Polls before it looks at the clock: most messages are there by then. */
const spins = 200;
/** How long a process with a core of its own polls before it sleeps in between. */
const patienceMs = 0.2;
const [shortSleepMs, longSleepMs] = [0.02, 0.2];

const cell = new Int32Array(new SharedArrayBuffer(4));

/**
 * Waits by asking again and again. Never inside MPI: MPICH would keep the core from those it waits for, and nothing would end the
 * wait for a process that is gone. False when it took too long.
 */
export function waitUntil(done: () => boolean, crowded: boolean, timeoutSeconds: number): boolean {
  for (let spin = crowded ? spins : 0; spin < spins; spin++) if (done()) return true;
  const start = performance.now();
  let sleepMs = shortSleepMs;
  while (!done()) {
    const waited = performance.now() - start;
    if (waited > 1000 * timeoutSeconds) return false;
    if (!crowded && waited < patienceMs) continue;
    Atomics.wait(cell, 0, 0, sleepMs);
    sleepMs = Math.min(longSleepMs, sleepMs * 1.2);
  }
  return true;
}
