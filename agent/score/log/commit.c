// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/commit.h"

#include "agent/score/log/commit_read.h"
#include "lib/digest.h"
#include "lib/time/clock.h"
#include "lib/tree.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DUE_MS = 200,
    DUE_BYTES = 4 << 20,
    WAITING_MAX = 2,       /* maximum of objects that wait or are being written */
    WAITING_HARD_MAX = 16, /* hard limit, for a caller that continues when the log is full */
    TIMEOUT_MS = 5 * 60000,
    ABSENT_MS = 60000,
    TEXT_MAX = 253,
    OWNER_BYTES_MAX = 16 << 10,
    CLAIM_TRIES_MAX = 10000,
};

#define OWNER ".windlass/owner"

struct commit_log {
    struct store *store;
    char *run, *uid, *job;
    char *nonce; /* distinguishes our objects from another coordinator's */
    int64_t timeout_ms, absent_ms;
    int64_t epoch;
    int64_t from, from_epoch; /* where replays start, and the epoch that is valid there; 0, -1 */
    /* only for the caller's thread */
    struct commit_writer current;
    int64_t current_ms; /* time of the first turn with these records; -1: none */
    int64_t told;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by the lock; waiting[0] is kept while it is written */
    struct commit_writer waiting[WAITING_HARD_MAX];
    int waiting_count;
    int64_t stored;   /* records */
    int64_t next;     /* number of the next object */
    json_t *programs; /* NULL: none is known */
    json_t *requests; /* for the next object; NULL: nothing new */
    bool is_ending;
    bool lacks_commit; /* a reader has waited for it: later ones do not */
    struct error failure;
    struct commit_trouble *trouble; /* has a lock of its own; NULL: it is not shown */
};

/* ---- storing one object --------------------------------------------------------------------- */

static bool is_ending(struct commit_log *log) {
    pthread_mutex_lock(&log->lock);
    bool is = log->is_ending;
    pthread_mutex_unlock(&log->lock);
    return is;
}

/* Determines who wrote the object. 1: we did, byte for byte; 0: another; -1 with *err: it cannot be
 * determined now. */
static int compare_stored(struct commit_log *log, const char *name, const char *text, size_t size,
                          struct buffer *there, struct error *err) {
    buffer_clear(there);
    if (store_get(log->store, name, there, NULL, err) < 0) {
        return -1;
    }
    return there->size == size && memcmp(there->data, text, size) == 0;
}

/* CONFLICT and NOT_FOUND mean something else to our callers: here a store has contradicted itself
 * for too long. A full or busy store also counts as unavailable; DENIED is kept, since the manifest
 * may need a correction. */
static int gave_up(const struct error *cause, int64_t waited_ms, struct error *err) {
    bool is_odd = cause->kind == ERROR_CONFLICT || cause->kind == ERROR_NOT_FOUND;
    bool is_trouble = store_error_is_machine(cause) && cause->kind != ERROR_DENIED;
    return error_set(err, is_odd || is_trouble ? ERROR_UNAVAILABLE : cause->kind,
                     "the store has accepted no write for %lld s: %s", (long long)waited_ms / 1000,
                     cause->text);
}

/* True: nothing has been there for absent_ms, longer than a network's folders are cached.
 * *there_ms: when it was last not known to be absent; -1 at first. */
static bool is_gone(const struct commit_log *log, const struct error *cause, int64_t now_ms,
                    int64_t *there_ms) {
    if (cause->kind != ERROR_NOT_FOUND || *there_ms < 0) {
        *there_ms = now_ms;
    }
    return now_ms - *there_ms >= log->absent_ms;
}

/* 1: stored durably; 0: the name belongs to another, whose object is in `there`; -1: gave up.
 * NOT_FOUND: the output's folder is gone. Whatever the response to a write is, the object itself
 * says who wrote it. */
static int store_object(struct commit_log *log, const char *name, const char *text, size_t size,
                        struct buffer *there, struct error *err) {
    int64_t start_ms = clock_monotonic_ms(), there_ms = -1;
    for (int64_t wait_ms = 0;; commit_wait(&wait_ms)) {
        struct error cause = {0}, unread = {0};
        int put = store_put(log->store, name, text, size, STORE_CREATE, &cause);
        if (put == 0 && store_features(log->store).creates) {
            return 1;
        }
        int whose = compare_stored(log, name, text, size, there, &unread);
        if (whose >= 0) {
            return whose;
        }
        if (put == 0) {
            cause = unread;
        }
        int64_t now_ms = clock_monotonic_ms();
        if (is_gone(log, &cause, now_ms, &there_ms)) {
            return error_set(err, ERROR_NOT_FOUND, "%s was deleted while the job ran: %s",
                             store_path(log->store), cause.text);
        }
        bool is_final = cause.kind != ERROR_CONFLICT && cause.kind != ERROR_NOT_FOUND &&
                        !store_error_is_machine(&cause);
        if (is_final || is_ending(log) || now_ms - start_ms >= log->timeout_ms) {
            return gave_up(&cause, now_ms - start_ms, err);
        }
        commit_trouble_note(log->trouble, &cause);
    }
}

static char *object_text(struct commit_log *log, const struct commit_writer *writer, int64_t number,
                         int64_t epoch, int64_t void_from, size_t *ret_size) {
    pthread_mutex_lock(&log->lock);
    AUTO(tree_freep) json_t *programs = json_deep_copy(log->programs);
    AUTO(tree_freep) json_t *requests = TAKE(log->requests);
    pthread_mutex_unlock(&log->lock);
    struct commit_head head = {.run = log->run,
                               .uid = log->uid,
                               .job = log->job,
                               .nonce = log->nonce,
                               .number = number,
                               .epoch = epoch,
                               .programs = programs,
                               .requests = requests,
                               .void_from = void_from};
    return commit_writer_text(writer, &head, ret_size);
}

/* The number belongs to another coordinator: the error says to whose. */
static int superseded(const struct commit_log *log, const char *name, const struct buffer *there,
                      struct error *err) {
    struct commit_head head;
    AUTO(tree_freep) json_t *tree = NULL;
    struct error unread = {0};
    const char *text = there->data ? there->data : "";
    bool is_read = commit_is_whole(text, there->size) &&
                   commit_read_head(text, there->size, &head, &tree, &unread) == 0;
    if (unread.kind == ERROR_UNSUPPORTED) {
        return error_set(err, ERROR_GONE, "%s/%s: %s", store_path(log->store), name, unread.text);
    }
    if (!is_read) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "%s/%s differs from what was written: it was stored incompletely",
                         store_path(log->store), name);
    }
    if (strcmp(head.uid, log->uid) == 0) {
        return error_set(err, ERROR_GONE, "a newer coordinator of this job has taken over (%s/%s)",
                         store_path(log->store), name);
    }
    return error_set(err, ERROR_BUSY, "job %s has taken over this output (%s/%s)", head.job,
                     store_path(log->store), name);
}

/* ---- the writer thread ---------------------------------------------------------------------- */

static int write_one(struct commit_log *log, const struct commit_writer *writer, int64_t number,
                     struct error *err) {
    AUTO(text_freep) char *name = commit_name(log->run, number);
    AUTO(buffer_release) struct buffer there;
    buffer_init(&there, COMMIT_BYTES_MAX);
    size_t size = 0;
    AUTO(text_freep) char *text = object_text(log, writer, number, log->epoch, -1, &size);
    struct error cause = {0};
    int stored = store_object(log, name, text, size, &there, &cause);
    commit_trouble_note(log->trouble, NULL);
    if (stored < 0) {
        /* The store accepted a commit before, and may do so again. */
        return error_set(err, cause.kind == ERROR_DENIED ? ERROR_UNAVAILABLE : cause.kind, "%s",
                         cause.text);
    }
    return stored > 0 ? 0 : superseded(log, name, &there, err);
}

static void *write_all(void *argument) {
    struct commit_log *log = argument;
    pthread_mutex_lock(&log->lock);
    while (log->failure.kind == ERROR_NONE) {
        while (!log->is_ending && log->waiting_count == 0) {
            pthread_cond_wait(&log->changed, &log->lock);
        }
        if (log->is_ending) {
            break;
        }
        /* A copy of the struct: other threads only add after it. */
        struct commit_writer writer = log->waiting[0];
        int64_t number = log->next;
        struct error failure = {0};
        pthread_mutex_unlock(&log->lock);
        int result = write_one(log, &writer, number, &failure);
        pthread_mutex_lock(&log->lock);
        if (result < 0) {
            log->failure = failure;
            break;
        }
        log->stored += writer.count;
        log->next++;
        log->waiting_count--;
        memmove(log->waiting, log->waiting + 1, (size_t)log->waiting_count * sizeof *log->waiting);
        commit_writer_release(&writer);
    }
    pthread_mutex_unlock(&log->lock);
    return NULL;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* 0: the output belongs to this RUN; CONFLICT: to another. */
static int check_owner(const struct commit_log *log, const struct buffer *there,
                       struct error *err) {
    AUTO(tree_freep) json_t *owner = NULL;
    struct error cause = {0};
    const char *text = there->data ? there->data : "";
    bool is_read = tree_parse(text, there->size, OWNER_BYTES_MAX, &owner, &cause) == 0;
    const char *run = is_read ? tree_text(owner, "run", NULL) : NULL;
    if (!run) {
        return error_set(err, ERROR_INVALID,
                         "%s/" OWNER
                         " does not name the job of this output; if none of its pods runs, "
                         "delete .windlass in it",
                         store_path(log->store));
    }
    if (strcmp(run, log->run) == 0) {
        return 0;
    }
    return error_set(err, ERROR_CONFLICT,
                     "%s holds the results of job %s (run %s); choose another output or, if none "
                     "of its pods runs, delete %s/.windlass",
                     store_path(log->store), tree_text(owner, "job", "?"), run,
                     store_path(log->store));
}

static int own(struct commit_log *log, const struct commit_identity *identity, struct error *err) {
    AUTO(buffer_release) struct buffer there;
    buffer_init(&there, OWNER_BYTES_MAX);
    char at[21];
    clock_format(clock_wall_ms(), at);
    AUTO(tree_freep)
    json_t *owner = json_pack("{s:s,s:s,s:s,s:s*,s:s*,s:s}", "run", log->run, "job", log->job,
                              "uid", identity->uid, "namespace", identity->name_space, "input",
                              identity->input, "at", at);
    AUTO(text_freep) char *text = json_dumps(owner, JSON_COMPACT);
    int64_t start_ms = clock_monotonic_ms();
    for (int64_t wait_ms = 0;; commit_wait(&wait_ms)) {
        struct error cause = {0}, unmade = {0};
        buffer_clear(&there);
        if (store_get(log->store, OWNER, &there, NULL, &cause) == 0) {
            commit_trouble_note(log->trouble, NULL);
            return check_owner(log, &there, err);
        }
        /* Its author is checked when it is read. */
        if (cause.kind == ERROR_NOT_FOUND &&
            store_put(log->store, OWNER, text, strlen(text), STORE_CREATE, &unmade) == 0) {
            wait_ms = 0;
            continue;
        }
        const struct error *why = unmade.kind != ERROR_NONE ? &unmade : &cause;
        bool is_final = why->kind != ERROR_CONFLICT && why->kind != ERROR_NOT_FOUND &&
                        !store_error_is_machine(why);
        if (is_final || clock_monotonic_ms() - start_ms >= log->timeout_ms) {
            return gave_up(why, clock_monotonic_ms() - start_ms, err);
        }
        commit_trouble_note(log->trouble, why);
    }
}

static int found_one(void *context, const char *name UNUSED, const struct store_info *info UNUSED,
                     struct error *err UNUSED) {
    *(bool *)context = true;
    return 1;
}

/* Are there commits after number `next`? A listing may be stale, so "no" is only a hint. */
static int is_behind(struct commit_log *log, int64_t next, bool *ret_is, struct error *err) {
    AUTO(text_freep) char *after = commit_name(log->run, next);
    AUTO(text_freep) char *folder = x_printf(".windlass/%s/commit/", log->run);
    int64_t start_ms = clock_monotonic_ms();
    for (int64_t wait_ms = 0;; commit_wait(&wait_ms)) {
        struct error cause = {0};
        bool is = false;
        if (store_list(log->store, folder, after, found_one, &is, &cause) == 0) {
            commit_trouble_note(log->trouble, NULL);
            *ret_is = is;
            return 0;
        }
        if (!store_error_is_machine(&cause) || clock_monotonic_ms() - start_ms >= log->timeout_ms) {
            *err = cause;
            return -1;
        }
        commit_trouble_note(log->trouble, &cause);
    }
}

/* 1: the number is ours; 0: it is another's, whose commit must be read. */
static int claim(struct commit_log *log, const struct commit_reader *reader, struct error *err) {
    struct commit_writer none;
    commit_writer_init(&none);
    AUTO(buffer_release) struct buffer there;
    buffer_init(&there, COMMIT_BYTES_MAX);
    AUTO(text_freep) char *name = commit_name(log->run, reader->next);
    size_t size = 0;
    AUTO(text_freep)
    char *text = object_text(log, &none, reader->next, reader->next, reader->truncated_from, &size);
    struct error cause = {0};
    int claimed = store_object(log, name, text, size, &there, &cause);
    commit_trouble_note(log->trouble, NULL);
    if (claimed < 0) { /* nothing was stored yet: the next coordinator makes the folder again */
        error_set(err, cause.kind == ERROR_NOT_FOUND ? ERROR_UNAVAILABLE : cause.kind, "%s",
                  cause.text);
    }
    return claimed;
}

/* Reads on to the end. *must_exist: a listing showed commits from reader->next on. */
static int read_on(struct commit_log *log, struct commit_reader *reader, bool *must_exist,
                   struct error *err) {
    int read = 0;
    while ((read = commit_reader_step(reader, *must_exist, err)) > 0) {
        *must_exist = false;
    }
    return read < 0 ? -1 : is_behind(log, reader->next, must_exist, err);
}

static int read_and_claim(struct commit_log *log, struct commit_reader *reader, struct error *err) {
    bool must_exist = false;
    for (int i = 0; i < CLAIM_TRIES_MAX; i++) {
        if (read_on(log, reader, &must_exist, err) < 0) {
            return -1;
        }
        if (must_exist) {
            continue;
        }
        int claimed = claim(log, reader, err);
        if (claimed != 0) {
            log->epoch = reader->next;
            log->next = reader->next + 1;
            return claimed < 0 ? -1 : commit_reader_finish(reader, err);
        }
        must_exist = true;
    }
    return error_set(err, ERROR_BUSY, "%s: in %d tries other coordinators claimed the run first",
                     store_path(log->store), CLAIM_TRIES_MAX);
}

static int check_identity(const struct commit_identity *identity, struct error *err) {
    const char *const texts[] = {identity->run, identity->uid, identity->job};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO(tree_freep) json_t *text = json_string(texts[i]); /* NULL: not UTF-8 */
        if (!text || !*texts[i] || strlen(texts[i]) > TEXT_MAX) {
            return error_set(err, ERROR_INVALID, "run, uid or job is not a string of 1 to %d bytes",
                             TEXT_MAX);
        }
    }
    return strlen(identity->run) == 16 && strspn(identity->run, "0123456789abcdef") == 16
               ? 0
               : error_set(err, ERROR_INVALID, "run is not 16 hexadecimal digits");
}

static struct commit_log *log_new(struct store *output, const struct commit_identity *identity) {
    struct commit_log *log = x_calloc(1, sizeof *log);
    log->store = output;
    log->run = x_strdup(identity->run);
    log->uid = x_strdup(identity->uid);
    log->job = x_strdup(identity->job);
    log->nonce = digest_random(16);
    log->timeout_ms = identity->timeout_ms ? identity->timeout_ms : TIMEOUT_MS;
    log->absent_ms = identity->absent_ms ? identity->absent_ms : ABSENT_MS;
    log->trouble = identity->trouble;
    log->current_ms = -1;
    log->from_epoch = -1;
    commit_writer_init(&log->current);
    pthread_mutex_init(&log->lock, NULL);
    pthread_cond_init(&log->changed, NULL);
    return log;
}

static struct commit_reader reader_of(struct commit_log *log, commit_each *each, void *context) {
    pthread_mutex_lock(&log->lock);
    bool lacks_commit = log->lacks_commit;
    pthread_mutex_unlock(&log->lock);
    struct commit_reader reader = {.store = log->store,
                                   .run = log->run,
                                   .timeout_ms = log->timeout_ms,
                                   .absent_ms = lacks_commit ? 0 : log->absent_ms,
                                   .trouble = log->trouble,
                                   .each = each,
                                   .context = context};
    commit_reader_init(&reader);
    return reader;
}

int commit_open(struct store *output, const struct commit_identity *identity, commit_each *each,
                void *context, struct commit_log **ret_log, struct error *err) {
    if (check_identity(identity, err) < 0) {
        return -1;
    }
    struct commit_log *log = log_new(output, identity);
    AUTO(commit_reader_release) struct commit_reader reader = reader_of(log, each, context);
    reader.seen = identity->seen;
    int result = own(log, identity, err) < 0 ? -1 : read_and_claim(log, &reader, err);
    commit_trouble_note(log->trouble, NULL); /* also after a failure */
    if (result >= 0) {
        int failed = pthread_create(&log->thread, NULL, write_all, log);
        result =
            failed ? error_from_errno(err, failed, "cannot start a thread that writes commits") : 0;
        log->has_thread = !failed;
    }
    if (result < 0) {
        commit_free(log);
        return -1;
    }
    *ret_log = log;
    return 0;
}

int commit_scan(struct store *output, const struct commit_identity *identity, commit_each *each,
                void *context, struct error *err) {
    if (check_identity(identity, err) < 0) {
        return -1;
    }
    struct commit_log *log = log_new(output, identity);
    AUTO(commit_reader_release) struct commit_reader reader = reader_of(log, each, context);
    reader.seen = identity->seen;
    reader.is_brief = true;
    bool must_exist = false;
    int result = 0;
    do {
        result = read_on(log, &reader, &must_exist, err);
    } while (result == 0 && must_exist);
    commit_trouble_note(log->trouble, NULL); /* also after a failure */
    if (result == 0) {
        result = commit_reader_finish(&reader, err);
    }
    commit_free(log);
    return result;
}

void commit_free(struct commit_log *log) {
    if (!log) {
        return;
    }
    pthread_mutex_lock(&log->lock);
    log->is_ending = true;
    pthread_cond_broadcast(&log->changed);
    pthread_mutex_unlock(&log->lock);
    if (log->has_thread) {
        pthread_join(log->thread, NULL);
    }
    for (int i = 0; i < log->waiting_count; i++) {
        commit_writer_release(&log->waiting[i]);
    }
    commit_writer_release(&log->current);
    pthread_cond_destroy(&log->changed);
    pthread_mutex_destroy(&log->lock);
    free(log->run);
    free(log->uid);
    free(log->job);
    free(log->nonce);
    tree_freep(&log->programs);
    tree_freep(&log->requests);
    free(log);
}

/* ---- for the coordinator -------------------------------------------------------------------- */

int64_t commit_epoch(const struct commit_log *log) {
    return log->epoch;
}

/* Passes the records to the writer. False: `most` objects wait already. */
static bool hand_on(struct commit_log *log, int most) {
    pthread_mutex_lock(&log->lock);
    bool has_room = log->waiting_count < most;
    if (has_room) {
        log->waiting[log->waiting_count++] = log->current;
        commit_writer_init(&log->current);
        log->current_ms = -1;
        pthread_cond_broadcast(&log->changed);
    }
    pthread_mutex_unlock(&log->lock);
    return has_room;
}

void commit_name_programs(struct commit_log *log, const json_t *programs) {
    pthread_mutex_lock(&log->lock);
    json_decref(log->programs);
    log->programs = json_deep_copy(programs);
    pthread_mutex_unlock(&log->lock);
}

void commit_name_requests(struct commit_log *log, const json_t *requests) {
    AUTO(text_freep) char *text = json_dumps(requests, JSON_COMPACT);
    json_t *copy = text && strlen(text) <= COMMIT_REQUESTS_BYTES ? json_deep_copy(requests) : NULL;
    pthread_mutex_lock(&log->lock);
    json_decref(log->requests);
    log->requests = copy;
    pthread_mutex_unlock(&log->lock);
}

int commit_add(struct commit_log *log, const struct commit_record *record, struct error *err) {
    int added = commit_writer_add(&log->current, record, err);
    if (added != 0) {
        return added < 0 ? -1 : 0;
    }
    if (!hand_on(log, WAITING_HARD_MAX)) {
        return error_set(err, ERROR_EXHAUSTED, "%s: %d full commits wait to be stored",
                         store_path(log->store), WAITING_HARD_MAX);
    }
    return commit_writer_add(&log->current, record, err) < 0 ? -1 : 0;
}

int commit_poll(struct commit_log *log, bool at_once, int64_t now_ms, int64_t *ret_through,
                struct error *err) {
    if (log->current.count > 0) {
        log->current_ms = log->current_ms < 0 ? now_ms : log->current_ms;
        if (at_once || log->current.lines.size >= DUE_BYTES || now_ms - log->current_ms >= DUE_MS) {
            (void)hand_on(log, WAITING_MAX); /* otherwise it grows until there is room */
        }
    }
    pthread_mutex_lock(&log->lock);
    int64_t stored = log->stored;
    struct error failure = log->failure;
    pthread_mutex_unlock(&log->lock);
    if (stored > log->told) {
        log->told = stored;
        *ret_through = stored;
        return 1;
    }
    if (failure.kind != ERROR_NONE) {
        *err = failure;
        return -1;
    }
    return 0;
}

bool commit_is_full(struct commit_log *log) {
    pthread_mutex_lock(&log->lock);
    int waiting = log->waiting_count;
    pthread_mutex_unlock(&log->lock);
    return waiting > WAITING_MAX ||
           (waiting == WAITING_MAX && log->current.lines.size >= DUE_BYTES);
}

void commit_start_after(struct commit_log *log, int64_t number, int64_t epoch) {
    log->from = number + 1;
    log->from_epoch = epoch;
}

int64_t commit_next_number(struct commit_log *log) {
    pthread_mutex_lock(&log->lock);
    int64_t next = log->next;
    pthread_mutex_unlock(&log->lock);
    return next;
}

int commit_replay(struct commit_log *log, commit_each *each, void *context, struct error *err) {
    AUTO(commit_reader_release) struct commit_reader reader = reader_of(log, each, context);
    int64_t end = commit_next_number(log);
    reader.end = end;
    reader.next = log->from;
    reader.epoch = log->from_epoch;
    while (reader.next < end) {
        if (commit_reader_step(&reader, /* must_exist= */ true, err) < 0) {
            pthread_mutex_lock(&log->lock);
            log->lacks_commit = log->lacks_commit || reader.lacks_commit;
            pthread_mutex_unlock(&log->lock);
            return -1;
        }
    }
    if (reader.truncated_from >= 0) {
        return error_set(err, ERROR_INVALID, "%s: commit %lld was complete and is truncated now",
                         store_path(log->store), (long long)reader.truncated_from);
    }
    return commit_reader_finish(&reader, err);
}

int commit_read_again(struct commit_log *log, int64_t number, commit_each *each, void *context,
                      struct error *err) {
    AUTO(commit_reader_release) struct commit_reader reader = reader_of(log, each, context);
    return commit_reader_again(&reader, number, err);
}
