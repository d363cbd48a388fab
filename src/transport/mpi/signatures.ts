/**
 * The MPI functions that are called, by the letters of their arguments: p a pointer (buffers, results, arrays), i an int,
 * h a handle (an int or a pointer, as the library has it). A wrong letter is a crash and not an exception, so a test compares this
 * table with the header of every library that is installed.
 */
export const signatures = {
  MPI_Get_library_version: 'pp',
  MPI_Init_thread: 'ppip',
  MPI_Finalize: '',
  MPI_Abort: 'hi',
  MPI_Error_string: 'ipp',
  MPI_Comm_rank: 'hp',
  MPI_Comm_size: 'hp',
  MPI_Comm_dup: 'hp',
  MPI_Comm_set_errhandler: 'hh',
  MPI_Get_processor_name: 'pp',
  MPI_Ibarrier: 'hp',
  MPI_Ibcast: 'pihihp',
  MPI_Iallgatherv: 'pihppphhp',
  MPI_Send_init: 'pihiihp',
  MPI_Recv_init: 'pihiihp',
  MPI_Start: 'p',
  MPI_Startall: 'ip',
  MPI_Testall: 'ippp',
  MPI_Request_get_status: 'hpp',
  MPI_Request_free: 'p',
  MPI_Comm_group: 'hp',
  MPI_Group_size: 'hp',
  MPI_Group_translate_ranks: 'hiphp',
  MPI_Group_free: 'p',
} as const;

export type FunctionName = keyof typeof signatures;

/** User-Level Failure Mitigation, as Open MPI has it from 5 on in mpi-ext.h. */
export const ulfmSignatures = {
  MPIX_Comm_revoke: 'h',
  MPIX_Comm_is_revoked: 'hp',
  MPIX_Comm_get_failed: 'hp',
  MPIX_Comm_iagree: 'hpp',
  MPIX_Comm_shrink: 'hp',
} as const;

export type UlfmFunctionName = keyof typeof ulfmSignatures;
