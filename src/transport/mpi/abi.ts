/** A handle as the library has it. */
export type Handle = number | bigint;

/** The constants of mpi.h that differ between libraries, which agree on functions and not on values. */
export interface Abi {
  readonly name: 'Open MPI' | 'MPICH' | 'MPI-5';
  /** C type of a handle, and an array of handles. */
  readonly handle: 'int' | 'void *';
  handles(count: number): Int32Array | BigUint64Array;
  readonly commWorld: Handle;
  readonly float: Handle;
  readonly double: Handle;
  readonly byte: Handle;
  readonly errorsReturn: Handle;
  readonly inPlace: bigint;
  readonly statusIgnore: bigint;
  readonly statusesIgnore: bigint;
  /** MPI_THREAD_SINGLE, FUNNELED, SERIALIZED, MULTIPLE. */
  readonly threads: readonly [number, number, number, number];
}

/** Handles are the addresses of the library's own objects. */
export const openMpi = (symbol: (name: string) => bigint): Abi => ({
  name: 'Open MPI',
  handle: 'void *',
  handles: (count) => new BigUint64Array(count),
  commWorld: symbol('ompi_mpi_comm_world'),
  float: symbol('ompi_mpi_float'),
  double: symbol('ompi_mpi_double'),
  byte: symbol('ompi_mpi_byte'),
  errorsReturn: symbol('ompi_mpi_errors_return'),
  inPlace: 1n,
  statusIgnore: 0n,
  statusesIgnore: 0n,
  threads: [0, 1, 2, 3],
});

/** MPICH and those who keep its ABI: Intel MPI, MVAPICH, Cray MPICH. */
export const mpich: Abi = {
  name: 'MPICH',
  handle: 'int',
  handles: (count) => new Int32Array(count),
  commWorld: 0x44000000,
  float: 0x4c00040a,
  double: 0x4c00080b,
  byte: 0x4c00010d,
  errorsReturn: 0x54000001,
  inPlace: 0xffff_ffff_ffff_ffffn,
  statusIgnore: 1n,
  statusesIgnore: 1n,
  threads: [0, 1, 2, 3],
};

/** The ABI of the MPI 5.0 standard, chapter 20: the same in every library that offers it. */
export const standard: Abi = {
  name: 'MPI-5',
  handle: 'void *',
  handles: (count) => new BigUint64Array(count),
  commWorld: 0x101n,
  float: 0x210n,
  double: 0x214n,
  byte: 0x247n,
  errorsReturn: 0x143n,
  inPlace: 1n,
  statusIgnore: 0n,
  statusesIgnore: 0n,
  threads: [0, 1024, 2048, 4096],
};
