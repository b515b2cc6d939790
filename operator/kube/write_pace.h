/* write_pace.h: when a write may be sent, by how the API server has answered those before. Each
 * namespace with failures has a window of its own (write_window.h), so one whose webhook hangs
 * slows only itself; when the server refuses writes of two namespaces, and none succeeds in
 * between, the window of all writes shrinks. No I/O and no clock; uses random numbers. */
#pragma once

#include "operator/kube/write_window.h"

enum {
    WRITE_PACE_NAMESPACES_MAX = 1024 /* with failures; further ones have only the common window */
};

struct write_pace;

struct write_pace *write_pace_new(int max); /* writes under way, of a namespace and of all */
void write_pace_free(struct write_pace *pace);

/* The life of a write: hold_ms until it returns 0, then the caller queues it; wait_ms until that
 * returns 0, then begin, and the request is sent; note_end with its answer. A write that is tried
 * again is queued at once, and goes from wait_ms on. */

/* How long a write of that namespace has to wait before it is queued: 0: not at all, -1: until one
 * that counts there has ended. With 0 *ret_is_counted says whether it counts in its namespace's
 * window, until the write_pace_note_end to which the caller passes that. */
int64_t write_pace_hold_ms(struct write_pace *pace, const char *namespace, int64_t now_ms,
                           bool *ret_is_counted);

/* How long the next write of the queue has to wait: 0: not at all, -1: until another one ends. */
int64_t write_pace_wait_ms(const struct write_pace *pace, int64_t now_ms);
void write_pace_begin(struct write_pace *pace);

/* How a write ended. */
struct write_pace_end {
    const char *namespace;
    bool is_counted;   /* write_pace_hold_ms */
    bool is_refused;   /* the server said 429, 503 or 504, or nothing at all */
    int retry_after_s; /* what the server asked for; 0: nothing */
};
void write_pace_note_end(struct write_pace *pace, const struct write_pace_end *end, int64_t now_ms);
