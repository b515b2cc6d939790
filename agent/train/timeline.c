// SPDX-License-Identifier: Apache-2.0
/* Events are text from the moment they are added; what does not fit is cut off at the step's mark,
 * and nothing is added any more. */
#include "agent/train/timeline.h"

#include "lib/clock.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRITE_EVERY_MS = 10000, HOST_BYTES = 64 };
#define TAIL "\n]}\n"

struct timeline {
    struct timeline_options options;
    char name[32];        /* of the object */
    struct buffer events; /* all but the tail */
    size_t mark;          /* bytes before the step that is being recorded */
    int64_t step, seen;   /* seen: steps of this start */
    bool is_recording, is_full;
    /* writing */
    pthread_t thread;
    bool is_running;
    atomic_bool is_done;
    struct buffer copy; /* what is being written, with the tail */
    size_t copied;      /* bytes of events in it */
    size_t written;     /* bytes of events that the store has */
    int64_t written_ms; /* when the last write began */
};

/* ---- text ----------------------------------------------------------------------------------- */

/* As it may stand between quotes in JSON. */
static void clean(char *to, size_t room, const char *from) {
    size_t n = 0;
    for (; from[n] && n + 1 < room; n++) {
        bool is_plain = from[n] >= ' ' && from[n] <= '~' && from[n] != '"' && from[n] != '\\';
        to[n] = is_plain ? from[n] : '?';
    }
    to[n] = 0;
}

/* Microseconds with three digits: exact, so that what lies within another does so in the file. */
static void format_us(char text[static 32], int64_t ns) {
    snprintf(text, 32, "%lld.%03lld", (long long)(ns / 1000), (long long)(ns % 1000));
}

static void fill_up(struct timeline *timeline) {
    timeline->events.size = timeline->mark;
    timeline->is_full = true;
    timeline->is_recording = false;
}

/* The head: names of the process and its lanes. */
static void begin_events(struct timeline *timeline) {
    static const char *const lanes[TIMELINE_LANE_COUNT] = {"compute", "sums between ranks"};
    const struct timeline_options *options = &timeline->options;
    struct error err = {0};
    char host[HOST_BYTES];
    clean(host, sizeof host, options->host);
    int result = buffer_printf(&timeline->events, &err,
                               "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
                               "{\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"name\":\"process_name\","
                               "\"args\":{\"name\":\"rank %d of %d on "
                               "%s\"}},\n"
                               "{\"ph\":\"M\",\"pid\":%d,\"tid\":0,\"name\":\"process_sort_index\","
                               "\"args\":{\"sort_index\":%d}}",
                               options->rank, options->rank, options->size, host, options->rank,
                               options->rank);
    for (int i = 0; result == 0 && i < TIMELINE_LANE_COUNT; i++) {
        result = buffer_printf(&timeline->events, &err,
                               ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\","
                               "\"args\":{\"name\":\"%s\"}}",
                               options->rank, i, lanes[i]);
    }
    timeline->mark = timeline->events.size;
    timeline->is_full = result < 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

static int put(struct timeline *timeline, struct error *err) {
    return store_put(timeline->options.store, timeline->name, timeline->copy.data,
                     timeline->copy.size, STORE_REPLACE, err);
}

static void *write_copy(void *context) {
    struct timeline *timeline = context;
    struct error untold = {0}; /* the next write, or the last, holds all */
    if (put(timeline, &untold) == 0) {
        timeline->written = timeline->copied; /* read by nobody before is_done */
    }
    atomic_store(&timeline->is_done, true);
    return NULL;
}

static void copy_events(struct timeline *timeline) {
    struct error err = {0};
    size_t size = timeline->is_recording ? timeline->mark : timeline->events.size;
    buffer_clear(&timeline->copy);
    if (buffer_append(&timeline->copy, timeline->events.data, size, &err) < 0 ||
        buffer_append(&timeline->copy, TAIL, strlen(TAIL), &err) < 0) {
        abort(); /* its maximum is that of events and more */
    }
    timeline->copied = size;
}

static void wait_for_thread(struct timeline *timeline) {
    if (timeline->is_running) {
        pthread_join(timeline->thread, NULL);
        timeline->is_running = false;
    }
}

/* Unless the write before is still under way: the next one holds all. */
static void begin_write(struct timeline *timeline) {
    if (timeline->is_running && !atomic_load(&timeline->is_done)) {
        return;
    }
    wait_for_thread(timeline);
    if (timeline->written == timeline->events.size) {
        return;
    }
    copy_events(timeline);
    timeline->written_ms = clock_monotonic_ms();
    atomic_store(&timeline->is_done, false);
    timeline->is_running = pthread_create(&timeline->thread, NULL, write_copy, timeline) == 0;
}

int timeline_finish(struct timeline *timeline, struct error *err) {
    if (!timeline || timeline->seen == 0) {
        return 0; /* nothing was done: what an earlier start wrote stays */
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
    timeline->mark = timeline->events.size;
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
        timeline->mark = timeline->events.size;
    }
    struct error err = {0};
    char began[32], took[32], plain[TIMELINE_NAME_MAX];
    format_us(began, MAX(began_ns - timeline->options.zero_ns, 0));
    format_us(took, MAX(ended_ns - began_ns, 0));
    clean(plain, sizeof plain, name);
    if (buffer_printf(
            &timeline->events, &err,
            ",\n{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%s,\"dur\":%s,\"name\":\"%s\"}",
            timeline->options.rank, (int)lane, began, took, plain) < 0) {
        fill_up(timeline);
    }
}

void timeline_end(struct timeline *timeline, int64_t began_ns, int64_t ended_ns, double loss) {
    if (!timeline || !timeline->is_recording) {
        return;
    }
    struct error err = {0};
    char name[TIMELINE_NAME_MAX], at[32];
    snprintf(name, sizeof name, "step %lld", (long long)timeline->step);
    timeline_add(timeline, TIMELINE_COMPUTE, name, began_ns, ended_ns);
    format_us(at, MAX(ended_ns - timeline->options.zero_ns, 0));
    if (!timeline->is_full && isfinite(loss) &&
        buffer_printf(&timeline->events, &err,
                      ",\n{\"ph\":\"C\",\"pid\":%d,\"ts\":%s,\"name\":\"loss\",\"args\":{\"loss\":"
                      "%.9g}}",
                      timeline->options.rank, at, loss) < 0) {
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
    buffer_init(&timeline->events, max - strlen(TAIL));
    buffer_init(&timeline->copy, max);
    begin_events(timeline);
    timeline->options.host = NULL; /* the caller's */
    return timeline;
}

void timeline_free(struct timeline *timeline) {
    if (!timeline) {
        return;
    }
    wait_for_thread(timeline);
    buffer_release(&timeline->events);
    buffer_release(&timeline->copy);
    free(timeline);
}

void timeline_freep(struct timeline **timeline) {
    timeline_free(TAKE(*timeline));
}
