// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/write_pace.h"

#include <stdlib.h>
#include <string.h>

/* A namespace with failures. */
struct failing {
    struct failing *next;
    char *namespace;
    struct write_window window;
};

struct write_pace {
    struct write_window all;
    struct failing *failing;
    int failing_count;
    char *last_failed; /* namespace of the last failure since the last success; NULL: none */
};

struct write_pace *write_pace_new(int max) {
    struct write_pace *pace = x_calloc(1, sizeof *pace);
    write_window_init(&pace->all, max);
    return pace;
}

static struct failing **find(struct write_pace *pace, const char *namespace) {
    struct failing **at = &pace->failing;
    while (*at && strcmp((*at)->namespace, namespace) != 0) {
        at = &(*at)->next;
    }
    return at;
}

static void drop(struct write_pace *pace, struct failing **at) {
    struct failing *gone = *at;
    *at = gone->next;
    free(gone->namespace);
    free(gone);
    pace->failing_count--;
}

void write_pace_free(struct write_pace *pace) {
    if (pace) {
        while (pace->failing) {
            drop(pace, &pace->failing);
        }
        free(pace->last_failed);
        free(pace);
    }
}

int64_t write_pace_hold_ms(struct write_pace *pace, const char *namespace, int64_t now_ms,
                           bool *ret_is_counted) {
    struct failing *failing = *find(pace, namespace);
    *ret_is_counted = false;
    if (!failing) {
        return 0;
    }
    int64_t wait_ms = write_window_wait_ms(&failing->window, now_ms);
    if (wait_ms == 0) {
        write_window_begin(&failing->window);
        *ret_is_counted = true;
    }
    return wait_ms;
}

int64_t write_pace_wait_ms(const struct write_pace *pace, int64_t now_ms) {
    return write_window_wait_ms(&pace->all, now_ms);
}

void write_pace_begin(struct write_pace *pace) {
    write_window_begin(&pace->all);
}

static void end_in_namespace(struct write_pace *pace, const struct write_pace_end *end,
                             int64_t now_ms) {
    struct failing **at = find(pace, end->namespace);
    if (!*at && end->is_refused && pace->failing_count < WRITE_PACE_NAMESPACES_MAX) {
        *at = x_calloc(1, sizeof **at);
        (*at)->namespace = x_strdup(end->namespace);
        write_window_init(&(*at)->window, pace->all.max);
        pace->failing_count++;
    }
    if (!*at) {
        return;
    }
    if (!end->is_counted) { /* it was sent before the namespace had a window */
        write_window_begin(&(*at)->window);
    }
    write_window_end(&(*at)->window, end->is_refused, end->retry_after_s, now_ms);
    if (write_window_is_open(&(*at)->window)) {
        drop(pace, at);
    }
}

void write_pace_note_end(struct write_pace *pace, const struct write_pace_end *end,
                         int64_t now_ms) {
    end_in_namespace(pace, end, now_ms);
    bool is_second = pace->last_failed && strcmp(pace->last_failed, end->namespace) != 0;
    bool is_common = end->is_refused && (is_second || pace->all.limit == 0);
    if (end->is_refused && !is_common) {
        pace->all.under_way--; /* about its namespace alone */
    } else {
        write_window_end(&pace->all, end->is_refused, end->retry_after_s, now_ms);
    }
    free(pace->last_failed);
    pace->last_failed = end->is_refused ? x_strdup(end->namespace) : NULL;
}
