/* check.h: checks that the ranks of this launch compute correct sums, with the same bits on each,
 * and measures how fast (`windlass-trainer comm check`). It uses the same parts as training:
 * buckets, the reducer's thread, a comm. All sums are compared, including the timed ones. */
#pragma once

#include "agent/comm/comm.h"

struct check_options {
    int64_t megabytes;  /* of 10^6 bytes: all gradients together */
    int64_t fusion_mib; /* of 2^20 bytes: maximum of a bucket */
    int64_t rounds;     /* timed rounds */
    int64_t timeout_ms; /* for one sum; 0: no limit */
    /* Used instead of comm_reduce, for sums in a device's memory; may be NULL. */
    int (*sum)(struct comm *comm, void *context, float *values, size_t count, struct error *err);
    void *context;
};

enum { CHECK_HOST_MAX = 64 }; /* of a name, with NUL; longer ones are truncated */

struct check_result {
    char (*hosts)[CHECK_HOST_MAX];   /* [comm->size]; the caller frees */
    size_t bucket_count, last_bytes; /* of the last bucket */
    uint32_t crc; /* CRC-32C of a sum of random numbers: equal for equal ranks and options */
    double median_ms, least_ms, most_ms; /* time for all buckets, on the slowest rank of each
                                            round */
};

/* Every rank must call it. All get the same error, unless the comm is lost: ERROR_INVALID if
 * options or versions differ, ERROR_FAILED if a sum is wrong, naming the rank. If the comm is lost,
 * the program must exit (reducer.h). */
NODISCARD int check_run(struct comm *comm, const struct check_options *options,
                        struct check_result *ret, struct error *err);
