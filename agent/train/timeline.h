/* timeline.h: where a rank's time goes, as OUT/rank.N.json: a trace (lib/trace.h), which
 * https://ui.perfetto.dev and chrome://tracing open. Each rank writes its own; times begin at a
 * moment that all ranks share (a barrier), so several files may be put together: jq -s
 * '{traceEvents: map(.traceEvents[])}' rank.*.json
 *
 * Recorded are the first 20 steps of each start, then those whose number is a multiple of 100,
 * until 16 MiB are full: a step is in it as a whole or not at all. The object is written every ten
 * seconds at most, by a thread of its own, and always whole. A write that fails is made up for by
 * the next; the last one's error is timeline_finish's.
 *
 * One thread at a time. All functions take NULL, which records nothing. */
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
    const char *host;    /* for people */
    int rank, size;
    int64_t zero_ns;  /* clock_monotonic_ns of the shared moment */
    size_t bytes_max; /* 0: TIMELINE_BYTES_MAX */
};

enum timeline_lane { TIMELINE_COMPUTE, TIMELINE_SUMS, TIMELINE_LANE_COUNT };

struct timeline *timeline_new(const struct timeline_options *options);
/* Waits for what is being written. */
void timeline_free(struct timeline *timeline);
void timeline_freep(struct timeline **timeline);

/* step: from 1. Whether it is recorded: what is added from now on belongs to it. */
bool timeline_begin(struct timeline *timeline, int64_t step);
/* Times of clock_monotonic_ns; on one lane either apart, or one within the other and beginning
 * after it. Names: as a trace has them. */
void timeline_add(struct timeline *timeline, enum timeline_lane lane, const char *name,
                  int64_t began_ns, int64_t ended_ns);
/* The recorded step as a whole, and its loss. */
void timeline_end(struct timeline *timeline, int64_t began_ns, int64_t ended_ns, double loss);

/* Waits for the thread and writes what is new. */
NODISCARD int timeline_finish(struct timeline *timeline, struct error *err);
