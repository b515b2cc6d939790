/* check.h: do these ranks add up, to the same bits, and how fast? With what training uses: buckets,
 * the reducer's thread, a comm. All that is added is compared, the sums that are timed as well. */
#pragma once

#include "agent/comm/comm.h"

struct check_options {
    int64_t megabytes;   /* of 10^6 bytes: all gradients together */
    int64_t fusion_mib;  /* of 2^20 bytes: a bucket at most */
    int64_t rounds;      /* that are timed */
    int64_t patience_ms; /* with one sum; 0: for ever */
    /* In place of comm_reduce; NULL: none. For sums in a device's memory. */
    int (*sum)(struct comm *comm, void *context, float *values, size_t count, struct error *err);
    void *context;
};

enum { CHECK_HOST_MAX = 64 }; /* of a name, with NUL; longer ones are cut */

struct check_result {
    char (*hosts)[CHECK_HOST_MAX];   /* [comm->size]; the caller frees */
    size_t bucket_count, last_bytes; /* of the last bucket */
    uint32_t crc; /* CRC-32C of a sum of random numbers: equal where ranks and options are */
    double median_ms, least_ms, most_ms; /* of all buckets, on the slowest rank of each round */
};

/* Every rank calls it, and gets the same error, unless the comm is lost: ERROR_INVALID when options
 * or versions differ, ERROR_FAILED when a sum is wrong, naming the rank. Where the comm is lost,
 * the program has to leave (reducer.h). */
NODISCARD int check_run(struct comm *comm, const struct check_options *options,
                        struct check_result *ret, struct error *err);
