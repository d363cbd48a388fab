import type { PhaseMs } from './event.ts';

export type Phase = keyof PhaseMs;
export const phases: readonly Phase[] = ['data', 'compute', 'mix', 'wait', 'probe'];

/** Where the time of a step goes. */
export class Clock {
  #ms: Record<Phase, number> = { data: 0, compute: 0, mix: 0, wait: 0, probe: 0 };

  /** Counts what `work` takes towards a phase. */
  time<T>(phase: Phase, work: () => T): T {
    const start = performance.now();
    const result = work();
    if (!(result instanceof Promise)) {
      this.#ms[phase] += performance.now() - start;
      return result;
    }
    return result.finally(() => {
      this.#ms[phase] += performance.now() - start;
    }) as T;
  }

  /** The time since the last call, phase by phase. */
  take(): number[] {
    const taken = phases.map((phase) => this.#ms[phase]);
    for (const phase of phases) this.#ms[phase] = 0;
    return taken;
  }
}
