// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/adoption.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/kinds/job/reconcile/status_write.h"
#include "operator/object.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPEN_MAX = 16,      /* objects that are looked at together; the others follow */
    ROWS_MAX = 4096,    /* the oldest that is settled goes */
    LATELY_MS = 600000, /* after this time an adoption delays the next one no more */
    AGAIN_MS = 1000,    /* before the next one, doubling */
    AGAIN_DOUBLINGS_MAX = 7,
    LATER_MS = 600000,
    LATER_DOUBLINGS_MAX = 5,
};

static void release(struct adoption_row *row) {
    object_key_release(&row->object);
    json_decref(row->there);
    free(row->api_version);
    free(row->uid);
}

void adoption_release(struct adoption *adoption) {
    for (size_t i = 0; i < adoption->count; i++) {
        release(&adoption->at[i]);
    }
    free(adoption->at);
    *adoption = (struct adoption){0};
}

/* The job waits for it. */
static bool is_open(const struct adoption_row *row) {
    return row->stage < ADOPTION_OURS && !row->is_late;
}

static size_t count_open(const struct adoption *adoption) {
    size_t count = 0;
    for (size_t i = 0; i < adoption->count; i++) {
        count += is_open(&adoption->at[i]);
    }
    return count;
}

static struct adoption_row *find(const struct adoption *adoption, const char *uid) {
    for (size_t i = 0; i < adoption->count; i++) {
        if (strcmp(adoption->at[i].uid, uid) == 0) {
            return &adoption->at[i];
        }
    }
    return NULL;
}

/* Lost again soon, it waits. */
static void note_given(struct adoption_row *row) {
    row->adopted_ms = clock_monotonic_ms();
    row->is_late = false;
    retry_delay_rest(&row->delay,
                     (int64_t)AGAIN_MS << MIN(row->delay.failures, AGAIN_DOUBLINGS_MAX));
}

/* ---- whether it is the job's ---- */

static bool names_secret(const json_t *objects, const char *secret) {
    size_t i;
    json_t *object;
    json_array_foreach(objects, i, object) {
        const char *named = owned_annotation(object, ANNOTATION_SECRET);
        if (named && strcmp(named, secret) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_named_by_owned(const struct reconcile *request, const char *secret) {
    static const char *const kinds[] = {"Service", "Pod"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        AUTO(tree_freep) json_t *owned = cache_owned(request->cache, kinds[i], request->object);
        if (names_secret(owned, secret)) {
            return true;
        }
    }
    return false;
}

/* A status is written a second after the pods: until then the job's Secret is known from memory,
 * or, after a change of the leader, from what the job still owns. */
static bool is_proven(const struct reconcile *request, const json_t *there,
                      const struct credentials *made) {
    const char *secret = owned_annotation(there, ANNOTATION_SECRET);
    const char *recorded = tree_text(request->object, "status.credentials.secret", NULL);
    if (!secret || (recorded && strcmp(secret, recorded) == 0) ||
        (made && strcmp(secret, made->secret) == 0)) {
        return true;
    }
    return !recorded && !made && is_named_by_owned(request, secret);
}

enum claim adoption_judge(const struct reconcile *request, const json_t *there,
                          const json_t *wanted, const struct credentials *made) {
    enum claim claim = claim_judge(there, wanted, request->object);
    if (claim != CLAIM_ADOPT || is_proven(request, there, made)) {
        return claim;
    }
    bool may_run = owned_annotation(there, ANNOTATION_ALONE) &&
                   pod_phase_read(there).stage <= POD_PHASE_LEAVING;
    return may_run ? CLAIM_HELD : CLAIM_FOREIGN;
}

/* ---- what the cache shows ---- */

static void drop_oldest(struct adoption *adoption) {
    size_t at = 0;
    while (is_open(&adoption->at[at])) { /* at most OPEN_MAX are */
        at++;
    }
    release(&adoption->at[at]);
    adoption->count--;
    memmove(adoption->at + at, adoption->at + at + 1,
            (adoption->count - at) * sizeof *adoption->at);
}

static void add(struct adoption *adoption, const json_t *object) {
    if (adoption->count == ROWS_MAX) {
        drop_oldest(adoption);
    }
    adoption->at = x_realloc_array(adoption->at, adoption->count + 1, sizeof *adoption->at);
    adoption->at[adoption->count++] =
        (struct adoption_row){.object = object_key_copy(object_key_of(object)),
                              .api_version = x_strdup(tree_text(object, "apiVersion", "")),
                              .uid = x_strdup(tree_text(object, "metadata.uid", ""))};
}

static void reopen(struct adoption_row *row, int64_t now_ms) {
    row->stage = ADOPTION_SEEN;
    row->is_late = false;
    row->tries = 0;
    if (now_ms >= row->adopted_ms + LATELY_MS) {
        row->delay = (struct retry_delay){0};
    }
}

/* False: there was no room for it. */
static bool note_lost(const struct reconcile *request, struct adoption *adoption,
                      const json_t *object) {
    struct adoption_row *row = find(adoption, tree_text(object, "metadata.uid", ""));
    if (row && row->stage != ADOPTION_OURS) {
        return true;
    }
    if (count_open(adoption) >= OPEN_MAX) {
        return false;
    }
    if (row) {
        reopen(row, request->monotonic_ms);
    } else {
        add(adoption, object);
    }
    return true;
}

/* False: some objects had no room. */
static bool find_lost(const struct reconcile *request, struct adoption *adoption,
                      const char *const *kinds) {
    bool has_room = true;
    for (; *kinds && has_room; kinds++) {
        AUTO(tree_freep)
        json_t *lost = cache_lost(request->cache, *kinds, request->object, adoption->mark);
        for (size_t i = 0; i < json_array_size(lost) && has_room; i++) {
            has_room = note_lost(request, adoption, json_array_get(lost, i));
        }
    }
    if (has_room) { /* otherwise they are looked for again */
        adoption->mark = cache_changes(request->cache);
    }
    return has_room;
}

/* ---- one object ---- */

static void ask(struct reconcile *request, struct adoption_row *row) {
    if (!retry_delay_is_over(request, &row->delay)) {
        return;
    }
    AUTO(tree_freep)
    json_t *like = json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", row->api_version, "kind",
                             row->object.kind, "metadata", "name", row->object.name, "namespace",
                             request->namespace);
    if (reconcile_find(request, like)) {
        row->stage = ADOPTION_ASKED;
    }
}

/* Somebody else gave it its owner back, or it is gone: the cluster need not be asked. */
static void check_cache(struct reconcile *request, struct adoption_row *row) {
    AUTO(tree_freep)
    json_t *there =
        cache_find(request->cache, row->object.kind, request->namespace, row->object.name);
    if (!there || strcmp(tree_text(there, "metadata.uid", ""), row->uid) != 0) {
        row->stage = ADOPTION_LEFT;
    } else if (object_is_owned_by(there, tree_text(request->object, "metadata.uid", ""))) {
        row->stage = ADOPTION_OURS;
    } else {
        ask(request, row);
    }
}

static void decide(struct reconcile *request, struct adoption_row *row,
                   const struct credentials *made) {
    AUTO(tree_freep) json_t *there = TAKE(row->there);
    bool is_it = strcmp(tree_text(there, "metadata.uid", ""), row->uid) == 0;
    enum claim claim =
        is_it ? adoption_judge(request, there, /* wanted= */ NULL, made) : CLAIM_NONE;
    row->stage = ADOPTION_LEFT;
    if (claim == CLAIM_OURS) {
        reconcile_learn(request, there); /* the watch is late, or knows of a later loss */
        note_given(row);
        row->stage = ADOPTION_SEEN;
        check_cache(request, row);
    } else if (claim == CLAIM_ADOPT) {
        reconcile_write(request, CLUSTER_MERGE, claim_adoption(there, request->object));
        row->stage = ADOPTION_TAKING;
    } else if (claim == CLAIM_RELEASE) {
        reconcile_write(request, CLUSTER_MERGE, claim_release(there, request->object));
    }
}

/* The job goes on meanwhile. */
static void try_later(struct reconcile *request, struct adoption_row *row) {
    if (request->monotonic_ms >= row->delay.not_before_ms) {
        check_cache(request, row);
    } else {
        status_write_requeue(request, row->delay.not_before_ms - request->monotonic_ms);
    }
}

static void advance(struct reconcile *request, struct adoption_row *row,
                    const struct credentials *made) {
    switch (row->stage) {
    case ADOPTION_SEEN:
        check_cache(request, row);
        break;
    case ADOPTION_FOUND:
        decide(request, row, made);
        break;
    case ADOPTION_LATER:
        try_later(request, row);
        break;
    case ADOPTION_ASKED:
    case ADOPTION_TAKING:
    case ADOPTION_OURS:
    case ADOPTION_LEFT:
        break;
    }
}

bool adoption_settle(struct reconcile *request, struct adoption *adoption, const char *const *kinds,
                     const struct credentials *made) {
    bool has_room;
    do { /* with no row open, nothing would lead to the pass that looks for the others */
        has_room = find_lost(request, adoption, kinds);
        for (size_t i = 0; i < adoption->count; i++) {
            advance(request, &adoption->at[i], made);
        }
    } while (!has_room && count_open(adoption) == 0);
    return count_open(adoption) > 0;
}

/* ---- answers ---- */

/* By a rule of the cluster, which stays so for long. */
static bool is_refused(enum error_kind kind) {
    return kind == ERROR_DENIED || kind == ERROR_INVALID || kind == ERROR_UNSUPPORTED;
}

static void fail(struct adoption_row *row, const struct error *err) {
    row->tries = is_refused(err->kind) ? MAX(row->tries + 1, ADOPTION_TRIES) : row->tries + 1;
    if (row->tries >= ADOPTION_TRIES) {
        row->stage = ADOPTION_LATER;
        row->is_late = true;
        int doublings = MIN(row->tries - ADOPTION_TRIES, LATER_DOUBLINGS_MAX);
        retry_delay_rest(&row->delay, (int64_t)LATER_MS << doublings);
    } else {
        row->stage = ADOPTION_SEEN;
        retry_delay_note(&row->delay);
    }
}

void adoption_found(struct adoption *adoption, const struct found *found) {
    struct object_key key = object_key_of(found->like);
    for (size_t i = 0; i < adoption->count; i++) {
        struct adoption_row *row = &adoption->at[i];
        if (row->stage != ADOPTION_ASKED || !object_key_equal(row->object, key)) {
            continue;
        }
        if (found->err) {
            fail(row, found->err);
        } else {
            row->stage = ADOPTION_FOUND;
            row->there = json_incref((json_t *)found->object);
        }
    }
}

void adoption_note(struct adoption *adoption, const struct written *written) {
    const char *uid = tree_text(written->object, "metadata.uid", "");
    struct adoption_row *row = find(adoption, uid);
    if (!row || row->stage != ADOPTION_TAKING) {
        return;
    }
    if (!written->err) {
        row->stage = ADOPTION_OURS;
        note_given(row);
    } else if (written->err->kind == ERROR_NOT_FOUND) {
        row->stage = ADOPTION_LEFT;
    } else {
        fail(row, written->err);
    }
}
