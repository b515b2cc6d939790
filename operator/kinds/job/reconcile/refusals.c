// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/refusals.h"

#include "lib/digest.h"
#include "lib/time/clock.h"
#include "operator/kinds/job/conditions.h"
#include "operator/kinds/job/reconcile/status_write.h"

#include <stdlib.h>
#include <string.h>

enum {
    REFUSED_MIN_MS = 1000, /* the pause of creations after a refusal, doubling */
    REFUSED_MAX_MS = 60000,
    DOUBLINGS_MAX = 10,
    ROWS_MAX = 4096, /* of one job; the oldest goes */
    FORGET_CHANGES_MS = 600000,
    FORGET_AT_MIN = 16,
    TOLD_FAILURES = 3, /* of a server or webhook, in a row: some 3 s, or as long as it hangs */
};

static void release(struct refusal *entry) {
    object_key_release(&entry->object);
    json_decref(entry->wanted);
    json_decref(entry->there);
    free(entry->api_version);
    free(entry->text);
}

void refusals_release(struct refusals *record) {
    for (size_t i = 0; i < record->count; i++) {
        release(&record->at[i]);
    }
    free(record->at);
    json_decref(record->changed);
    *record = (struct refusals){0};
}

/* Who changes the job all the time, an autoscaler for example, must not make it ask so often. */
void refusals_begin(struct refusals *record, struct reconcile *request) {
    int64_t generation = tree_integer(request->object, "metadata.generation", 0);
    if (record->generation == generation) {
        return;
    }
    if (record->count > 0 || record->denied > 0) {
        if (!retry_delay_repeat_is_over(request, &record->forgot)) {
            return;
        }
        struct refusals after = {.forgot = record->forgot,
                                 .changed = TAKE(record->changed),
                                 .forget_at = record->forget_at};
        retry_delay_repeat_note(&after.forgot, request->monotonic_ms);
        /* A slow start follows; when this is the first time, with its own turn. */
        after.denied = after.forgot.times > 1 ? record->denied : MIN(record->denied, 1);
        refusals_release(record);
        *record = after;
    }
    record->generation = generation;
}

static size_t find(const struct refusals *record, struct object_key object, enum refusal_of of) {
    size_t at = 0;
    while (at < record->count &&
           (record->at[at].of != of || !object_key_same_part(record->at[at].object, object))) {
        at++;
    }
    return at;
}

static void drop(struct refusals *record, size_t at) {
    if (at < record->count) {
        release(&record->at[at]);
        record->count--;
        memmove(record->at + at, record->at + at + 1, (record->count - at) * sizeof *record->at);
    }
}

void refusals_explain(struct refusal *row, const struct error *err) {
    row->kind = err->kind;
    free(row->text);
    row->text = x_strdup(err->text);
}

static struct refusal *add(struct refusals *record, enum refusal_of of, const json_t *object) {
    if (record->count == ROWS_MAX) {
        drop(record, 0);
    }
    record->at = x_realloc_array(record->at, record->count + 1, sizeof *record->at);
    struct refusal *row = &record->at[record->count++];
    *row = (struct refusal){.object = object_key_copy(object_key_of(object)),
                            .api_version = x_strdup(tree_text(object, "apiVersion", "")),
                            .of = of,
                            .text = x_strdup("")};
    return row;
}

void refusals_settle(struct refusals *record, const json_t *object) {
    drop(record, find(record, object_key_of(object), REFUSAL_OF_CREATION));
}

/* Who has the name is asked for again after each conflict. */
static void note_conflict(struct refusal *row, const json_t *wanted) {
    row->is_asked = row->is_known = false;
    json_decref(row->wanted);
    row->wanted = json_incref((json_t *)wanted);
}

static void note(struct refusals *record, enum refusal_of of, const struct written *written) {
    struct object_key key = object_key_of(written->object);
    const struct error *err = written->err;
    size_t at = find(record, key, of);
    if (!err) {
        drop(record, at);
        return;
    }
    struct refusal *row = at < record->count ? &record->at[at] : add(record, of, written->object);
    if (!object_key_equal(row->object, key)) {
        object_key_release(&row->object);
        row->object = object_key_copy(key);
    }
    refusals_explain(row, err);
    retry_delay_note(&row->delay);
    if (err->kind == ERROR_CONFLICT) {
        note_conflict(row, written->object);
    }
}

/* A quota refuses objects until others are deleted, a webhook fails until it is mended, and each
 * try costs the cluster. */
static void note_refusal(struct refusals *record, const struct error *err) {
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms < record->paused_until_ms) {
        return; /* refused in the same pass */
    }
    if (!err) {
        record->denied = 0;
        record->paused_until_ms = 0;
    } else if (err->kind == ERROR_DENIED || err->kind == ERROR_UNAVAILABLE ||
               err->kind == ERROR_BUSY) {
        record->denied++;
        int64_t refused_ms =
            MIN((int64_t)REFUSED_MIN_MS << MIN(record->denied - 1, DOUBLINGS_MAX), REFUSED_MAX_MS);
        record->paused_until_ms =
            now_ms + refused_ms / 2 + arc4random_uniform((uint32_t)refused_ms / 2 + 1);
    }
}

/* Whether a container of the pod has a limit of its own for that resource. */
static bool has_limit(const json_t *pod, const char *resource) {
    static const char *const lists[] = {"spec.containers", "spec.initContainers"};
    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        const json_t *list = tree_get(pod, lists[k]);
        for (size_t i = 0; i < json_array_size(list); i++) {
            if (json_object_get(tree_get(json_array_get(list, i), "resources.limits"), resource)) {
                return true;
            }
        }
    }
    return false;
}

/* A LimitRange gives a container without a limit one that is below its request; the API server then
 * calls the pod invalid. That is a rule of the namespace, which may change, like a quota. */
static bool breaks_limit_range(const struct written *written) {
    static const char before[] = "must be less than or equal to ";
    const char *text = written->err ? strstr(written->err->text, before) : NULL;
    if (!text || written->err->kind != ERROR_INVALID ||
        !strstr(written->err->text, ".resources.requests: Invalid value")) {
        return false;
    }
    text += strlen(before);
    AUTO(text_freep) char *resource = x_strndup(text, strcspn(text, " "));
    return *resource && !has_limit(written->object, resource);
}

void refusals_note(struct refusals *record, const struct written *asked) {
    struct written of_limits = *asked;
    const struct written *written = asked;
    struct error denied = {0};
    if (breaks_limit_range(asked)) {
        error_set(&denied, ERROR_DENIED, "%s, which a LimitRange of the namespace sets",
                  asked->err->text);
        of_limits.err = &denied;
        written = &of_limits;
    }
    note(record, written->verb == CLUSTER_DELETE ? REFUSAL_OF_DELETION : REFUSAL_OF_CREATION,
         written);
    if (written->verb == CLUSTER_CREATE) {
        note_refusal(record, written->err);
    }
}

enum { TIMES, LAST_MS, SUM, SAME }; /* SAME: times in a row of that SUM */
/* Changes of an object within ten minutes of each other: the first 12 need no pause. */
enum { OTHERS_AT_ONCE = 12, OTHERS_PAUSE_MS = 15000 };

static json_int_t sum_of(const json_t *object) {
    AUTO(text_freep) char *text = tree_canonical(object);
    return digest_crc32c(0, text, strlen(text));
}

/* which: TIMES: of all changes; SAME: of the last one. */
static struct retry_delay_repeat repeat_of(const struct refusals *record, const char *uid,
                                           size_t which) {
    const json_t *row = json_object_get(record->changed, uid);
    return (struct retry_delay_repeat){.times = (int)json_integer_value(json_array_get(row, which)),
                                       .last_ms = json_integer_value(json_array_get(row, LAST_MS))};
}

static void forget_changes(struct refusals *record, int64_t now_ms) {
    const char *uid;
    json_t *row;
    void *next;
    json_object_foreach_safe(record->changed, next, uid, row) {
        if (now_ms >= repeat_of(record, uid, TIMES).last_ms + FORGET_CHANGES_MS) {
            json_object_del(record->changed, uid);
        }
    }
    if (json_object_size(record->changed) >= ROWS_MAX) {
        json_object_clear(record->changed);
    }
}

/* Whether that is what was last written to the object. */
static bool is_repeated(const struct refusals *record, const char *uid, json_int_t sum) {
    return sum == json_integer_value(json_array_get(json_object_get(record->changed, uid), SUM));
}

static void note_changed(struct refusals *record, const char *uid, const json_t *object) {
    int64_t now_ms = clock_monotonic_ms();
    json_int_t sum = sum_of(object);
    struct retry_delay_repeat changes = repeat_of(record, uid, TIMES), same = {0};
    if (is_repeated(record, uid, sum)) {
        same = repeat_of(record, uid, SAME);
    }
    retry_delay_repeat_note(&changes, now_ms);
    retry_delay_repeat_note(&same, now_ms);
    record->changed = record->changed ?: json_object();
    json_object_set_new(
        record->changed, uid,
        json_pack("[i, I, I, i]", changes.times, (json_int_t)changes.last_ms, sum, same.times));
    if (json_object_size(record->changed) >= record->forget_at) {
        forget_changes(record, now_ms);
        record->forget_at = 2 * json_object_size(record->changed) + FORGET_AT_MIN;
    }
}

void refusals_note_change(struct refusals *record, const struct written *written) {
    const char *uid = tree_text(written->object, "metadata.uid", "");
    note(record, REFUSAL_OF_CHANGE, written);
    if (!written->err && *uid) {
        note_changed(record, uid, written->object);
    }
}

int64_t refusals_changed_left_ms(const struct refusals *record, const json_t *object,
                                 int64_t now_ms) {
    const char *uid = tree_text(object, "metadata.uid", "");
    struct retry_delay_repeat changes = repeat_of(record, uid, TIMES);
    if (changes.times == 0) {
        return 0;
    }
    if (is_repeated(record, uid, sum_of(object))) {
        const struct retry_delay_repeat same = repeat_of(record, uid, SAME);
        return retry_delay_repeat_left_ms(&same, now_ms);
    }
    /* Another change goes at once, as a stop or a suspension should, until there are many. */
    int64_t next_ms = changes.times < OTHERS_AT_ONCE ? now_ms : changes.last_ms + OTHERS_PAUSE_MS;
    return MAX(next_ms - now_ms, 0);
}

struct retry_delay refusals_delay_of(const struct refusals *record, const json_t *object,
                                     enum refusal_of of) {
    size_t at = find(record, object_key_of(object), of);
    const struct refusal *row = at < record->count ? &record->at[at] : NULL;
    return row ? row->delay : (struct retry_delay){0};
}

/* False: the name is free or ours, as far as is known (holders.h). */
static bool is_taken(const struct refusal *entry, enum write_failure_why *ret_why) {
    static const struct {
        bool is_taken;
        enum write_failure_why why;
    } rows[] = {
        [CLAIM_HELD] = {true, WRITE_FAILURE_HELD},
        [CLAIM_LEAVING] = {true, WRITE_FAILURE_LEAVING},
        [CLAIM_FOREIGN] = {true, WRITE_FAILURE_TAKEN},
    };
    *ret_why = rows[entry->holder].why;
    return rows[entry->holder].is_taken; /* as last known, while it is asked for again */
}

/* False: the cluster has a problem, not the object, and not for long: what keeps a creation from
 * being done, whatever it is, a person should read. */
static bool is_of_object(const struct refusal *entry, struct write_failure *told) {
    switch (entry->kind) {
    case ERROR_CONFLICT:
        return is_taken(entry, &told->why);
    case ERROR_DENIED:
        told->why = WRITE_FAILURE_DENIED;
        return true;
    case ERROR_NOT_FOUND:
        told->why = WRITE_FAILURE_MISSING;
        return true;
    case ERROR_INVALID:
    case ERROR_UNSUPPORTED:
        told->why = entry->of == REFUSAL_OF_CREATION ? WRITE_FAILURE_REFUSED : WRITE_FAILURE_DENIED;
        return true;
    default:
        told->why = WRITE_FAILURE_DENIED;
        told->is_passing = true;
        return entry->delay.failures >= TOLD_FAILURES;
    }
}

/* Not where a change found that the object has changed meanwhile, or is gone: its event comes. */
static bool is_for_plans(const struct refusal *entry) {
    bool is_late = entry->kind == ERROR_CONFLICT || entry->kind == ERROR_NOT_FOUND;
    return entry->of == REFUSAL_OF_CREATION || !is_late;
}

struct write_failures refusals_of(const struct refusals *record) {
    struct write_failures told = {.at = x_calloc(record->count + 1, sizeof *told.at)};
    for (size_t i = 0; i < record->count; i++) {
        const struct refusal *entry = &record->at[i];
        struct write_failure failure = {.object = entry->object,
                                        .is_change = entry->of == REFUSAL_OF_CHANGE,
                                        .is_deletion = entry->of == REFUSAL_OF_DELETION,
                                        .text = entry->text};
        if (is_for_plans(entry) && is_of_object(entry, &failure)) {
            told.at[told.count++] = failure;
        }
    }
    return told;
}

void refusals_tell_deletion(const struct refusals *record, struct reconcile *request,
                            const json_t *object) {
    bool is_over = conditions_is_finished(request->object) ||
                   tree_get(request->object, "metadata.deletionTimestamp");
    size_t at = is_over ? find(record, object_key_of(object), REFUSAL_OF_DELETION) : record->count;
    const struct refusal *entry = at < record->count ? &record->at[at] : NULL;
    struct write_failure failure = {0};
    if (entry && is_for_plans(entry) && is_of_object(entry, &failure)) {
        AUTO(text_freep) char *what = object_key_format(entry->object);
        AUTO(text_freep)
        char *note = x_printf("%.200s cannot be deleted now: %.400s", what, entry->text);
        struct reconcile_event event = {
            .type = "Warning", .reason = "DeletionRefused", .note = note};
        event_recorder_add(request, &event);
    }
}
