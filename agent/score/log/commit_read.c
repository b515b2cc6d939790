// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/commit_read.h"

#include "lib/time/clock.h"
#include "lib/tree.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS_MIN = 10, WAIT_MS_MAX = 2000, TORN_READS = 3, AHEAD_BYTES = 512 << 10 };

char *commit_name(const char *run, int64_t number) {
    return x_printf(".windlass/%s/commit/%012lld", run, (long long)number);
}

void commit_wait(int64_t *wait_ms) {
    *wait_ms = *wait_ms ? MIN(*wait_ms * 2, (int64_t)WAIT_MS_MAX) : WAIT_MS_MIN;
    poll(NULL, 0, (int)*wait_ms);
}

static void object_init(struct commit_object *object) {
    *object = (struct commit_object){0};
    buffer_init(&object->text, COMMIT_BYTES_MAX);
}

static void object_release(struct commit_object *object) {
    buffer_release(&object->text);
    tree_freep(&object->tree);
}

void commit_reader_init(struct commit_reader *reader) {
    reader->next = 0;
    reader->truncated_from = reader->epoch = -1;
    reader->is_held = reader->lacks_commit = false;
    object_init(&reader->held);
}

static void forget_ahead(struct commit_ahead *ahead) {
    for (int i = 0; i < ahead->count; i++) {
        free(ahead->names[i]);
    }
    ahead->count = 0;
}

void commit_reader_release(struct commit_reader *reader) {
    object_release(&reader->held);
    forget_ahead(&reader->ahead);
    free(TAKE(reader->ahead.data));
    reader->is_held = false;
}

/* As fetch. *has_waited: what for was noted. */
static int await(const struct commit_reader *reader, const char *name, bool must_exist,
                 struct buffer *text, bool *has_waited, struct error *err) {
    int64_t start_ms = clock_monotonic_ms(), absent_from_ms = -1;
    for (int64_t wait_ms = 0;; commit_wait(&wait_ms)) {
        struct error cause = {0};
        buffer_clear(text);
        if (store_get(reader->store, name, text, NULL, &cause) == 0) {
            return 1;
        }
        int64_t now_ms = clock_monotonic_ms(), waited_ms = now_ms - start_ms;
        /* Absent in every response; a failed response in between says nothing. */
        bool is_absent = cause.kind == ERROR_NOT_FOUND;
        absent_from_ms = !is_absent ? -1 : absent_from_ms < 0 ? now_ms : absent_from_ms;
        if (is_absent && (!must_exist || now_ms - absent_from_ms >= reader->absent_ms)) {
            return 0;
        }
        bool is_final = cause.kind != ERROR_NOT_FOUND && !store_error_is_machine(&cause);
        if (is_final || waited_ms >= reader->timeout_ms) {
            /* Callers treat NOT_FOUND as a result; here a store contradicts its own listing. */
            cause.kind = is_absent ? ERROR_UNAVAILABLE : cause.kind;
            *err = cause;
            return -1;
        }
        *has_waited = true;
        commit_trouble_note(reader->trouble, &cause);
    }
}

/* 1: read; 0: absent; -1: the store has failed for too long. A failed read does not mean
 * absence. */
static int fetch(const struct commit_reader *reader, const char *name, bool must_exist,
                 struct buffer *text, struct error *err) {
    bool has_waited = false;
    int found = await(reader, name, must_exist, text, &has_waited, err);
    if (has_waited) { /* otherwise it may be the writer's trouble */
        commit_trouble_note(reader->trouble, NULL);
    }
    return found;
}

/* Reads twice as many as the last time, if all of those existed; there is nothing after the end. */
static void read_ahead(struct commit_reader *reader) {
    struct commit_ahead *ahead = &reader->ahead;
    int64_t left = reader->end ? reader->end - reader->next : STORE_PEEK_MAX;
    int count = MAX(ahead->count, 1);
    for (int i = 0; i < ahead->count; i++) {
        count = ahead->objects[i].is_whole ? count : 0;
    }
    count = (int)MIN((int64_t)MIN(count * 2, STORE_PEEK_MAX), left);
    forget_ahead(ahead);
    ahead->first = reader->next;
    if (count <= 0) {
        return;
    }
    if (!ahead->data) {
        ahead->data = x_malloc((size_t)STORE_PEEK_MAX * AHEAD_BYTES);
    }
    for (; ahead->count < count; ahead->count++) {
        int i = ahead->count;
        ahead->names[i] = commit_name(reader->run, ahead->first + i);
        ahead->objects[i] = (struct store_peeked){.name = ahead->names[i],
                                                  .data = ahead->data + (size_t)i * AHEAD_BYTES,
                                                  .room = AHEAD_BYTES};
    }
    store_peek(reader->store, ahead->objects, (size_t)count);
}

/* The next commit, if it was read ahead and is complete. */
static bool take_ahead(struct commit_reader *reader, struct buffer *text) {
    struct commit_ahead *ahead = &reader->ahead;
    struct error ignored = {0};
    if (store_features(reader->store).is_local) {
        return false;
    }
    if (reader->next >= ahead->first + ahead->count) {
        read_ahead(reader);
    }
    int64_t at = reader->next - ahead->first;
    const struct store_peeked *object = &ahead->objects[at];
    return at < ahead->count && object->is_whole && commit_is_whole(object->data, object->size) &&
           buffer_append(text, object->data, object->size, &ignored) == 0;
}

static int refuse(const struct commit_reader *reader, int64_t number, struct error *err,
                  const char *what) {
    AUTO(text_freep) char *name = commit_name(reader->run, number);
    return error_set(err, ERROR_INVALID,
                     "%s/%s %s: choose another output or, if no pod of this "
                     "run is left, delete .windlass in it",
                     store_path(reader->store), name, what);
}

int commit_reader_finish(struct commit_reader *reader, struct error *err) {
    if (!reader->is_held) {
        return 0;
    }
    struct commit_object *held = &reader->held;
    reader->is_held = false;
    if (reader->each &&
        commit_read_records(held, reader->is_brief, reader->each, reader->context, err) < 0) {
        AUTO(text_freep) char *name = commit_name(reader->run, held->head.number);
        return error_context(err, "%s/%s", store_path(reader->store), name);
    }
    return 0;
}

/* The whole commit `object` is the next one: checks that it fits the earlier ones. */
static int accept(struct commit_reader *reader, struct commit_object *object, struct error *err) {
    const struct commit_head *head = &object->head;
    int64_t from = head->void_from, number = reader->next;
    if (head->number != number || strcmp(head->run, reader->run) != 0) {
        return refuse(reader, number, err, "is a commit of another run or number");
    }
    if (reader->truncated_from >= 0 && (from < 0 || from > reader->truncated_from)) {
        return refuse(reader, reader->truncated_from, err,
                      "is truncated, although later commits exist");
    }
    bool is_void = from >= 0 && reader->is_held && from <= reader->held.head.number;
    if (from >= 0 && from < (reader->is_held ? reader->held.head.number : number) &&
        from != reader->truncated_from) {
        return refuse(reader, number, err, "voids a commit that others rely on");
    }
    if (is_void) {
        reader->is_held = false;
    }
    /* A claim's number is its epoch; other commits are of the newest claim's epoch. A voided claim
     * was newer than the newest valid one, so the commit after it must be a claim, too. */
    if (head->epoch != number && (from >= 0 || head->epoch != reader->epoch)) {
        return refuse(reader, number, err,
                      "was not written by the coordinator that claimed the run");
    }
    if (commit_reader_finish(reader, err) < 0) {
        return -1;
    }
    reader->epoch = head->epoch;
    reader->truncated_from = -1;
    object_release(&reader->held);
    reader->held = *object;
    reader->is_held = true;
    object_init(object);
    return 0;
}

int commit_reader_step(struct commit_reader *reader, bool must_exist, struct error *err) {
    AUTO(text_freep) char *name = commit_name(reader->run, reader->next);
    AUTO(object_release) struct commit_object object;
    object_init(&object);
    bool was_seen =
        reader->seen && commit_seen_take(reader->seen, reader->run, reader->next, &object.text);
    bool is_whole = was_seen || take_ahead(reader, &object.text);
    int64_t wait_ms = 0;
    /* Read again before it counts as truncated: a cache may be stale. */
    for (int i = 0; i < TORN_READS && !is_whole; i++) {
        if (i > 0) {
            commit_wait(&wait_ms);
        }
        int found = fetch(reader, name, must_exist || i > 0, &object.text, err);
        if (found <= 0) {
            reader->lacks_commit = found == 0 && must_exist;
            return found < 0 ? -1
                   : reader->lacks_commit
                       ? refuse(reader, reader->next, err,
                                "is missing, although later commits exist (it was deleted, or the "
                                "folder replaced)")
                       : 0;
        }
        is_whole = commit_is_whole(object.text.data ? object.text.data : "", object.text.size);
    }
    if (!is_whole) {
        reader->truncated_from =
            reader->truncated_from >= 0 ? reader->truncated_from : reader->next;
        reader->next++;
        return 1;
    }
    if (reader->seen && !was_seen) {
        commit_seen_add(reader->seen, reader->run, reader->next, object.text.data,
                        object.text.size);
    }
    if (commit_read_head(object.text.data, object.text.size, &object.head, &object.tree, err) < 0) {
        return error_context(err, "%s/%s", store_path(reader->store), name);
    }
    if (accept(reader, &object, err) < 0) {
        return -1;
    }
    reader->next++;
    return 1;
}

int commit_reader_again(const struct commit_reader *reader, int64_t number, struct error *err) {
    AUTO(text_freep) char *name = commit_name(reader->run, number);
    AUTO(object_release) struct commit_object object;
    object_init(&object);
    int found = fetch(reader, name, /* must_exist= */ true, &object.text, err);
    if (found <= 0) {
        return found < 0 ? -1 : refuse(reader, number, err, "is missing now");
    }
    const char *text = object.text.data ? object.text.data : "";
    if (!commit_is_whole(text, object.text.size)) {
        return refuse(reader, number, err, "was complete and is truncated now");
    }
    if (commit_read_head(text, object.text.size, &object.head, &object.tree, err) < 0 ||
        commit_read_records(&object, reader->is_brief, reader->each, reader->context, err) < 0) {
        return error_context(err, "%s/%s", store_path(reader->store), name);
    }
    return 0;
}
