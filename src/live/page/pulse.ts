/** Of a core, for what changes by itself: runs come first, on a machine of few cores they feel it. */
const share = 0.015;
/** Nobody waits longer than that for something to move. */
const [leastMs, mostMs] = [2000, 8000];

/** Until what was drawn before is on the screen. */
const painted = () => new Promise<void>((done) => requestAnimationFrame(() => setTimeout(done)));

/**
 * Brings all of a view up to date at once, as often as it is worth: the longer that takes, the longer the rest until the next time. What
 * is asked meanwhile is one wish.
 */
export class Pulse {
  readonly #work: () => Promise<void>;
  /** What is wished for since the work began. */
  #wish: 'soon' | 'now' | undefined;
  #nextMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #works = false;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Something has changed. */
  ask(): void {
    this.#wish ??= 'soon';
    this.#plan();
  }

  /** Something that the reader waits for has changed. */
  hurry(): void {
    this.#wish = 'now';
    this.close();
    this.#plan();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #plan(): void {
    if (this.#works || this.#timer !== undefined) return;
    const rest = this.#wish === 'now' ? 0 : Math.max(0, this.#nextMs - performance.now());
    this.#timer = setTimeout(() => void this.#beat(), rest);
  }

  async #beat(): Promise<void> {
    this.#timer = undefined;
    this.#wish = undefined;
    this.#works = true;
    const start = performance.now();
    await this.#work();
    await painted();
    const now = performance.now();
    this.#nextMs = now + Math.min(mostMs, Math.max(leastMs, (now - start) / share));
    this.#works = false;
    if (this.#wish !== undefined) this.#plan();
  }
}
