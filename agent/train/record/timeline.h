/* timeline.h: how a rank spends its time, as OUT/rank.N.json: a trace (lib/trace.h), which
 * https://ui.perfetto.dev and chrome://tracing open. Each rank writes its own; times are relative
 * to a moment that all ranks share (a barrier), so the files can be merged:
 * jq -s '{traceEvents: map(.traceEvents[])}' rank.*.json
 *
 * It records the first 20 steps of each start, then the steps whose number is a multiple of 100,
 * until 16 MiB are full. A step is recorded completely or not at all. A separate thread writes the
 * object, at most every ten seconds, and always atomically. After a failed write the next one
 * contains everything; timeline_finish returns the error of the last.
 *
 * For one thread at a time. All functions accept NULL, and then record nothing. */
#pragma once

#include "agent/store/store.h"

enum {
    TIMELINE_FIRST_STEPS = 20,
    TIMELINE_EVERY = 100,
    TIMELINE_BYTES_MAX = 16 << 20,
};

struct timeline;
struct timeline_options {
    struct store *store; /* borrowed */
    const char *host;    /* shown in the trace */
    int rank, size;
    int64_t zero_ns;  /* clock_monotonic_ns of the shared moment */
    size_t bytes_max; /* 0: TIMELINE_BYTES_MAX */
};

enum timeline_lane { TIMELINE_COMPUTE, TIMELINE_SUMS, TIMELINE_LANE_COUNT };

struct timeline *timeline_new(const struct timeline_options *options);
/* Waits for a write in progress. */
void timeline_free(struct timeline *timeline);
void timeline_freep(struct timeline **timeline);

/* step: from 1. Returns whether it is recorded; later additions belong to it. */
bool timeline_begin(struct timeline *timeline, int64_t step);
/* Times are clock_monotonic_ns. Intervals of a lane are disjoint, or nested with a later beginning.
 * Names: see lib/trace.h. */
void timeline_add(struct timeline *timeline, enum timeline_lane lane, const char *name,
                  int64_t began_ns, int64_t ended_ns);
/* Ends the recorded step, and stores its loss. */
void timeline_end(struct timeline *timeline, int64_t began_ns, int64_t ended_ns, double loss);

/* Waits for the thread and writes what is not yet written. */
NODISCARD int timeline_finish(struct timeline *timeline, struct error *err);
