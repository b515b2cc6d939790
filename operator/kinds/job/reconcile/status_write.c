// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/status_write.h"

#include "lib/time/clock.h"
#include "operator/control/retry_pace.h"
#include "operator/kinds/job/conditions.h"
#include "operator/object.h"
#include "operator/operator_metrics.h"

#include <stdlib.h>
#include <string.h>

enum {
    SOON_MS = 1000,         /* between two writes of what is neither a condition nor a figure */
    PROBE_EVERY_MS = 60000, /* a status that the cluster stores only in part */
    AGAIN_MIN_MS = 1000,    /* after a failure, doubling */
    STALE_MIN_MS = 50,      /* the same, when another version was stored: its event comes soon */
    AGAIN_MAX_MS = 60000,
    DOUBLINGS_MAX = 11,
    AT_ONCE = 10,            /* changes of conditions that are written at once in a row, */
    AT_ONCE_EACH_MS = 15000, /* and how long it takes until one more may be */
    FORGET_AT_MIN = 16,      /* rows of status_write_ended, before old ones are looked for */
};

/* How long a difference may wait. */
enum urgency { URGENCY_NONE, URGENCY_FIGURES, URGENCY_SOON, URGENCY_NOW };

void status_write_requeue(struct reconcile *request, int64_t left_ms) {
    request->again_ms = request->again_ms > 0 ? MIN(request->again_ms, left_ms) : left_ms;
}

/* They follow from time even when nothing is done. */
static const char *const rates[] = {"itemsPerSecond", "samplesPerSecond", "secondsLeft"};
/* They grow all the time. */
static const char *const figures[] = {
    "items",      "miniBatches", "requests",  "progress",   "workers",   "step",
    "epoch",      "loss",        "accuracy",  "checkpoint", "objective", "trained",
    "badSamples", "losses",      "firstLoss", "lastLine",   "percent",   "metrics"};
/* A rate among the figures of "requests". */
static const char rate_of_requests[] = "tokensPerSecond";

static bool is_in(const char *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether people and tools wait for it: not so a message. */
static enum urgency of_conditions(const json_t *before, const json_t *status) {
    const json_t *list = json_object_get(status, "conditions");
    if (json_array_size(list) != json_array_size(json_object_get(before, "conditions"))) {
        return URGENCY_NOW;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *condition = json_array_get(list, i);
        const json_t *old = object_condition(before, tree_text(condition, "type", ""));
        static const char *const fields[] = {"status", "reason"};
        for (size_t k = 0; k < ARRAY_LEN(fields); k++) {
            if (!json_equal(json_object_get(condition, fields[k]),
                            json_object_get(old, fields[k]))) {
                return URGENCY_NOW;
            }
        }
    }
    return URGENCY_FIGURES;
}

/* Workers are connected, or none is any more. A DistTrain's are an object. */
static bool has_workers(const json_t *status) {
    return tree_integer(status, "workers", 0) > 0 ||
           tree_integer(status, "workers.registered", 0) > 0;
}

/* But for the rate. */
static bool are_requests_equal(const json_t *old, const json_t *now) {
    AUTO(tree_freep) json_t *before = json_copy((json_t *)old);
    AUTO(tree_freep) json_t *after = json_copy((json_t *)now);
    json_object_del(before, rate_of_requests);
    json_object_del(after, rate_of_requests);
    return json_equal(before, after);
}

static enum urgency of_field(const json_t *before, const json_t *status, const char *name) {
    const json_t *old = json_object_get(before, name), *now = json_object_get(status, name);
    if (json_equal(old, now) || is_in(name, rates, ARRAY_LEN(rates)) ||
        (strcmp(name, "requests") == 0 && are_requests_equal(old, now))) {
        return URGENCY_NONE;
    }
    if (strcmp(name, "conditions") == 0) {
        return of_conditions(before, status);
    }
    bool is_figure = is_in(name, figures, ARRAY_LEN(figures)) && old && now;
    if (strcmp(name, "workers") == 0 && has_workers(before) != has_workers(status)) {
        is_figure = false;
    }
    return is_figure ? URGENCY_FIGURES : URGENCY_SOON;
}

static enum urgency urgency_of(const json_t *before, const json_t *status) {
    enum urgency urgency = URGENCY_NONE;
    const char *name;
    json_t *ignored;
    json_object_foreach((json_t *)status, name, ignored) {
        urgency = MAX(urgency, of_field(before, status, name));
    }
    json_object_foreach((json_t *)before, name, ignored) {
        urgency = MAX(urgency, of_field(before, status, name));
    }
    return urgency;
}

/* Other writes wait for the credentials. */
static enum urgency urgency_with_steps(const json_t *before, const json_t *status) {
    const json_t *old = json_object_get(before, "credentials");
    const json_t *now = json_object_get(status, "credentials");
    bool is_step = old != now && !json_equal(old, now); /* (both may be absent) */
    return is_step ? URGENCY_NOW : urgency_of(before, status);
}

/* The output's storage turned out not to prevent two coordinators from writing. The safety of the
 * next coordinator, which another controller may create, depends on this. */
static bool warns(const json_t *before, const json_t *status) {
    return json_is_false(json_object_get(status, "exclusive")) &&
           !json_is_false(json_object_get(before, "exclusive"));
}

/* A Sweep decides by this whether the job goes on; it happens at most 48 times. */
static bool has_grown(const json_t *before, const json_t *status) {
    return strcmp(tree_text(before, "objective.at", ""), tree_text(status, "objective.at", "")) !=
           0;
}

/* It is only known that the job has begun, and its Service says so, too; or that its Secret is
 * stored, which the pods say, too. */
static bool only_begins(const struct status_write_record *record, const json_t *before,
                        const json_t *status) {
    bool is_first = tree_integer(before, "observedGeneration", 0) == -1 &&
                    json_is_object(json_object_get(status, "credentials"));
    bool is_second = json_is_false(tree_get(before, "credentials.created")) &&
                     tree_bool(status, "credentials.created", false);
    const char *reason = tree_text(object_condition(status, "Succeeded"), "reason", "");
    const char *stalled = tree_text(object_condition(status, "Stalled"), "status", "");
    return ((is_first && record->may_begin_late) || is_second) && strcmp(reason, "Pending") == 0 &&
           strcmp(stalled, "True") != 0;
}

/* What is written however many writes there were: the end of the job, a new Secret's name, on which
 * other writes depend, and what others decide by. */
static bool is_pressing(const json_t *before, const json_t *status) {
    bool has_ended = strcmp(tree_text(object_condition(before, "Succeeded"), "status", "Unknown"),
                            tree_text(object_condition(status, "Succeeded"), "status", "Unknown"));
    const json_t *secret = tree_get(before, "credentials.secret");
    bool is_renamed = secret && !json_equal(secret, tree_get(status, "credentials.secret"));
    return has_ended || is_renamed || warns(before, status) || has_grown(before, status);
}

/* What others may change all the time: workers that come and go, and the job's spec. */
static bool is_of_others(const json_t *before, const json_t *status) {
    return has_workers(before) != has_workers(status) ||
           tree_integer(before, "observedGeneration", 0) !=
               tree_integer(status, "observedGeneration", 0);
}

/* A change of conditions uses the allowance up, and so does what others change; when more than half
 * of it is used, so does what comes along with such changes. */
static void spend(struct status_write_record *record, const json_t *before, const json_t *status,
                  int64_t now_ms) {
    enum urgency urgency = urgency_with_steps(before, status);
    bool is_much = record->at_once_ms > now_ms + AT_ONCE / 2 * AT_ONCE_EACH_MS;
    bool is_counted = is_much || is_of_others(before, status);
    if (urgency == URGENCY_NOW || (urgency == URGENCY_SOON && is_counted)) {
        /* Tries that fail use it up, too, but no more than there is: after a failure of an hour
         * the next write waits as after ten. */
        record->at_once_ms = MIN(MAX(record->at_once_ms, now_ms) + AT_ONCE_EACH_MS,
                                 now_ms + (AT_ONCE + 1) * AT_ONCE_EACH_MS);
    }
}

/* When the allowance has room for one more write. */
static int64_t allowed_ms(const struct status_write_record *record) {
    return record->at_once_ms - AT_ONCE * AT_ONCE_EACH_MS;
}

/* How long the new status can wait. In a rush everything can that does not press; the first
 * Secret's name, and the record of what the job began with, are on its Service. */
static int64_t can_wait_ms(const struct reconcile *request,
                           const struct status_write_record *record, const json_t *before,
                           const json_t *status) {
    if (is_pressing(before, status)) {
        return 0;
    }
    enum urgency urgency = urgency_with_steps(before, status);
    int64_t due_ms =
        urgency == URGENCY_FIGURES ? record->wrote_ms + request->figures_ms : allowed_ms(record);
    if (urgency == URGENCY_SOON) {
        due_ms = MAX(due_ms, record->wrote_ms + SOON_MS);
    }
    if (only_begins(record, before, status)) {
        due_ms = MAX(due_ms, record->seen_ms + SOON_MS);
    }
    return MAX(due_ms - request->monotonic_ms, request->overload_ms);
}

/* After a failure. What is new since that try takes the next turn for which the allowance has room;
 * figures do not count: they go on at leisure where the rest is stored, and else wait with it. */
static bool may_try_again(struct reconcile *request, const struct status_write_record *record,
                          const json_t *status) {
    enum urgency urgency = urgency_of(record->tried, status);
    bool is_same = object_holds(record->tried, status, /* ignores_times= */ true);
    if (!is_same && urgency <= URGENCY_FIGURES && record->is_partial) {
        int64_t left_ms = record->wrote_ms + request->figures_ms - request->monotonic_ms;
        if (left_ms > 0) {
            status_write_requeue(request, left_ms);
        }
        return left_ms <= 0;
    }
    if (is_same || urgency <= URGENCY_FIGURES) {
        return reconcile_may_retry(request, record->not_before_ms, record->failures);
    }
    int64_t due_ms = MIN(record->wrote_ms + SOON_MS, record->not_before_ms);
    if (!is_pressing(record->tried, status)) {
        due_ms = MAX(due_ms, allowed_ms(record));
    }
    return reconcile_may_retry(request, due_ms, 1);
}

bool status_write(struct reconcile *request, struct status_write_record *record, json_t *status) {
    const json_t *before = json_object_get(request->object, "status");
    operator_metrics_figures(request->object, status);
    if (!record->is_seen) {
        record->is_seen = true;
        record->seen_ms = request->monotonic_ms;
        record->wrote_ms = request->monotonic_ms - SOON_MS -
                           arc4random_uniform((uint32_t)MAX(request->figures_ms, 1));
    }
    if (!status || urgency_of(before, status) == URGENCY_NONE) {
        return true;
    }
    if (record->tried && !may_try_again(request, record, status)) {
        return false;
    }
    int64_t left_ms = record->tried ? 0 : can_wait_ms(request, record, before, status);
    if (left_ms > 0) {
        status_write_requeue(request, left_ms);
        return false;
    }
    spend(record, before, status, request->monotonic_ms);
    json_t *object = json_copy((json_t *)request->object);
    json_object_set(object, "status", status);
    reconcile_write(request, CLUSTER_STATUS, object);
    return true;
}

void status_write_keep(struct status_write_ended *ended, const char *uid,
                       const struct status_write_record *record, int64_t now_ms) {
    const char *other;
    json_t *value;
    void *next;
    if (record->at_once_ms <= now_ms) {
        return;
    }
    ended->at_once = ended->at_once ?: json_object();
    json_object_set_new(ended->at_once, uid, json_integer(record->at_once_ms));
    if (json_object_size(ended->at_once) < ended->forget_at) {
        return;
    }
    json_object_foreach_safe(ended->at_once, next, other, value) {
        if (json_integer_value(value) <= now_ms) {
            json_object_del(ended->at_once, other);
        }
    }
    ended->forget_at = 2 * json_object_size(ended->at_once) + FORGET_AT_MIN;
}

void status_write_recall(struct status_write_ended *ended, const char *uid,
                         struct status_write_record *ret_record) {
    ret_record->at_once_ms = json_integer_value(json_object_get(ended->at_once, uid));
    json_object_del(ended->at_once, uid);
}

void status_write_release(struct status_write_record *record) {
    json_decref(record->tried);
    *record = (struct status_write_record){0};
}

/* Three quarters of it to five quarters. */
static int64_t delay_ms(const struct status_write_record *record, const struct error *err) {
    bool is_stale = err && err->kind == ERROR_CONFLICT;
    int64_t even_ms = is_stale ? STALE_MIN_MS : AGAIN_MIN_MS;
    even_ms = MIN(even_ms << MIN(record->failures - 1, DOUBLINGS_MAX), AGAIN_MAX_MS);
    even_ms = record->dropped ? PROBE_EVERY_MS : even_ms;
    return retry_pace_spread_ms(even_ms);
}

void status_write_note(struct status_write_record *record, const struct written *written) {
    if (written->verb != CLUSTER_STATUS) {
        return;
    }
    const json_t *asked = json_object_get(written->object, "status");
    const struct error *err = written->err;
    bool is_stored = !err && object_holds(json_object_get(written->stored, "status"), asked, false);
    struct status_write_record now = {.is_seen = true,
                                      .may_begin_late = record->may_begin_late,
                                      .seen_ms = record->seen_ms,
                                      .at_once_ms = record->at_once_ms,
                                      .wrote_ms = clock_monotonic_ms()};
    if (err) {
        now.dropped = record->dropped;
    } else {
        now.dropped = conditions_dropped(written->object, written->stored);
    }
    if (!is_stored) {
        now.is_partial = !err;
        now.failures = record->failures + 1;
        now.tried = json_incref((json_t *)asked);
        now.not_before_ms = now.wrote_ms + delay_ms(&now, err);
    }
    json_decref(record->tried);
    *record = now;
}
