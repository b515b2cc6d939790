/* profile.h: where a network's time goes, step by step. A step is one kernel call: a node, or
 * several that the device has made one of. */
#pragma once

#include "agent/engine/device/kernel.h"
#include "agent/engine/session.h"

enum { PROFILE_RUNS_MAX = 200 };

struct profile_step {
    const char *op, *name, *kernel; /* of the node whose kernel it is; borrowed from the session */
    double flops; /* of convolutions and products; 0 of others, whose work is moving numbers */
    double bytes; /* each input, output and weight once, as rows of numbers without blocks' gaps */
    double ms;    /* of the fastest run of it */
};

struct profile {
    struct device_peaks peaks; /* measured first, on the same device */
    bool has_peaks;            /* false: this device cannot measure them */
    size_t step_count, run_count;
    struct profile_step *steps; /* in the order in which they run */
    double run_ms;              /* of the fastest whole run */
    /* clock_monotonic_ns: of run r, began_ns[r]; its step s ended at ended_ns[r * step_count + s],
     * and began when the one before it had ended. */
    int64_t *began_ns, *ended_ns;
};

/* Runs the network once to plan it, then `runs` times (1..PROFILE_RUNS_MAX), waiting for the device
 * behind each step. */
NODISCARD int profile_new(struct session *session, const struct tensor *inputs, size_t runs,
                          struct profile **ret_profile, struct error *err);
void profile_free(struct profile *profile);
void profile_freep(struct profile **profile);
