/** Of a core, for what changes by itself: runs come first, on a machine of few cores they feel it. */
const share = 0.015;
const leastMs = 1000;

/** Spreads work that repeats: the longer it takes, the longer the rest until it is done again. */
export class Budget {
  #next = 0;

  /** Milliseconds until it may be done again. */
  get rest(): number {
    return Math.max(0, this.#next - performance.now());
  }

  spend(ms: number): void {
    this.#next = performance.now() + Math.max(leastMs, ms / share);
  }
}
