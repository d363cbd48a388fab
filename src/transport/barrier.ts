/** Places in the control words that the threads of a process share. */
export const [arrived, generation, stop, again] = [0, 1, 2, 3];

/** Polls before it sleeps, about a tenth of a millisecond: steps are even, so a wait is mostly shorter than a wake-up. A tenth as many made steps of 16 small replicas half as long again. */
const spins = 20_000;

/** Where the threads of a process wait for each other. The time that goes into waiting is counted here. */
export class Barrier {
  readonly #control: Int32Array;
  readonly #threads: number;
  #waitMs = 0;

  constructor(control: Int32Array, threads: number) {
    this.#control = control;
    this.#threads = threads;
  }

  /** Returns when all threads are here. */
  meet(): void {
    if (this.#threads > 1) this.waiting(() => this.#assemble());
  }

  /** Counts what `work` takes as waiting. */
  waiting<T>(work: () => T): T {
    const start = performance.now();
    const result = work();
    this.#waitMs += performance.now() - start;
    return result;
  }

  /** Milliseconds spent waiting since the last call. */
  takeWaitMs(): number {
    const taken = this.#waitMs;
    this.#waitMs = 0;
    return taken;
  }

  /** The last to arrive wakes the others. */
  #assemble(): void {
    const control = this.#control;
    const round = Atomics.load(control, generation);
    if (Atomics.add(control, arrived, 1) === this.#threads - 1) {
      Atomics.store(control, arrived, 0);
      Atomics.add(control, generation, 1);
      Atomics.notify(control, generation);
      return;
    }
    for (let spin = 0; spin < spins; spin++) if (Atomics.load(control, generation) !== round) return;
    while (Atomics.load(control, generation) === round) Atomics.wait(control, generation, round, 1000);
  }
}
