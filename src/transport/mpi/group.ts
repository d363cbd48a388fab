import type { GroupOptions, Message, RankGroup, RankPlace } from '../group.ts';
import { openChannel } from './channel.ts';
import { Communicator } from './communicator.ts';
import { loadLibrary, MpiError } from './library.ts';
import type { MpiLink } from './link.ts';
import { Requests } from './requests.ts';
import { waitUntil } from './wait.ts';

/** A tag that nothing else uses, and how long ranks that give up wait for each other's answer. */
const [rollCallTag, rollCallSeconds] = [32_767, 2];

/** The ranks of a run over MPI, in the thread that calls this: no other may use the communicator meanwhile. */
export async function openMpiGroup(place: RankPlace, link: MpiLink, { crowded }: GroupOptions): Promise<RankGroup> {
  return groupOver(new Communicator(await loadLibrary([link.library]), place, link, crowded));
}

function groupOver(communicator: Communicator): RankGroup {
  const { library, place, failures } = communicator;
  const { mpi, abi } = library;
  const { rank, ranks } = place;
  const requests = new Requests(communicator, whoIsSilent);
  const open: RankGroup['open'] = (sends, receives) => openChannel(communicator, requests, sends, receives);

  /** All that wait give up at about the same time and answer each other, and the others do not. */
  function whoIsSilent(): string {
    const others = communicator.members.filter((r) => r !== rank);
    const message = (peer: number): Message => ({ peer, tag: rollCallTag, values: new Float32Array(1) });
    const call = open(others.map(message), others.map(message));
    call.start();
    waitUntil(() => call.pending().length === 0, true, rollCallSeconds);
    const missing = call.pending().map((r) => communicator.name(r));
    return missing.length === 0 ? 'all ranks still answer' : `no answer from ${missing.join(', ')}`;
  }

  return {
    rank,
    ranks,
    get lost() {
      return communicator.lost;
    },
    get sentBytes() {
      return requests.sentBytes;
    },
    together(work) {
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
        failures.revoke(communicator.comm);
      }
      if (requests.agreed(failure === undefined)) return true;
      failures.revoke(communicator.comm);
      requests.drain();
      if (!communicator.shrink(failures)) throw failure ?? new MpiError('another rank failed');
      return false;
    },
    open,
    gather(values, counts) {
      const { comm, members } = communicator;
      const starts = new Int32Array(ranks);
      for (let r = 1; r < ranks; r++) starts[r] = starts[r - 1]! + counts[r - 1]!;
      const lengths = Int32Array.from(members, (r) => counts[r]!);
      const offsets = Int32Array.from(members, (r) => starts[r]!);
      requests.once(
        'gathering numbers',
        (request) =>
          mpi.MPI_Iallgatherv(abi.inPlace, 0, abi.double, values, lengths, offsets, abi.double, comm, request),
        lengths,
        offsets,
      );
    },
    broadcast(values) {
      requests.once('to hear from rank 0', (request) =>
        mpi.MPI_Ibcast(values, values.length, abi.double, 0, communicator.comm, request),
      );
    },
    barrier() {
      requests.once('at a barrier', (request) => mpi.MPI_Ibarrier(communicator.comm, request));
    },
  };
}

/** Nanoseconds of a call that asks for nothing but this process's rank. */
export async function mpiCallNs({ library, comm }: MpiLink): Promise<number> {
  const { mpi } = await loadLibrary([library]);
  const out = new Int32Array(1);
  const calls = 100_000;
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    for (let i = 0; i < calls; i++) mpi.MPI_Comm_rank(comm, out);
    best = Math.min(best, performance.now() - start);
  }
  return (1e6 * best) / calls;
}
