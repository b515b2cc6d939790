// SPDX-License-Identifier: Apache-2.0
#include "agent/store/spool.h"

#include "lib/time/clock.h"
#include "lib/time/timed_wait.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAUSE_MS = 500, PAUSE_MAX_MS = 30000, MARKS_MAX = SPOOL_MARK + 100 };

struct slot {
    struct buffer lines;   /* not stored yet */
    size_t writing;        /* bytes of `lines` that the thread is storing */
    size_t again;          /* bytes of a piece that may or may not have been stored */
    int64_t first_ms;      /* when the oldest line came */
    int64_t lost;          /* lines lost since the last kept one */
    char mark[SPOOL_MARK]; /* the mark, until the first line is written; "": none */
    char *name;
    int piece; /* the number of the next piece */
    char tail[SPOOL_TAIL + 1];
    size_t tail_size;
};

struct spool {
    struct store *store;
    int slot_count, every_ms;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock; /* guards all fields below */
    pthread_cond_t changed;
    struct slot *slots;
    bool is_ending, is_over; /* over: the thread uses nothing any more */
    int64_t lost;
};

/* ---- lines ---------------------------------------------------------------------------------- */

/* Adds a line to the tail, which drops the oldest ones. */
static void add_to_tail(struct slot *slot, const char *line, size_t size) {
    size_t kept = MIN(size, (size_t)SPOOL_TAIL - 1), need = kept + 1;
    if (slot->tail_size + need > SPOOL_TAIL) {
        size_t drop = slot->tail_size + need - SPOOL_TAIL;
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

/* Formats the spool's lines before this one: the mark, and the count of lost lines. */
static int format_marks(const struct slot *slot, char text[static MARKS_MAX]) {
    char time[21];
    int size = 0;
    if (slot->lost) {
        size += snprintf(text, MARKS_MAX, "-- %lld lines are missing: the store was slower\n",
                         (long long)slot->lost);
    }
    if (*slot->mark) {
        clock_format(clock_wall_ms(), time);
        size += snprintf(text + size, (size_t)(MARKS_MAX - size), "-- %s %s\n", time, slot->mark);
    }
    return size;
}

static void add_line(struct spool *spool, struct slot *slot, const char *line, size_t size) {
    struct error ignored = {0};
    char marks[MARKS_MAX] = "";
    size_t marks_size = (size_t)format_marks(slot, marks);
    if (!spool->store || slot->piece >= SPOOL_COUNT_MAX) {
        return;
    }
    if (slot->lines.size + marks_size + size + 1 > slot->lines.max) {
        slot->lost++;
        spool->lost++;
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
    slot->mark[0] = 0;
}

void spool_begin(struct spool *spool, int slot, const char *mark) {
    pthread_mutex_lock(&spool->lock);
    struct slot *of = &spool->slots[slot];
    snprintf(of->mark, sizeof of->mark, "%s", mark);
    of->tail_size = 0;
    of->tail[0] = 0;
    pthread_mutex_unlock(&spool->lock);
}

void spool_add(struct spool *spool, int slot, const char *line, size_t size) {
    pthread_mutex_lock(&spool->lock);
    struct slot *to = &spool->slots[slot];
    size_t before = to->lines.size - to->writing;
    add_to_tail(to, line, size);
    add_line(spool, to, line, MIN(size, (size_t)SPOOL_LINE_MAX));
    /* The thread sleeps until a piece is due, so it must be woken for the first line and for a full
     * piece. */
    size_t now = to->lines.size - to->writing;
    if (now != before && (before == 0 || now >= SPOOL_SIZE)) {
        pthread_cond_broadcast(&spool->changed);
    }
    pthread_mutex_unlock(&spool->lock);
}

void spool_tail(struct spool *spool, int slot, char text[static SPOOL_TAIL + 1]) {
    pthread_mutex_lock(&spool->lock);
    memcpy(text, spool->slots[slot].tail, spool->slots[slot].tail_size + 1);
    pthread_mutex_unlock(&spool->lock);
}

int64_t spool_lost(struct spool *spool) {
    pthread_mutex_lock(&spool->lock);
    int64_t lost = spool->lost;
    pthread_mutex_unlock(&spool->lock);
    return lost;
}

/* ---- the thread ----------------------------------------------------------------------------- */

enum name_state { NAME_OURS, NAME_TAKEN, NAME_UNKNOWN };

/* Determines who owns the name that we could not create: we (the response was lost), an earlier
 * process of this pod, or unknown now. */
static enum name_state whose(struct store *store, const char *name, const char *data, size_t size) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer there;
    buffer_init(&there, SPOOL_SIZE);
    if (store_get(store, name, &there, NULL, &err) < 0) {
        return err.kind == ERROR_INVALID ? NAME_TAKEN : NAME_UNKNOWN; /* INVALID: it is larger */
    }
    return there.size == size && memcmp(there.data, data, size) == 0 ? NAME_OURS : NAME_TAKEN;
}

/* The size of the complete lines that fit in a piece. */
static size_t piece_size(const struct buffer *lines) {
    if (lines->size <= SPOOL_SIZE) {
        return lines->size;
    }
    const char *end = memrchr(lines->data, '\n', SPOOL_SIZE);
    return end ? (size_t)(end - lines->data) + 1 : SPOOL_SIZE;
}

/* The slot with a due piece; *ret_left_ms: until the next one is due. The caller holds the lock. */
static struct slot *find_due(struct spool *spool, int64_t now_ms, int64_t *ret_left_ms) {
    int64_t left_ms = INT64_MAX;
    for (int i = 0; i < spool->slot_count; i++) {
        struct slot *slot = &spool->slots[i];
        if (slot->lines.size == 0) {
            continue;
        }
        bool is_full = slot->lines.size >= SPOOL_SIZE;
        int64_t slot_ms =
            is_full || spool->is_ending ? 0 : slot->first_ms + spool->every_ms - now_ms;
        if (slot_ms <= 0) {
            return slot;
        }
        left_ms = MIN(left_ms, slot_ms);
    }
    *ret_left_ms = left_ms;
    return NULL;
}

/* Waits until a line is added, at most ms. The caller holds the lock. */
static void wait_for_change(struct spool *spool, int64_t ms) {
    if (ms == INT64_MAX) {
        pthread_cond_wait(&spool->changed, &spool->lock);
        return;
    }
    (void)timed_wait(&spool->changed, &spool->lock, clock_monotonic_ms() + ms);
}

/* Releases the lock while it stores, since programs must not wait. True: this piece is done. */
static bool store_piece(struct spool *spool, struct slot *slot) {
    struct error err = {0};
    size_t size = slot->again ? slot->again : piece_size(&slot->lines);
    char *data = x_malloc(size);
    memcpy(data, slot->lines.data, size);
    AUTO(text_freep) char *name = x_printf("%s/%04d", slot->name, slot->piece);
    slot->writing = size;
    pthread_mutex_unlock(&spool->lock);
    int result = store_put(spool->store, name, data, size, STORE_CREATE, &err);
    enum name_state state = result == 0                  ? NAME_OURS
                            : err.kind == ERROR_CONFLICT ? whose(spool->store, name, data, size)
                                                         : NAME_UNKNOWN;
    free(data);
    pthread_mutex_lock(&spool->lock);
    slot->writing = 0;
    slot->again = state == NAME_UNKNOWN ? size : 0; /* the same bytes under the same name */
    slot->piece += state != NAME_UNKNOWN;
    if (state == NAME_OURS) {
        buffer_drop(&slot->lines, size);
        slot->first_ms = clock_monotonic_ms();
    }
    if (slot->piece >= SPOOL_COUNT_MAX) {
        buffer_clear(&slot->lines);
        slot->again = 0;
    }
    return state != NAME_UNKNOWN;
}

static void *run(void *context) {
    struct spool *spool = context;
    int64_t pause_ms = PAUSE_MS, left_ms = 0;
    pthread_mutex_lock(&spool->lock);
    while (true) {
        struct slot *slot = find_due(spool, clock_monotonic_ms(), &left_ms);
        if (slot && store_piece(spool, slot)) {
            pause_ms = PAUSE_MS;
        } else if (slot && spool->is_ending) {
            break; /* only one try when the spool ends */
        } else if (slot) {
            int64_t until_ms = clock_monotonic_ms() + pause_ms;
            while (!spool->is_ending && clock_monotonic_ms() < until_ms) {
                wait_for_change(spool, MAX(until_ms - clock_monotonic_ms(), 1));
            }
            pause_ms = MIN(pause_ms * 2, PAUSE_MAX_MS);
        } else if (spool->is_ending) {
            break;
        } else {
            wait_for_change(spool, left_ms);
        }
    }
    spool->is_over = true;
    pthread_cond_broadcast(&spool->changed);
    pthread_mutex_unlock(&spool->lock);
    return NULL;
}

/* ---- life ----------------------------------------------------------------------------------- */

int spool_new(const struct spool_options *options, struct spool **ret_spool, struct error *err) {
    if (options->count < 1 || options->count > SPOOL_SLOTS_MAX) {
        return error_set(err, ERROR_INVALID, "a log of %d slots, expected 1 to %d", options->count,
                         SPOOL_SLOTS_MAX);
    }
    struct spool *spool = x_calloc(1, sizeof *spool);
    spool->store = options->store;
    spool->slot_count = options->count;
    spool->every_ms = options->every_ms > 0 ? options->every_ms : SPOOL_EVERY_MS;
    spool->slots = x_calloc((size_t)options->count, sizeof *spool->slots);
    for (int i = 0; i < spool->slot_count; i++) {
        buffer_init(&spool->slots[i].lines, SPOOL_WAITING);
        spool->slots[i].name = x_strdup(options->names[i]);
    }
    timed_wait_init(&spool->changed);
    pthread_mutex_init(&spool->lock, NULL);
    int failure = spool->store ? pthread_create(&spool->thread, NULL, run, spool) : 0;
    spool->has_thread = spool->store && !failure;
    if (failure) {
        spool_free(spool, 0);
        return error_from_errno(err, failure, "cannot start a thread");
    }
    *ret_spool = spool;
    return 0;
}

int spool_free(struct spool *spool, int timeout_ms) {
    if (!spool) {
        return 0;
    }
    if (spool->has_thread) {
        int64_t until_ms = clock_monotonic_ms() + timeout_ms;
        pthread_mutex_lock(&spool->lock);
        spool->is_ending = true;
        pthread_cond_broadcast(&spool->changed);
        while (!spool->is_over && clock_monotonic_ms() < until_ms) {
            wait_for_change(spool, MAX(until_ms - clock_monotonic_ms(), 1));
        }
        bool is_over = spool->is_over;
        pthread_mutex_unlock(&spool->lock);
        if (!is_over) {
            pthread_detach(spool->thread);
            return 1;
        }
        pthread_join(spool->thread, NULL);
    }
    for (int i = 0; i < spool->slot_count; i++) {
        buffer_release(&spool->slots[i].lines);
        free(spool->slots[i].name);
    }
    pthread_cond_destroy(&spool->changed);
    pthread_mutex_destroy(&spool->lock);
    free(spool->slots);
    free(spool);
    return 0;
}
