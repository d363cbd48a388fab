import { LostError } from '../../base/error.ts';
import type { Channel, Group, Message, Place } from '../group.ts';
import { type Failures, failuresOf } from './failures.ts';
import { type Library, loadLibrary, MpiError } from './library.ts';

/** Polls before it looks at the clock: most messages are there by then. */
const spins = 200;
/** How long a process with a core of its own polls before it sleeps in between. */
const patienceMs = 0.2;
const [shortSleepMs, longSleepMs] = [0.02, 0.2];

const cell = new Int32Array(new SharedArrayBuffer(4));

/**
 * Waits by asking again and again. Never inside MPI: MPICH would keep the core from those it waits for, and nothing would end the
 * wait for a process that is gone. False when it took too long.
 */
function waitUntil(done: () => boolean, crowded: boolean, timeoutSeconds: number): boolean {
  for (let spin = crowded ? spins : 0; spin < spins; spin++) if (done()) return true;
  const start = performance.now();
  let sleepMs = shortSleepMs;
  while (!done()) {
    const waited = performance.now() - start;
    if (waited > 1000 * timeoutSeconds) return false;
    if (!crowded && waited < patienceMs) continue;
    Atomics.wait(cell, 0, 0, sleepMs);
    sleepMs = Math.min(longSleepMs, sleepMs * 1.2);
  }
  return true;
}

/** A tag that nothing else uses, and how long ranks that give up wait for each other's answer. */
const [rollCallTag, rollCallSeconds] = [32_767, 2];

/** How often a wait looks for processes that are gone, and how long calling off messages may take. */
const [pollsPerCheck, drainSeconds] = [32, 5];

type Handles = Int32Array | BigUint64Array;

export interface GroupOptions {
  /** More threads on this machine than cores. */
  readonly crowded: boolean;
}

/** The processes of a run over MPI, in the thread that calls this: no other may use the communicator meanwhile. */
export async function openGroup(place: Place, { crowded }: GroupOptions): Promise<Group> {
  const library = await loadLibrary([place.mpi.library]);
  return groupOver(library, place, crowded);
}

function groupOver({ mpi, abi, ulfm }: Library, place: Place, crowded: boolean): Group {
  const { index, count, hosts, timeoutSeconds } = place;
  const failures = place.survive ? failuresOf({ mpi, abi, ulfm: ulfm! }, place.mpi.comm) : undefined;
  let { comm } = place.mpi;
  /** Processes that are there, in the order of the communicator. */
  let members = Array.from({ length: count }, (_, p) => p);
  let lost: readonly number[] = [];
  const flag = new Int32Array(1);
  const name = (process: number) => `rank ${process} on ${hosts[process]}`;

  function test(requests: Int32Array | BigUint64Array): boolean {
    mpi.MPI_Testall(requests.length, requests, flag, abi.statusesIgnore);
    return flag[0] !== 0;
  }

  const gaveUp = (what: string) =>
    new LostError(`${name(index)} ${what}`, {
      hint: 'a machine or link is gone, or --timeout is shorter than something takes; go on with: dbench run --resume',
    });

  function wait(requests: Int32Array | BigUint64Array, waitedFor: () => string): void {
    let polls = 0;
    const done = () => {
      if (test(requests)) return true;
      // A process that is gone may leave others waiting for those who have noticed.
      if (++polls % pollsPerCheck === 0) failures?.check(comm);
      return false;
    };
    try {
      if (waitUntil(done, crowded, timeoutSeconds)) return;
    } catch (error) {
      if (error instanceof MpiError && failures === undefined)
        throw gaveUp(`waited for ${waitedFor()}: ${error.message}`);
      throw error;
    }
    throw gaveUp(`has waited ${timeoutSeconds} s for ${waitedFor()}; ${silent()}`);
  }

  /** Who is there: all that wait give up at about the same time and answer each other, and the others do not. */
  function silent(): string {
    const others = members.filter((p) => p !== index);
    const message = (peer: number): Message => ({ peer, tag: rollCallTag, values: new Float32Array(1) });
    const call = open(others.map(message), others.map(message));
    call.start();
    waitUntil(() => call.pending().length === 0, true, rollCallSeconds);
    const missing = call.pending();
    return missing.length === 0 ? 'all ranks still answer' : `no answer from ${missing.map(name).join(', ')}`;
  }

  /** What MPI reads and writes while it is under way, out of the garbage collector's sight. */
  const underWay = new Set<unknown>();
  /** Requests that are not done and write into memory when they are. */
  const active = new Set<Handles>();

  /** One request that is made, waited for and gone. */
  function once(what: string, make: (request: Int32Array | BigUint64Array) => void, ...memory: unknown[]): void {
    const request = abi.handles(1);
    underWay.add(request).add(memory);
    make(request);
    active.add(request);
    wait(request, () => `the other ranks, ${what}`);
    active.delete(request);
    underWay.clear();
  }

  function open(sends: readonly Message[], receives: readonly Message[]): Channel {
    const messages = [...sends, ...receives];
    const requests = abi.handles(messages.length);
    const receiving = requests.subarray(sends.length);
    const each = messages.map((_, i) => requests.subarray(i, i + 1));
    messages.forEach(({ peer, tag, values }, i) => {
      const make = i < sends.length ? mpi.MPI_Send_init : mpi.MPI_Recv_init;
      make(values, values.length, abi.float, members.indexOf(peer), tag, comm, each[i]);
    });
    const ahead = new Set<number>();
    const startOne = (i: number) => {
      if (ahead.has(i)) return;
      mpi.MPI_Start(each[i]);
      ahead.add(i);
    };
    // It keeps `messages`: MPI reads and writes their memory and knows nothing of the garbage collector.
    return {
      start() {
        if (messages.length === 0) return;
        active.add(receiving);
        if (ahead.size === 0) mpi.MPI_Startall(requests.length, requests);
        else for (let i = 0; i < messages.length; i++) startOne(i);
      },
      startSend: startOne,
      startReceives() {
        for (let i = sends.length; i < messages.length; i++) startOne(i);
      },
      progress() {
        if (messages.length > 0) test(requests);
      },
      finish() {
        if (messages.length > 0) wait(requests, () => `${pending().map(name).join(', ')} (rows of parameters)`);
        active.delete(receiving);
        ahead.clear();
      },
      pending,
      free() {
        for (const request of each) mpi.MPI_Request_free(request);
      },
    };

    function pending(): number[] {
      const waiting = messages.filter((_, i) => {
        mpi.MPI_Request_get_status(requests[i], flag, abi.statusIgnore);
        return flag[0] === 0;
      });
      return [...new Set(waiting.map(({ peer }) => peer))].sort((a, b) => a - b);
    }
  }

  /** Whether all have come through; the others' part in it may fail where the own one does not. */
  function agreed(failures: Failures, well: boolean): boolean {
    const [request, answer] = [abi.handles(1), Int32Array.of(well ? 1 : 0)];
    underWay.add(request).add(answer);
    try {
      failures.agree(comm, answer, request);
      if (!waitUntil(() => test(request), crowded, timeoutSeconds))
        throw gaveUp(`has waited ${timeoutSeconds} s for the other ranks to agree on who is there`);
    } catch (error) {
      if (error instanceof MpiError) return false;
      throw error;
    }
    underWay.delete(request);
    underWay.delete(answer);
    return answer[0] === 1;
  }

  /** Nothing of what was under way may still write anywhere. What was to be sent may stay: nobody waits for it. */
  function drain(): void {
    const settled = (request: Handles) => {
      try {
        return test(request);
      } catch (error) {
        if (error instanceof MpiError) return true;
        throw error;
      }
    };
    let left = [...active].flatMap((requests) => [...requests.keys()].map((i) => requests.subarray(i, i + 1)));
    const done = () => {
      left = left.filter((request) => !settled(request));
      return left.length === 0;
    };
    if (!waitUntil(done, true, drainSeconds))
      throw gaveUp('cannot call off what it was to receive before a rank was lost');
    active.clear();
  }

  function together(work: () => void): boolean {
    if (failures === undefined) {
      work();
      return true;
    }
    let failure: MpiError | undefined;
    try {
      work();
    } catch (error) {
      if (!(error instanceof MpiError)) throw error;
      failure = error;
      failures.revoke(comm);
    }
    if (agreed(failures, failure === undefined)) return true;
    failures.revoke(comm);
    drain();
    const rest = failures.shrink(comm);
    if (rest.members.length === members.length) throw failure ?? new MpiError('another rank failed');
    ({ comm, members } = rest);
    lost = Array.from({ length: count }, (_, p) => p).filter((p) => !members.includes(p));
    if (members[0] !== 0) throw gaveUp(`has lost ${name(0)}, without which nothing can be recorded`);
    return false;
  }

  return {
    index,
    count,
    get lost() {
      return lost;
    },
    together,
    open,
    gather(values, counts) {
      const starts = new Int32Array(count);
      for (let p = 1; p < count; p++) starts[p] = starts[p - 1]! + counts[p - 1]!;
      const lengths = Int32Array.from(members, (p) => counts[p]!);
      const offsets = Int32Array.from(members, (p) => starts[p]!);
      once(
        'gathering numbers',
        (request) =>
          mpi.MPI_Iallgatherv(abi.inPlace, 0, abi.double, values, lengths, offsets, abi.double, comm, request),
        lengths,
        offsets,
      );
    },
    broadcast(values) {
      once('to hear from rank 0', (request) => mpi.MPI_Ibcast(values, values.length, abi.double, 0, comm, request));
    },
    barrier() {
      once('at a barrier', (request) => mpi.MPI_Ibarrier(comm, request));
    },
  };
}

/** Nanoseconds of a call that asks for nothing but this process's rank. */
export async function callNs(place: Place): Promise<number> {
  const { mpi } = await loadLibrary([place.mpi.library]);
  const out = new Int32Array(1);
  const calls = 100_000;
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    for (let i = 0; i < calls; i++) mpi.MPI_Comm_rank(place.mpi.comm, out);
    best = Math.min(best, performance.now() - start);
  }
  return (1e6 * best) / calls;
}
