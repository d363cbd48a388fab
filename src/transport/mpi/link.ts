/** How threads reach the other ranks over MPI: plain data, handed to them by the main thread. */
export interface MpiLink {
  readonly kind: 'mpi';
  readonly library: string;
  readonly comm: number | bigint;
}
