// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/write_window.h"

#include "operator/kube/backoff.h"

#include <stdlib.h>

void write_window_init(struct write_window *window, int max) {
    *window = (struct write_window){.max = max, .limit = max, .halved_ms = INT64_MIN / 2};
}

int64_t write_window_wait_ms(const struct write_window *window, int64_t now_ms) {
    if (window->limit > 0) {
        return window->under_way < window->limit ? 0 : -1;
    }
    return window->under_way > 0 ? -1 : MAX(window->probe_ms - now_ms, 0);
}

void write_window_begin(struct write_window *window) {
    window->under_way++;
}

static void shrink(struct write_window *window, int retry_after_s, int64_t now_ms) {
    window->limit = MAX(window->limit - 1, 0);
    if (now_ms - window->halved_ms >= WRITE_WINDOW_HALVE_MS) {
        window->limit /= 2;
        window->halved_ms = now_ms;
    }
    if (window->limit == 0) {
        int wait_ms = MIN(MAX(2 * window->probe_wait_ms, WRITE_WINDOW_PROBE_MIN_MS),
                          WRITE_WINDOW_PROBE_MAX_MS);
        int asked_ms = MIN(retry_after_s, BACKOFF_RETRY_AFTER_MAX_MS / 1000) * 1000;
        window->probe_wait_ms = wait_ms;
        wait_ms = MAX(wait_ms, asked_ms);
        window->probe_ms = now_ms + wait_ms + arc4random_uniform((uint32_t)wait_ms / 2 + 1);
    }
}

void write_window_end(struct write_window *window, bool is_refused, int retry_after_s,
                      int64_t now_ms) {
    window->under_way--;
    if (is_refused) {
        shrink(window, retry_after_s, now_ms);
        return;
    }
    window->probe_wait_ms = 0;
    window->limit = window->limit == 0 ? MIN(WRITE_WINDOW_AFTER_PROBE, window->max)
                                       : MIN(window->limit + 1, window->max);
}

bool write_window_is_open(const struct write_window *window) {
    return window->limit == window->max && window->under_way == 0;
}
