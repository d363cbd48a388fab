/* What `dbench bench transport` measures between two ranks, in C: the yardstick of bench/transport.ts. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Other programs only ever add to it, so the fast ones count: a tenth is faster. */
static double fast(double *times, int count) {
  qsort(times, count, sizeof *times, order);
  return times[count / 10];
}

static void finish(int count, MPI_Request *requests) {
  int done = 0;
  while (!done) MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
  int provided, rank, size, floats = atoi(argv[1]), repetitions = atoi(argv[2]), warm = 20;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int peer = 1 - rank;
  float *out = calloc(floats, sizeof *out), *in = calloc(floats, sizeof *in);
  /* Memory that was never written is one page of zeros, which is faster to send than any row. */
  for (int i = 0; i < floats; i++) out[i] = in[i] = 1;
  double *times = malloc(20 * repetitions * sizeof *times);
  MPI_Request requests[2];

  MPI_Send_init(out, 1, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(in, 1, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &requests[1]);
  for (int i = -warm; i < 20 * repetitions; i++) {
    double start = MPI_Wtime();
    for (int turn = 0; turn < 2; turn++) {
      MPI_Startall(1, &requests[turn ^ rank]);
      finish(1, &requests[turn ^ rank]);
    }
    if (i >= 0) times[i] = MPI_Wtime() - start;
  }
  double latency = fast(times, 20 * repetitions) / 2;
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);

  MPI_Send_init(out, floats, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(in, floats, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &requests[1]);
  for (int i = -warm; i < repetitions; i++) {
    double start = MPI_Wtime();
    MPI_Startall(2, requests);
    finish(2, requests);
    if (i >= 0) times[i] = MPI_Wtime() - start;
  }
  double exchange = fast(times, repetitions);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);

  for (int i = -warm; i < repetitions; i++) {
    double start = MPI_Wtime();
    MPI_Allreduce(out, in, floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (i >= 0) times[i] = MPI_Wtime() - start;
  }
  double allreduce = fast(times, repetitions);

  double start = MPI_Wtime();
  for (int i = 0; i < 1000000; i++) MPI_Comm_rank(MPI_COMM_WORLD, &provided);
  double call = (MPI_Wtime() - start) / 1e6;

  if (rank == 0)
    printf("{\"latencyUs\": %g, \"exchangeMs\": %g, \"gigabytesPerSecond\": %g, \"allreduceMs\": %g, \"callNs\": %g}\n",
           1e6 * latency, 1e3 * exchange, 4e-9 * floats / exchange, 1e3 * allreduce, 1e9 * call);
  MPI_Finalize();
  return 0;
}
