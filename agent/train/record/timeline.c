// SPDX-License-Identifier: Apache-2.0
/* A step that does not fit into the trace is removed at its mark, and no further steps are
 * added. */
#include "agent/train/record/timeline.h"

#include "lib/time/clock.h"
#include "lib/trace.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRITE_EVERY_MS = 10000 };

struct timeline {
    struct timeline_options options;
    char name[32]; /* of the object */
    struct trace trace;
    size_t mark;        /* of the trace, before the step that is being recorded */
    int64_t step, seen; /* seen: steps of this start */
    bool is_recording, is_full;
    /* writing */
    pthread_t thread;
    bool is_running;
    atomic_bool is_done;
    struct buffer copy; /* what is being written */
    size_t copied;      /* bytes of the trace that it contains */
    size_t written;     /* bytes of the trace that are stored */
    int64_t written_ms; /* when the last write began */
};

static void fill_up(struct timeline *timeline) {
    trace_cut(&timeline->trace, timeline->mark);
    timeline->is_full = true;
    timeline->is_recording = false;
}

/* Writes the head: the names of the process and its lanes. */
static void begin_events(struct timeline *timeline) {
    static const char *const lanes[] = {"compute", "sums between ranks"};
    static_assert(ARRAY_LEN(lanes) == TIMELINE_LANE_COUNT, "one name per lane");
    const struct timeline_options *options = &timeline->options;
    AUTO(text_freep)
    char *name = x_printf("rank %d of %d on %.63s", options->rank, options->size, options->host);
    trace_name_process(&timeline->trace, name);
    for (int i = 0; i < TIMELINE_LANE_COUNT; i++) {
        trace_name_lane(&timeline->trace, i, lanes[i]);
    }
    timeline->mark = trace_size(&timeline->trace);
    timeline->is_full = timeline->trace.is_full;
}

/* ---- writing -------------------------------------------------------------------------------- */

static int put(struct timeline *timeline, struct error *err) {
    return store_put(timeline->options.store, timeline->name, timeline->copy.data,
                     timeline->copy.size, STORE_REPLACE, err);
}

static void *write_copy(void *context) {
    struct timeline *timeline = context;
    struct error untold = {0}; /* the next write, or the last, contains everything */
    if (put(timeline, &untold) == 0) {
        timeline->written = timeline->copied; /* not read until is_done */
    }
    atomic_store(&timeline->is_done, true);
    return NULL;
}

static void copy_events(struct timeline *timeline) {
    struct error err = {0};
    size_t size = timeline->is_recording ? timeline->mark : trace_size(&timeline->trace);
    buffer_clear(&timeline->copy);
    if (trace_write(&timeline->trace, size, &timeline->copy, &err) < 0) {
        abort(); /* cannot happen: both have the same maximum */
    }
    timeline->copied = size;
}

static void wait_for_thread(struct timeline *timeline) {
    if (timeline->is_running) {
        pthread_join(timeline->thread, NULL);
        timeline->is_running = false;
    }
}

/* Starts a write, unless the previous one is still in progress: the next write contains
 * everything. */
static void begin_write(struct timeline *timeline) {
    if (timeline->is_running && !atomic_load(&timeline->is_done)) {
        return;
    }
    wait_for_thread(timeline);
    if (timeline->written == trace_size(&timeline->trace)) {
        return;
    }
    copy_events(timeline);
    timeline->written_ms = clock_monotonic_ms();
    atomic_store(&timeline->is_done, false);
    timeline->is_running = pthread_create(&timeline->thread, NULL, write_copy, timeline) == 0;
}

int timeline_finish(struct timeline *timeline, struct error *err) {
    if (!timeline || timeline->seen == 0) {
        return 0; /* nothing was recorded: the object of an earlier start stays */
    }
    wait_for_thread(timeline);
    copy_events(timeline);
    if (timeline->written != timeline->copied && put(timeline, err) < 0) {
        return error_context(err, "the timeline");
    }
    timeline->written = timeline->copied;
    return 0;
}

/* ---- recording ------------------------------------------------------------------------------ */

bool timeline_begin(struct timeline *timeline, int64_t step) {
    if (!timeline) {
        return false;
    }
    timeline->seen++;
    timeline->step = step;
    timeline->mark = trace_size(&timeline->trace);
    timeline->is_recording = !timeline->is_full &&
                             (timeline->seen <= TIMELINE_FIRST_STEPS || step % TIMELINE_EVERY == 0);
    return timeline->is_recording;
}

void timeline_add(struct timeline *timeline, enum timeline_lane lane, const char *name,
                  int64_t began_ns, int64_t ended_ns) {
    if (!timeline || timeline->is_full) {
        return;
    }
    if (!timeline->is_recording) {
        timeline->mark = trace_size(&timeline->trace);
    }
    trace_add(&timeline->trace,
              &(struct trace_span){
                  .lane = lane, .name = name, .began_ns = began_ns, .ended_ns = ended_ns});
    if (timeline->trace.is_full) {
        fill_up(timeline);
    }
}

void timeline_end(struct timeline *timeline, int64_t began_ns, int64_t ended_ns, double loss) {
    if (!timeline || !timeline->is_recording) {
        return;
    }
    char name[TRACE_NAME_MAX];
    snprintf(name, sizeof name, "step %lld", (long long)timeline->step);
    timeline_add(timeline, TIMELINE_COMPUTE, name, began_ns, ended_ns);
    trace_count(&timeline->trace, ended_ns, (struct trace_argument){"loss", loss});
    if (timeline->trace.is_full && !timeline->is_full) {
        fill_up(timeline);
    }
    timeline->is_recording = false;
    if (timeline->seen == 1 || timeline->seen == TIMELINE_FIRST_STEPS ||
        clock_monotonic_ms() - timeline->written_ms >= WRITE_EVERY_MS) {
        begin_write(timeline);
    }
}

/* ---- life ----------------------------------------------------------------------------------- */

struct timeline *timeline_new(const struct timeline_options *options) {
    struct timeline *timeline = x_calloc(1, sizeof *timeline);
    size_t max = options->bytes_max ? options->bytes_max : TIMELINE_BYTES_MAX;
    assert(max >= 1024 && max <= STORE_PUT_MAX); /* the head fits in */
    timeline->options = *options;
    snprintf(timeline->name, sizeof timeline->name, "rank.%d.json", options->rank);
    trace_init(&timeline->trace, options->rank, options->zero_ns, max);
    buffer_init(&timeline->copy, max);
    begin_events(timeline);
    timeline->options.host = NULL; /* it belongs to the caller */
    return timeline;
}

void timeline_free(struct timeline *timeline) {
    if (!timeline) {
        return;
    }
    wait_for_thread(timeline);
    trace_release(&timeline->trace);
    buffer_release(&timeline->copy);
    free(timeline);
}

void timeline_freep(struct timeline **timeline) {
    timeline_free(TAKE(*timeline));
}
