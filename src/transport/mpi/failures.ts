import type { Handle } from './abi.ts';
import { MpiError, type MpiLibrary } from './library.ts';

/** How processes continue without those that are lost (ULFM; Bland et al., 2013). */
export interface Failures {
  /** Throws if a process of the communicator is known to be gone, or another has noticed it. */
  check(comm: Handle): void;
  /** All that others wait for in this communicator fails, so that they come to agree. */
  revoke(comm: Handle): void;
  /** Starts to find out whether all say 1. Fails on all alike if one is lost. */
  agree(comm: Handle, answer: Int32Array, request: Int32Array | BigUint64Array): void;
  /** A communicator of those that are left, and who they are among the first ones. */
  shrink(comm: Handle): { readonly comm: Handle; readonly members: number[] };
}

export function failuresOf(
  { mpi, abi, ulfm }: Pick<MpiLibrary, 'mpi' | 'abi'> & { readonly ulfm: NonNullable<MpiLibrary['ulfm']> },
  first: Handle,
): Failures {
  const [int, handle] = [new Int32Array(1), abi.handles(1)];

  const groupOf = (ask: (out: Int32Array | BigUint64Array) => void) => {
    const group = abi.handles(1);
    ask(group);
    return group;
  };

  const sizeOf = (group: Handle): number => {
    mpi.MPI_Group_size(group, int);
    return int[0]!;
  };

  return {
    check(comm) {
      ulfm.MPIX_Comm_is_revoked(comm, int);
      if (int[0] !== 0) throw new MpiError('another rank has lost one');
      const failed = groupOf((out) => ulfm.MPIX_Comm_get_failed(comm, out));
      const count = sizeOf(failed[0]!);
      mpi.MPI_Group_free(failed);
      if (count > 0) throw new MpiError('a rank is lost');
    },
    revoke: (comm) => ulfm.MPIX_Comm_revoke(comm),
    agree: (comm, answer, request) => ulfm.MPIX_Comm_iagree(comm, answer, request),
    shrink(comm) {
      ulfm.MPIX_Comm_shrink(comm, handle);
      const rest = handle[0]!;
      mpi.MPI_Comm_set_errhandler(rest, abi.errorsReturn);
      const [all, left] = [first, rest].map((each) => groupOf((out) => mpi.MPI_Comm_group(each, out)));
      const places = Int32Array.from({ length: sizeOf(left![0]!) }, (_, p) => p);
      const members = new Int32Array(places.length);
      mpi.MPI_Group_translate_ranks(left![0], places.length, places, all![0], members);
      for (const group of [all!, left!]) mpi.MPI_Group_free(group);
      return { comm: rest, members: [...members] };
    },
  };
}
