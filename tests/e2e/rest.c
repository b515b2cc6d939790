/* rest.c: a library for LD_PRELOAD with which a rank sleeps while it waits for others. Open MPI
   looks again and again whether something has come, with a sched_yield between two looks: ranks
   that wait would take as much of the processors as those that compute, and all that the machine
   has left. */
#include <time.h>

int sched_yield(void) {
    return nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}
