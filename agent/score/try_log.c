// SPDX-License-Identifier: Apache-2.0
#include "agent/score/try_log.h"

#include "lib/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAUSE_MS = 500, PAUSE_MAX_MS = 30000 };

struct slot {
    struct buffer lines; /* not stored yet */
    size_t writing;      /* bytes of them that the thread is storing */
    size_t again;        /* bytes of a piece that may or may not have been stored */
    int64_t first_ms;    /* when the oldest of them came */
    int64_t lost;        /* lines since the last that was kept */
    int64_t mini_batch;  /* of a try that has said nothing yet; -1: none */
    int try;
    int piece; /* the next one's number */
    char tail[TRY_LOG_TAIL + 1];
    size_t tail_size;
};

struct try_log {
    struct store *store;
    char *prefix;
    int64_t epoch;
    int slot_count, every_ms;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    struct slot *slots;
    bool is_ending, is_over; /* over: the thread touches nothing more */
    int64_t lost;
};

/* ---- lines ---------------------------------------------------------------------------------- */

/* A line of the tail pushes the oldest ones out. */
static void add_to_tail(struct slot *slot, const char *line, size_t size) {
    size_t kept = MIN(size, (size_t)TRY_LOG_TAIL - 1), need = kept + 1;
    if (slot->tail_size + need > TRY_LOG_TAIL) {
        size_t drop = slot->tail_size + need - TRY_LOG_TAIL;
        const char *end = memchr(slot->tail + drop - 1, '\n', slot->tail_size - drop + 1);
        drop = end ? (size_t)(end - slot->tail) + 1 : slot->tail_size;
        memmove(slot->tail, slot->tail + drop, slot->tail_size - drop);
        slot->tail_size -= drop;
    }
    memcpy(slot->tail + slot->tail_size, line + size - kept, kept);
    slot->tail_size += kept;
    slot->tail[slot->tail_size++] = '\n';
    slot->tail[slot->tail_size] = 0;
}

/* Lines of ours that come before this one: whose try it is, what is missing. */
static int format_marks(const struct slot *slot, char text[static 160]) {
    char time[21];
    int size = 0;
    if (slot->lost) {
        size += snprintf(text, 160, "-- %lld lines are missing: the store was slower\n",
                         (long long)slot->lost);
    }
    if (slot->mini_batch >= 0) {
        clock_format(clock_wall_ms(), time);
        size += snprintf(text + size, (size_t)(160 - size), "-- %s mini-batch %lld, try %d\n", time,
                         (long long)slot->mini_batch, slot->try);
    }
    return size;
}

static void add_line(struct try_log *log, struct slot *slot, const char *line, size_t size) {
    struct error ignored = {0};
    char marks[160] = "";
    size_t marks_size = (size_t)format_marks(slot, marks);
    if (!log->store || slot->piece >= TRY_LOG_PIECES_MAX) {
        return;
    }
    if (slot->lines.size + marks_size + size + 1 > slot->lines.max) {
        slot->lost++;
        log->lost++;
        return;
    }
    if (slot->lines.size == slot->writing) {
        slot->first_ms = clock_monotonic_ms();
    }
    if (buffer_append(&slot->lines, marks, marks_size, &ignored) < 0 ||
        buffer_append(&slot->lines, line, size, &ignored) < 0 ||
        buffer_append(&slot->lines, "\n", 1, &ignored) < 0) {
        return; /* there was room */
    }
    slot->lost = 0;
    slot->mini_batch = -1;
}

void try_log_begin(struct try_log *log, int slot, int64_t mini_batch, int try) {
    pthread_mutex_lock(&log->lock);
    log->slots[slot].mini_batch = mini_batch;
    log->slots[slot].try = try;
    log->slots[slot].tail_size = 0;
    log->slots[slot].tail[0] = 0;
    pthread_mutex_unlock(&log->lock);
}

void try_log_add(struct try_log *log, int slot, const char *line, size_t size) {
    pthread_mutex_lock(&log->lock);
    struct slot *to = &log->slots[slot];
    size_t before = to->lines.size - to->writing;
    add_to_tail(to, line, size);
    add_line(log, to, line, MIN(size, (size_t)TRY_LOG_PIECE / 2));
    /* The thread sleeps until something is due: now there is something, or a piece is full. */
    size_t now = to->lines.size - to->writing;
    if (now != before && (before == 0 || now >= TRY_LOG_PIECE)) {
        pthread_cond_broadcast(&log->changed);
    }
    pthread_mutex_unlock(&log->lock);
}

void try_log_tail(struct try_log *log, int slot, char text[static TRY_LOG_TAIL + 1]) {
    pthread_mutex_lock(&log->lock);
    memcpy(text, log->slots[slot].tail, log->slots[slot].tail_size + 1);
    pthread_mutex_unlock(&log->lock);
}

int64_t try_log_lost(struct try_log *log) {
    pthread_mutex_lock(&log->lock);
    int64_t lost = log->lost;
    pthread_mutex_unlock(&log->lock);
    return lost;
}

/* ---- the thread ----------------------------------------------------------------------------- */

enum name_state { NAME_OURS, NAME_TAKEN, NAME_UNKNOWN };

/* Who has the name that we could not create: we, whose answer was lost, an earlier process of this
 * pod, or nobody can say now. */
static enum name_state whose(struct store *store, const char *name, const char *data, size_t size) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer there;
    buffer_init(&there, TRY_LOG_PIECE);
    if (store_get(store, name, &there, NULL, &err) < 0) {
        return err.kind == ERROR_INVALID ? NAME_TAKEN : NAME_UNKNOWN; /* INVALID: it is larger */
    }
    return there.size == size && memcmp(there.data, data, size) == 0 ? NAME_OURS : NAME_TAKEN;
}

/* Whole lines of at most a piece. */
static size_t piece_size(const struct buffer *lines) {
    if (lines->size <= TRY_LOG_PIECE) {
        return lines->size;
    }
    const char *end = memrchr(lines->data, '\n', TRY_LOG_PIECE);
    return end ? (size_t)(end - lines->data) + 1 : TRY_LOG_PIECE;
}

/* The slot of which a piece is due, and in how many milliseconds the next is; called with the lock.
 */
static struct slot *find_due(struct try_log *log, int64_t now_ms, int64_t *ret_left_ms) {
    int64_t left_ms = INT64_MAX;
    for (int i = 0; i < log->slot_count; i++) {
        struct slot *slot = &log->slots[i];
        if (slot->lines.size == 0) {
            continue;
        }
        bool is_full = slot->lines.size >= TRY_LOG_PIECE;
        int64_t slot_ms = is_full || log->is_ending ? 0 : slot->first_ms + log->every_ms - now_ms;
        if (slot_ms <= 0) {
            return slot;
        }
        left_ms = MIN(left_ms, slot_ms);
    }
    *ret_left_ms = left_ms;
    return NULL;
}

static struct timespec in_ms(int64_t ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + ms % 1000 * 1000000;
    until.tv_sec += ms / 1000 + ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    return until;
}

/* Until something is added, or so long. With the lock. */
static void wait_for_change(struct try_log *log, int64_t ms) {
    if (ms == INT64_MAX) {
        pthread_cond_wait(&log->changed, &log->lock);
        return;
    }
    struct timespec until = in_ms(ms);
    pthread_cond_timedwait(&log->changed, &log->lock, &until);
}

/* Without the lock while it stores: programs must not wait for it. True: done with this piece. */
static bool store_piece(struct try_log *log, struct slot *slot) {
    struct error err = {0};
    size_t size = slot->again ? slot->again : piece_size(&slot->lines);
    char *data = x_malloc(size);
    memcpy(data, slot->lines.data, size);
    AUTO(text_freep)
    char *name = x_printf("%s-%d-%lld/%04d", log->prefix, (int)(slot - log->slots),
                          (long long)log->epoch, slot->piece);
    slot->writing = size;
    pthread_mutex_unlock(&log->lock);
    int result = store_put(log->store, name, data, size, STORE_CREATE, &err);
    enum name_state state = result == 0                  ? NAME_OURS
                            : err.kind == ERROR_CONFLICT ? whose(log->store, name, data, size)
                                                         : NAME_UNKNOWN;
    free(data);
    pthread_mutex_lock(&log->lock);
    slot->writing = 0;
    slot->again = state == NAME_UNKNOWN ? size : 0; /* the same bytes under the same name */
    slot->piece += state != NAME_UNKNOWN;
    if (state == NAME_OURS) {
        buffer_drop(&slot->lines, size);
        slot->first_ms = clock_monotonic_ms();
    }
    if (slot->piece >= TRY_LOG_PIECES_MAX) {
        buffer_clear(&slot->lines);
        slot->again = 0;
    }
    return state != NAME_UNKNOWN;
}

static void *run(void *context) {
    struct try_log *log = context;
    int64_t pause_ms = PAUSE_MS, left_ms = 0;
    pthread_mutex_lock(&log->lock);
    while (true) {
        struct slot *slot = find_due(log, clock_monotonic_ms(), &left_ms);
        if (slot && store_piece(log, slot)) {
            pause_ms = PAUSE_MS;
        } else if (slot && log->is_ending) {
            break; /* one try, when everybody leaves */
        } else if (slot) {
            int64_t until_ms = clock_monotonic_ms() + pause_ms;
            while (!log->is_ending && clock_monotonic_ms() < until_ms) {
                wait_for_change(log, MAX(until_ms - clock_monotonic_ms(), 1));
            }
            pause_ms = MIN(pause_ms * 2, PAUSE_MAX_MS);
        } else if (log->is_ending) {
            break;
        } else {
            wait_for_change(log, left_ms);
        }
    }
    log->is_over = true;
    pthread_cond_broadcast(&log->changed);
    pthread_mutex_unlock(&log->lock);
    return NULL;
}

/* ---- life ----------------------------------------------------------------------------------- */

int try_log_new(const struct try_log_options *options, struct try_log **ret_log,
                struct error *err) {
    if (options->slots < 1 || options->slots > TRY_LOG_SLOTS_MAX) {
        return error_set(err, ERROR_INVALID, "a log of %d slots, 1 to %d are possible",
                         options->slots, TRY_LOG_SLOTS_MAX);
    }
    struct try_log *log = x_calloc(1, sizeof *log);
    log->store = options->store;
    log->prefix = x_strdup(options->prefix);
    log->epoch = options->epoch;
    log->slot_count = options->slots;
    log->every_ms = options->every_ms > 0 ? options->every_ms : TRY_LOG_EVERY_MS;
    log->slots = x_calloc((size_t)options->slots, sizeof *log->slots);
    for (int i = 0; i < log->slot_count; i++) {
        buffer_init(&log->slots[i].lines, TRY_LOG_WAITING);
        log->slots[i].mini_batch = -1;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&log->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&log->lock, NULL);
    int failure = log->store ? pthread_create(&log->thread, NULL, run, log) : 0;
    log->has_thread = log->store && !failure;
    if (failure) {
        try_log_free(log, 0);
        return error_from_errno(err, failure, "cannot start a thread");
    }
    *ret_log = log;
    return 0;
}

int try_log_free(struct try_log *log, int timeout_ms) {
    if (!log) {
        return 0;
    }
    if (log->has_thread) {
        int64_t until_ms = clock_monotonic_ms() + timeout_ms;
        pthread_mutex_lock(&log->lock);
        log->is_ending = true;
        pthread_cond_broadcast(&log->changed);
        while (!log->is_over && clock_monotonic_ms() < until_ms) {
            wait_for_change(log, MAX(until_ms - clock_monotonic_ms(), 1));
        }
        bool is_over = log->is_over;
        pthread_mutex_unlock(&log->lock);
        if (!is_over) {
            pthread_detach(log->thread);
            return 1;
        }
        pthread_join(log->thread, NULL);
    }
    for (int i = 0; i < log->slot_count; i++) {
        buffer_release(&log->slots[i].lines);
    }
    pthread_cond_destroy(&log->changed);
    pthread_mutex_destroy(&log->lock);
    free(log->slots);
    free(log->prefix);
    free(log);
    return 0;
}
