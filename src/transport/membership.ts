import { type Mixing, without } from '../topology/mixing.ts';
import { type Division, divisionOf } from './division.ts';
import type { RankGroup } from './group.ts';
import { type Plans, plansFor } from './plans.ts';
import type { SharedTransport } from './shared.ts';
import type { LostBlock } from './transport.ts';

/** Who is there, and what is kept ready for as long as nobody else is lost. */
export class Membership {
  readonly #shared: SharedTransport;
  readonly #group: RankGroup | undefined;
  #division: Division;
  #plans: Plans;
  #lost: readonly LostBlock[] = [];
  #away: readonly number[] = [];
  #survivors = new WeakMap<Mixing, Mixing>();

  /** @param group in the thread that speaks with the other ranks */
  constructor(shared: SharedTransport, group: RankGroup | undefined) {
    const { replicas, place, memory } = shared;
    this.#shared = shared;
    this.#group = group;
    this.#division = divisionOf(replicas, place?.ranks ?? 1, place?.rank ?? 0);
    this.#plans = plansFor(memory, this.#division, group);
  }

  get division(): Division {
    return this.#division;
  }

  get plans(): Plans {
    return this.#plans;
  }

  get lost(): readonly LostBlock[] {
    return this.#lost;
  }

  /** Leaves out the ranks that are gone. */
  leaveOut(): void {
    const { gone } = this.#shared;
    const { owner } = this.#division;
    const lost = Array.from(gone.keys()).filter((rank) => gone[rank] === 1);
    const ofRank = (lostRank: number) => Array.from(owner.keys()).filter((i) => owner[i] === lostRank);
    this.#lost = lost.map((lostRank) => ({ rank: lostRank, replicas: ofRank(lostRank) }));
    this.#survivors = new WeakMap();
    this.#renew();
  }

  /** Leaves out these replicas until it is told otherwise. */
  sendAway(replicas: readonly number[]): void {
    if (replicas.join() === this.#away.join()) return;
    this.#away = replicas;
    this.#renew();
  }

  /** The division and all plans are made anew. */
  #renew(): void {
    this.#plans.free();
    const { replicas, ranks, rank } = this.#division;
    const lost = this.#lost.map((block) => block.rank);
    this.#division = divisionOf(replicas, ranks, rank, lost, this.#away);
    this.#plans = plansFor(this.#shared.memory, this.#division, this.#group);
  }

  /** W without the replicas that are lost. */
  surviving(mixing: Mixing): Mixing {
    if (this.#lost.length === 0) return mixing;
    let rest = this.#survivors.get(mixing);
    if (rest === undefined) {
      const lost = this.#lost.flatMap(({ replicas }) => replicas);
      rest = without(mixing, lost);
      this.#survivors.set(mixing, rest);
    }
    return rest;
  }
}
