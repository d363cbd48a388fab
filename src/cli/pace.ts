import { duration } from './progress.ts';

/** How long the rest of a list of runs will take, going by those that are done. */
export class Pace {
  #left: number;
  #done = 0;
  #seconds = 0;
  #startedAt: number | undefined;

  constructor(runs: number) {
    this.#left = runs;
  }

  begin(): void {
    this.#left -= 1;
    this.#startedAt = performance.now();
  }

  /** Of a run that was begun; nothing for one that had nothing left to do. */
  end(): void {
    if (this.#startedAt === undefined) return;
    this.#seconds += this.#elapsed(this.#startedAt);
    this.#done += 1;
    this.#startedAt = undefined;
  }

  /** Runs that were carried out, and what they took together. */
  get done(): { readonly timed: number; readonly seconds: number } {
    return { timed: this.#done, seconds: this.#seconds };
  }

  #elapsed(since: number): number {
    return (performance.now() - since) / 1000;
  }

  /** In the middle of a run, or as its last event is told. */
  remaining(): string {
    if (this.#done === 0 || this.#startedAt === undefined) return '';
    const mean = this.#seconds / this.#done;
    const ofThis = Math.max(0, mean - this.#elapsed(this.#startedAt));
    return `all in ${duration(this.#left * mean + ofThis)}`;
  }
}
