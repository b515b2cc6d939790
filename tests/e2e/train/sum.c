// SPDX-License-Identifier: Apache-2.0
/* A minimal MPI program of a user: each rank sums the numbers of all ranks. With an argument rank 2
 * exits with 7. Compiled by the mpicc of any MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv) {
    const char *pod = getenv("WINDLASS_INDEX"), *secret = getenv("HUSH");
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d in pod %s: %d %s\n", rank, size, pod ? pod : "(null)", sum,
           secret ? secret : "(null)");
#ifdef MPICH_VERSION
    /* MPICH 4.0 over UCX's TCP hangs in MPI_Finalize once in three runs of six ranks that come to
     * it together. */
    nanosleep(&(struct timespec){.tv_nsec = rank % 16 * 50000000L}, NULL);
#endif
    MPI_Finalize();
    return argc > 1 && rank == 2 ? 7 : 0;
}
