import type { Channel, Message } from '../group.ts';
import type { Communicator } from './communicator.ts';
import type { Requests } from './requests.ts';

/** Persistent requests, one for each message, that are started again and again. */
export function openChannel(
  communicator: Communicator,
  running: Requests,
  sends: readonly Message[],
  receives: readonly Message[],
): Channel {
  const { library, comm, members } = communicator;
  const { mpi, abi } = library;
  const messages = [...sends, ...receives];
  const requests = abi.handles(messages.length);
  const receiving = requests.subarray(sends.length);
  const each = messages.map((_, i) => requests.subarray(i, i + 1));
  messages.forEach(({ peer, tag, values }, i) => {
    const make = i < sends.length ? mpi.MPI_Send_init : mpi.MPI_Recv_init;
    const type = values instanceof Uint8Array ? abi.byte : abi.float;
    make(values, values.length, type, members.indexOf(peer), tag, comm, each[i]);
  });
  const sentBytes = sends.reduce((sum, { values }) => sum + values.byteLength, 0);
  const ahead = new Set<number>();
  const flag = new Int32Array(1);
  const startOne = (i: number) => {
    if (ahead.has(i)) return;
    mpi.MPI_Start(each[i]);
    ahead.add(i);
  };
  // It keeps `messages`: MPI reads and writes their memory and knows nothing of the garbage collector.
  return {
    start() {
      if (messages.length === 0) return;
      running.active.add(receiving);
      if (ahead.size === 0) mpi.MPI_Startall(requests.length, requests);
      else for (let i = 0; i < messages.length; i++) startOne(i);
    },
    startSend: startOne,
    startReceives() {
      for (let i = sends.length; i < messages.length; i++) startOne(i);
    },
    progress() {
      if (messages.length > 0) running.test(requests);
    },
    finish() {
      if (messages.length > 0)
        running.wait(
          requests,
          () =>
            `${pending()
              .map((rank) => communicator.name(rank))
              .join(', ')} (rows of parameters)`,
        );
      running.active.delete(receiving);
      running.sentBytes += sentBytes;
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
