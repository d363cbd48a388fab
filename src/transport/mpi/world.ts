import { setTimeout as sleep } from 'node:timers/promises';
import { LostError, UserError } from '../../base/error.ts';
import type { World, WorldOptions } from '../world.ts';
import { launcherOf } from './launcher.ts';
import { loadLibrary, type MpiLibrary } from './library.ts';

/** MPI_Abort gives this to the launcher if a process ends early and says that all is well. */
const endedEarly = 13;

/** Starts MPI in this process. Once in its life, and in its main thread. */
export async function openMpi({ timeoutSeconds, survive = false }: WorldOptions): Promise<World> {
  const launcher = launcherOf(process.env);
  const library = await loadLibrary();
  const { mpi, abi } = library;
  const int = new Int32Array(1);
  // Worker threads call it too, one at a time; an abort may come from the main thread at any time.
  mpi.MPI_Init_thread(null, null, abi.threads[3], int);
  const serialized = int[0]! >= abi.threads[2];
  const finalize = abortAtExit(library);
  if (!serialized) throw new UserError(`${library.version} was built without support for threads`);
  mpi.MPI_Comm_set_errhandler(abi.commWorld, abi.errorsReturn);
  const read = (ask: (out: Int32Array) => void) => {
    ask(int);
    return int[0]!;
  };
  const rank = read((out) => mpi.MPI_Comm_rank(abi.commWorld, out));
  const size = read((out) => mpi.MPI_Comm_size(abi.commWorld, out));
  if (launcher?.size !== undefined && launcher.size !== size)
    throw new UserError(
      `${launcher.name} started ${launcher.size} processes, but ${library.version} (${library.path}) sees ${size}: they do not belong together`,
      { hint: 'use the mpirun of this library, or set DBENCH_MPI to the library of this mpirun' },
    );
  if (survive) checkUlfm(library);
  const handle = abi.handles(1);
  mpi.MPI_Comm_dup(abi.commWorld, handle);
  const comm = handle[0]!;
  mpi.MPI_Comm_set_errhandler(comm, abi.errorsReturn);

  /** What MPI reads and writes while it is under way, out of the garbage collector's sight. */
  const underWay = new Set<unknown>();

  /** Leaves the event loop free: a signal must get through. */
  async function once(make: (request: Int32Array | BigUint64Array) => void, memory: readonly unknown[]): Promise<void> {
    const request = abi.handles(1);
    const start = performance.now();
    underWay.add(request).add(memory);
    make(request);
    for (let pauseMs = 0; ; pauseMs = Math.min(10, pauseMs + 1)) {
      mpi.MPI_Testall(1, request, int, abi.statusesIgnore);
      if (int[0] !== 0) {
        underWay.clear();
        return;
      }
      if (performance.now() - start > 1000 * timeoutSeconds)
        throw new LostError(`rank ${rank} has waited ${timeoutSeconds} s for the other ranks between two runs`);
      await sleep(pauseMs);
    }
  }

  const encode = (value: unknown) => Buffer.from(JSON.stringify(value ?? null));

  async function gather<T>(value: T): Promise<T[]> {
    const own = encode(value);
    const lengths = new Float64Array(size);
    lengths[rank] = own.length;
    const [ones, places] = [new Int32Array(size).fill(1), Int32Array.from({ length: size }, (_, r) => r)];
    await once(
      (request) => mpi.MPI_Iallgatherv(abi.inPlace, 0, abi.double, lengths, ones, places, abi.double, comm, request),
      [lengths, ones, places],
    );
    const counts = Int32Array.from(lengths);
    const starts = new Int32Array(size);
    for (let r = 1; r < size; r++) starts[r] = starts[r - 1]! + counts[r - 1]!;
    const all = Buffer.alloc(starts[size - 1]! + counts[size - 1]!);
    own.copy(all, starts[rank]);
    await once(
      (request) => mpi.MPI_Iallgatherv(abi.inPlace, 0, abi.byte, all, counts, starts, abi.byte, comm, request),
      [all, counts, starts],
    );
    return Array.from(counts, (count, r) => JSON.parse(all.toString('utf8', starts[r], starts[r]! + count)) as T);
  }

  async function share<T>(value: T): Promise<T> {
    const own = encode(value);
    const length = Float64Array.of(own.length);
    await once((request) => mpi.MPI_Ibcast(length, 1, abi.double, 0, comm, request), [length]);
    const text = rank === 0 ? own : Buffer.alloc(length[0]!);
    await once((request) => mpi.MPI_Ibcast(text, text.length, abi.byte, 0, comm, request), [text]);
    return rank === 0 ? value : (JSON.parse(text.toString('utf8')) as T);
  }

  const members = await gather({ host: processorName(library), process: process.pid });
  const hosts = members.map(({ host }) => host);
  const neighbours = hosts.filter((host) => host === hosts[rank]).length;
  const link = { kind: 'mpi', library: library.path, comm } as const;
  const place = { rank, ranks: size, hosts, neighbours, link, timeoutSeconds, survive };
  return {
    rank,
    size,
    members,
    place: size === 1 ? undefined : place,
    transport: library.version,
    share,
    gather,
    close: async (lost = false) => finalize(lost),
  };
}

function checkUlfm({ version, ulfm }: MpiLibrary): void {
  const hint =
    'Open MPI from 5 on can, if started so: mpirun --with-ft ulfm … (not by srun, and not with its library of the MPI-5 ABI)';
  if (ulfm === undefined) throw new UserError(`${version} cannot continue without ranks that are lost`, { hint });
  if (process.env.OMPI_MCA_mpi_ft_enable !== '1')
    throw new UserError('this launcher ends all ranks when one is lost, so --survive has no effect', { hint });
}

function processorName({ mpi }: MpiLibrary): string {
  const [text, length] = [Buffer.alloc(1024), new Int32Array(1)];
  mpi.MPI_Get_processor_name(text, length);
  return text.toString('utf8', 0, length[0]);
}

/** A process that ends without MPI_Finalize must take the others down: under MPICH it would count as a success. */
function abortAtExit({ mpi, abi }: MpiLibrary): (lost: boolean) => void {
  const abort = (code: number) => mpi.MPI_Abort(abi.commWorld, code === 0 ? endedEarly : code);
  process.once('exit', abort);
  // Node prints an error that nobody catches only after that event.
  process.on('uncaughtExceptionMonitor', (error) => console.error(error));
  return (lost) => {
    process.off('exit', abort);
    // It waits for all, and for those that are lost it may wait for ever.
    if (!lost) mpi.MPI_Finalize();
  };
}
