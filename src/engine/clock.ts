import { type Phase, phases as phaseTexts } from './columns.ts';

export const phases = Object.keys(phaseTexts) as readonly Phase[];

/** Where the time of a step goes. Waiting for other workers counts as waiting, whatever it is done for. */
export class Clock {
  #ms: Record<Phase, number> = { data: 0, compute: 0, mix: 0, wait: 0, probe: 0 };
  readonly #takeWaitMs: () => number;

  constructor(takeWaitMs: () => number) {
    this.#takeWaitMs = takeWaitMs;
  }

  /** Counts what `work` takes towards a phase. */
  time<T>(phase: Phase, work: () => T): T {
    this.#ms.wait += this.#takeWaitMs();
    const start = performance.now();
    const result = work();
    if (result instanceof Promise) return result.finally(() => this.#count(phase, start)) as T;
    this.#count(phase, start);
    return result;
  }

  #count(phase: Phase, start: number): void {
    const waited = this.#takeWaitMs();
    this.#ms.wait += waited;
    this.#ms[phase] += performance.now() - start - waited;
  }

  /** The time since the last call, phase by phase. */
  take(): number[] {
    this.#ms.wait += this.#takeWaitMs();
    const taken = phases.map((phase) => this.#ms[phase]);
    for (const phase of phases) this.#ms[phase] = 0;
    return taken;
  }
}
