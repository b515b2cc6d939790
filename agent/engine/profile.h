/* profile.h: how long each step of a network takes. A step is one kernel call: for one node, or for
 * several that the device has fused. */
#pragma once

#include "agent/engine/device/kernel.h"
#include "agent/engine/session.h"

enum { PROFILE_RUNS_MAX = 200 };

struct profile_step {
    /* Of the node that the kernel belongs to; borrowed from the session. */
    const char *op, *name, *kernel;
    /* Of convolutions and matrix products; 0 for other steps, which mostly move data. */
    double flops;
    double bytes; /* each input, output and weight counted once, without the padding of blocked
                     layouts */
    double ms;    /* of the step's fastest run */
};

struct profile {
    struct device_peaks peaks; /* measured before the runs, on the same device */
    bool has_peaks;            /* false: this device cannot measure them */
    size_t step_count, run_count;
    struct profile_step *steps; /* in the order in which they run */
    double run_ms;              /* of the fastest whole run */
    /* clock_monotonic_ns: of run r, began_ns[r]; its step s ended at ended_ns[r * step_count + s],
     * and began when the one before it had ended. */
    int64_t *began_ns, *ended_ns;
};

/* Runs the network once to plan it, then `runs` times (1..PROFILE_RUNS_MAX), waiting for the device
 * after each step. */
NODISCARD int profile_new(struct session *session, const struct tensor *inputs, size_t runs,
                          struct profile **ret_profile, struct error *err);
void profile_free(struct profile *profile);
void profile_freep(struct profile **profile);
