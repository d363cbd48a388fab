import { again, type Barrier } from './barrier.ts';
import type { RankGroup } from './group.ts';
import type { Membership } from './membership.ts';
import type { SharedTransport } from './shared.ts';

/** All threads of all ranks: those of a process meet in memory, and its first one speaks with the other ranks. */
export class Meeting {
  readonly #shared: SharedTransport;
  readonly #barrier: Barrier;
  readonly #membership: Membership;
  readonly #group: RankGroup | undefined;

  constructor(shared: SharedTransport, barrier: Barrier, membership: Membership, group: RankGroup | undefined) {
    this.#shared = shared;
    this.#barrier = barrier;
    this.#membership = membership;
    this.#group = group;
  }

  /** All threads of this process. */
  meet(): void {
    this.#barrier.meet();
  }

  /**
   * All threads, then what the first one does with the other ranks before any proceeds. False if a rank was lost meanwhile: it is
   * left out from here on, and what was said must be said again.
   */
  across(speak: (group: RankGroup) => void): boolean {
    this.#barrier.meet();
    if (this.#shared.place === undefined) return true;
    const { control, gone } = this.#shared;
    const group = this.#group;
    if (group !== undefined) {
      const done = this.#barrier.waiting(() => group.together(() => speak(group)));
      for (const rank of group.lost) gone[rank] = 1;
      control[again] = done ? 0 : 1;
    }
    this.#barrier.meet();
    if (control[again] === 0) return true;
    this.#membership.leaveOut();
    return false;
  }

  /** Says it until all who are there have heard it. */
  say(speak: (group: RankGroup) => void): void {
    while (!this.across(speak));
  }
}
