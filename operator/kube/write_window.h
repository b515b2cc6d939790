/* write_window.h: how many writes may be under way at a time, by how the API server answers. An
 * overloaded or absent server gets one less for each failure, and half as many for each burst of
 * them, down to one probe every few seconds for all writes together; each success lets one more go.
 * It is to many writes what backoff.h is to one; write_pace.h has one for all writes and one for
 * each namespace with failures. No I/O and no clock; uses random numbers. */
#pragma once

#include "lib/base.h"

enum {
    WRITE_WINDOW_HALVE_MS = 100, /* failures within this time are one: of one burst */
    WRITE_WINDOW_PROBE_MIN_MS = 1000,
    WRITE_WINDOW_PROBE_MAX_MS = 8000,
    WRITE_WINDOW_AFTER_PROBE = 4, /* writes under way after the first success */
};

struct write_window {
    int max, limit; /* 0: only probes */
    int under_way;
    int64_t halved_ms, probe_ms; /* clock_monotonic_ms; probe_ms: not before */
    int probe_wait_ms;
};

void write_window_init(struct write_window *window, int max);

/* How long the next write has to wait: 0: it may go now, -1: until one ends. */
int64_t write_window_wait_ms(const struct write_window *window, int64_t now_ms);

void write_window_begin(struct write_window *window);

/* is_refused: the server said 429, 503 or 504, or nothing at all. retry_after_s: what it asked for;
 * 0: nothing. */
void write_window_end(struct write_window *window, bool is_refused, int retry_after_s,
                      int64_t now_ms);
bool write_window_is_open(const struct write_window *window); /* as wide as at first, and unused */
