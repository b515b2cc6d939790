/* profile.h: measures how long each step of a network takes. A step is one kernel call; it computes
 * one node, or several that the device has fused. */
#pragma once

#include "agent/engine/device/kernel.h"
#include "agent/engine/session.h"

enum { PROFILE_RUNS_MAX = 200 };

struct profile_step {
    /* The operator and name of the step's (first) node, and the name of its kernel; borrowed from
     * the session. */
    const char *op, *name, *kernel;
    double flops; /* floating-point operations; only of convolutions and matrix products, else 0 */
    double bytes; /* read and written: each input, output and weight once, without padding */
    double ms;    /* the shortest time of all runs */
};

struct profile {
    struct device_peaks peaks; /* of the device, measured before the runs */
    bool has_peaks;            /* false: the device cannot measure them */
    size_t step_count, run_count;
    struct profile_step *steps; /* in the order in which they run */
    double run_ms;              /* the shortest time of a whole run */
    /* Times of clock_monotonic_ns. Run r began at began_ns[r]; its step s ended at ended_ns[r *
     * step_count + s] and began when the step before it ended. */
    int64_t *began_ns, *ended_ns;
};

/* Runs the network once without measuring, because the first run is slower, then `runs` times
 * (1..PROFILE_RUNS_MAX), waiting for the device after each step. inputs: as for session_run. The
 * caller owns *ret_profile; the session must outlive it. */
NODISCARD int profile_new(struct session *session, const struct tensor *inputs, size_t runs,
                          struct profile **ret_profile, struct error *err);
void profile_free(struct profile *profile);
void profile_freep(struct profile **profile);
