import { LostError } from '../../base/error.ts';
import type { RankPlace } from '../group.ts';
import type { Handle } from './abi.ts';
import { type Failures, failuresOf } from './failures.ts';
import type { MpiLibrary } from './library.ts';
import type { MpiLink } from './link.ts';

/** The ranks of a run and what reaches them, as one of them knows it. */
export class Communicator {
  readonly library: MpiLibrary;
  readonly place: RankPlace;
  /** More threads on this machine than cores. */
  readonly crowded: boolean;
  /** If the run may continue without ranks that are lost. */
  readonly failures: Failures | undefined;
  #comm: Handle;
  #members: readonly number[];
  #lost: readonly number[] = [];

  constructor(library: MpiLibrary, place: RankPlace, { comm }: MpiLink, crowded: boolean) {
    const { mpi, abi, ulfm } = library;
    this.library = library;
    this.place = place;
    this.crowded = crowded;
    this.failures = place.survive ? failuresOf({ mpi, abi, ulfm: ulfm! }, comm) : undefined;
    this.#comm = comm;
    this.#members = Array.from({ length: place.ranks }, (_, rank) => rank);
  }

  get comm(): Handle {
    return this.#comm;
  }

  /** Ranks that are there, in the order of the communicator. */
  get members(): readonly number[] {
    return this.#members;
  }

  /** Ranks that are no longer there, ascending. */
  get lost(): readonly number[] {
    return this.#lost;
  }

  /** Continues with those who are left; false if nobody is missing. */
  shrink(failures: Failures): boolean {
    const { comm, members } = failures.shrink(this.#comm);
    if (members.length === this.#members.length) return false;
    this.#lost = Array.from({ length: this.place.ranks }, (_, rank) => rank).filter((rank) => !members.includes(rank));
    [this.#comm, this.#members] = [comm, members];
    if (members[0] !== 0) throw this.gaveUp(`has lost ${this.name(0)}, without which nothing can be recorded`);
    return true;
  }

  name(rank: number): string {
    return `rank ${rank} on ${this.place.hosts[rank]}`;
  }

  gaveUp(what: string): LostError {
    return new LostError(`${this.name(this.place.rank)} ${what}`, {
      hint: 'a machine or link is gone, or --timeout is shorter than something takes; resume with: dbench run --resume',
    });
  }
}
