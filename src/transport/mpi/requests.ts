import type { Communicator } from './communicator.ts';
import { MpiError } from './library.ts';
import { waitUntil } from './wait.ts';

export type Handles = Int32Array | BigUint64Array;

/** How often a wait looks for ranks that are gone, and how long calling off messages may take. */
const [pollsPerCheck, drainSeconds] = [32, 5];

/** What is under way, and how it is waited for. */
export class Requests {
  readonly #communicator: Communicator;
  readonly #whoIsSilent: () => string;
  readonly #flag = new Int32Array(1);
  /** What MPI reads and writes while it is under way, out of the garbage collector's sight. */
  readonly #kept = new Set<unknown>();
  /** Requests that are not done and write into memory when they are. */
  readonly active = new Set<Handles>();
  /** Bytes of messages that went to other ranks. */
  sentBytes = 0;

  /** @param whoIsSilent asked when a wait took too long */
  constructor(communicator: Communicator, whoIsSilent: () => string) {
    this.#communicator = communicator;
    this.#whoIsSilent = whoIsSilent;
  }

  /** Whether all of them are done. */
  test(requests: Handles): boolean {
    const { mpi, abi } = this.#communicator.library;
    mpi.MPI_Testall(requests.length, requests, this.#flag, abi.statusesIgnore);
    return this.#flag[0] !== 0;
  }

  wait(requests: Handles, waitedFor: () => string): void {
    const { failures, crowded, place } = this.#communicator;
    let polls = 0;
    const done = () => {
      if (this.test(requests)) return true;
      // A rank that is gone may leave others waiting for those who have noticed.
      if (++polls % pollsPerCheck === 0) failures?.check(this.#communicator.comm);
      return false;
    };
    try {
      if (waitUntil(done, crowded, place.timeoutSeconds)) return;
    } catch (error) {
      if (error instanceof MpiError && failures === undefined)
        throw this.#communicator.gaveUp(`waited for ${waitedFor()}: ${error.message}`);
      throw error;
    }
    throw this.#communicator.gaveUp(`has waited ${place.timeoutSeconds} s for ${waitedFor()}; ${this.#whoIsSilent()}`);
  }

  /** One request that is made, waited for and gone. */
  once(what: string, make: (request: Handles) => void, ...memory: unknown[]): void {
    const request = this.#communicator.library.abi.handles(1);
    this.#kept.add(request).add(memory);
    make(request);
    this.active.add(request);
    this.wait(request, () => `the other ranks, ${what}`);
    this.active.delete(request);
    this.#kept.clear();
  }

  /** Whether all have come through; the others' part in it may fail even if the own one does not. */
  agreed(well: boolean): boolean {
    const { library, failures, comm, crowded, place } = this.#communicator;
    const [request, answer] = [library.abi.handles(1), Int32Array.of(well ? 1 : 0)];
    this.#kept.add(request).add(answer);
    try {
      failures!.agree(comm, answer, request);
      if (!waitUntil(() => this.test(request), crowded, place.timeoutSeconds))
        throw this.#communicator.gaveUp(
          `has waited ${place.timeoutSeconds} s for the other ranks to agree on who is there`,
        );
    } catch (error) {
      if (error instanceof MpiError) return false;
      throw error;
    }
    this.#kept.delete(request);
    this.#kept.delete(answer);
    return answer[0] === 1;
  }

  /** Nothing of what was under way may still write anywhere. What was to be sent may stay: nobody waits for it. */
  drain(): void {
    const settled = (request: Handles) => {
      try {
        return this.test(request);
      } catch (error) {
        if (error instanceof MpiError) return true;
        throw error;
      }
    };
    let left = [...this.active].flatMap((requests) => [...requests.keys()].map((i) => requests.subarray(i, i + 1)));
    const done = () => {
      left = left.filter((request) => !settled(request));
      return left.length === 0;
    };
    if (!waitUntil(done, true, drainSeconds))
      throw this.#communicator.gaveUp('cannot call off what it was to receive before a rank was lost');
    this.active.clear();
  }
}
