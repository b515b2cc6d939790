// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/conditions.h"

#include "lib/time/clock.h"
#include "operator/object.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const state_names[] = {"Unknown", "True", "False"};
static_assert(ARRAY_LEN(state_names) == CONDITIONS_FAILED + 1, "one name per state");

void conditions_set(struct conditions *conditions, enum conditions_state state, const char *reason,
                    const char *format, ...) {
    struct error text = {0}; /* truncates and cleans: one line of UTF-8 */
    char message[sizeof conditions->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_set(&text, ERROR_FAILED, "%s", message);
    conditions->state = state;
    conditions->reason = reason;
    snprintf(conditions->message, sizeof conditions->message, "%s", text.text);
}

void conditions_stall(struct conditions *conditions, const char *reason, const char *message) {
    struct error text = {0};
    error_set(&text, ERROR_FAILED, "%s", message);
    conditions->stalled = reason;
    snprintf(conditions->stalled_message, sizeof conditions->stalled_message, "%s", text.text);
}

void conditions_note_change(struct conditions *conditions, const char *fields) {
    snprintf(
        conditions->spec_changed, sizeof conditions->spec_changed,
        "changed after the start, and not accepted: spec.%s; the job continues with its original "
        "spec. Revert the change, or delete the job and apply it again",
        fields);
}

const json_t *conditions_find(const json_t *object, const char *type) {
    return object_condition(json_object_get(object, "status"), type);
}

const json_t *conditions_before(const json_t *object) {
    const json_t *waiting = conditions_find(object, "Waiting");
    return strcmp(tree_text(waiting, "status", ""), "True") == 0
               ? waiting
               : conditions_find(object, "Succeeded");
}

bool conditions_is_finished(const json_t *object) {
    const json_t *condition = conditions_find(object, "Succeeded");
    const char *status = tree_text(condition, "status", "Unknown");
    if (strcmp(status, "True") == 0) {
        return true;
    }
    /* An invalid spec may have been corrected since; nothing ran before. */
    bool corrected = strcmp(tree_text(condition, "reason", ""), "SpecInvalid") == 0 &&
                     tree_integer(condition, "observedGeneration", 0) !=
                         tree_integer(object, "metadata.generation", 0);
    return strcmp(status, "False") == 0 && !corrected;
}

/* ---- the course of a job ---- */

/* How far a job is that shows this reason as its state. Reasons that are not here are for a job
 * that has not started yet, or that something keeps from running. */
static const struct step {
    const char *reason, *kind; /* kind: NULL: any */
    int rank;
} steps[] = {
    {"Listing", NULL, 1},     {"Gathering", NULL, 1},
    {"Preparing", NULL, 1},   {"Armed", NULL, 1},
    {"Scheduled", NULL, 1},   {"Running", NULL, 2},
    {"Joining", NULL, 3},     {"Registering", NULL, 3},
    {"Stopping", "Sweep", 3}, /* a gang stops before each of its rounds */
};

static int rank_of(const json_t *object, const char *reason) {
    const char *kind = tree_text(object, "kind", "");
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (strcmp(steps[i].reason, reason) == 0 &&
            (!steps[i].kind || strcmp(steps[i].kind, kind) == 0)) {
            return steps[i].rank;
        }
    }
    return 0;
}

const char *conditions_shown(const json_t *object, const struct conditions *conditions) {
    const json_t *old = conditions_find(object, "Succeeded");
    const char *before = tree_text(old, "reason", "");
    bool is_bound = conditions->state == CONDITIONS_UNDER_WAY && !conditions->suspended &&
                    !conditions->runs && strcmp(tree_text(old, "status", ""), "Unknown") == 0;
    return is_bound && rank_of(object, before) > rank_of(object, conditions->reason)
               ? before
               : conditions->reason;
}

bool conditions_waits(const json_t *object, const struct conditions *conditions) {
    static const char *const calm[] = {"Pending", "Unreachable"};
    if (conditions->state != CONDITIONS_UNDER_WAY || conditions->suspended ||
        rank_of(object, conditions->reason) > 0) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(calm); i++) {
        if (strcmp(conditions->reason, calm[i]) == 0) {
            return strcmp(conditions_shown(object, conditions), conditions->reason) != 0;
        }
    }
    return true;
}

/* ---- conditions ---- */

static void set_time(json_t *status, const char *name, int64_t now_ms) {
    char text[21];
    clock_format(now_ms, text);
    json_object_set_new(status, name, json_string(text));
}

struct condition {
    const char *type, *status, *reason, *message;
};

/* Replaces the condition of that type, or appends it; conditions of other writers (a queue, for
 * example) stay. */
static void set_condition(json_t *status, const struct condition *condition, int64_t generation,
                          int64_t now_ms) {
    json_t *made = json_pack("{s:s, s:s, s:s, s:s, s:I}", "type", condition->type, "status",
                             condition->status, "reason", condition->reason, "message",
                             condition->message, "observedGeneration", (json_int_t)generation);
    assert(made); /* messages are UTF-8: conditions_set, conditions_stall */
    json_t *list = tree_ensure_list(status, "conditions");
    size_t at = 0;
    for (; at < json_array_size(list); at++) {
        if (strcmp(tree_text(json_array_get(list, at), "type", ""), condition->type) == 0) {
            break;
        }
    }
    const json_t *old = json_array_get(list, at);
    const char *since = tree_text(old, "lastTransitionTime", NULL);
    if (since && strcmp(tree_text(old, "status", ""), condition->status) == 0) {
        json_object_set_new(made, "lastTransitionTime", json_string(since));
    } else {
        set_time(made, "lastTransitionTime", now_ms);
    }
    if (old) {
        json_array_set_new(list, at, made);
    } else {
        json_array_append_new(list, made);
    }
}

/* A job of which something runs is not stalled, whatever stops the rest. */
static bool is_stalled(const struct conditions *conditions) {
    return conditions->state == CONDITIONS_UNDER_WAY && conditions->stalled &&
           !conditions->progresses;
}

static struct condition reconciling(const struct conditions *conditions) {
    struct condition condition = {"Reconciling", "False", "Started", "the pods are requested"};
    if (conditions->state != CONDITIONS_UNDER_WAY) {
        condition.reason = "Ended";
        condition.message = "the job has ended";
    } else if (conditions->suspended) {
        condition.reason = "Suspended";
        condition.message = "the job is suspended";
    } else if (is_stalled(conditions)) {
        condition.reason = conditions->stalled;
        condition.message = "nothing more is made";
    } else if (!conditions->pods_requested) {
        condition.status = "True";
        condition.reason = "Starting";
        condition.message = "the pods are not requested yet";
    }
    return condition;
}

static struct condition stalled(const struct conditions *conditions) {
    struct condition condition = {"Stalled", "False", "NotStalled", "nothing blocks it"};
    if (conditions->state == CONDITIONS_FAILED && !conditions->is_asked_for) {
        condition.status = "True";
        condition.reason = conditions->reason;
        condition.message = conditions->message;
    } else if (is_stalled(conditions)) {
        condition.status = "True";
        condition.reason = conditions->stalled;
        condition.message = conditions->stalled_message;
    }
    return condition;
}

/* At the end exactly one of the two is True, and stays so. */
static struct condition ended(const struct conditions *conditions, enum conditions_state state) {
    struct condition condition = {state == CONDITIONS_SUCCEEDED ? "Complete" : "Failed", "False",
                                  "NotEnded", "the job has not ended"};
    if (conditions->state == state) {
        condition.status = "True";
        condition.reason = conditions->reason;
        condition.message = conditions->message;
    } else if (conditions->state != CONDITIONS_UNDER_WAY) {
        condition.reason = conditions->reason;
        condition.message = "the job has ended otherwise";
    }
    return condition;
}

/* Without a reason when it is not True: then it is absent, and its column is empty. */
static struct condition waiting(const json_t *object, const struct conditions *conditions) {
    struct condition condition = {.type = "Waiting", .status = "False"};
    if (conditions_waits(object, conditions)) {
        condition.status = "True";
        condition.reason = conditions->reason;
        condition.message = conditions->message;
    }
    return condition;
}

/* All but Succeeded and Reconciling are added when they are True for the first time. Their absence
 * means False (kstatus), and a longer status costs more to write, store and send to all watchers.
 */
static bool is_due(const json_t *status, const struct condition *condition) {
    bool is_rare =
        strcmp(condition->type, "Succeeded") != 0 && strcmp(condition->type, "Reconciling") != 0;
    return !is_rare || strcmp(condition->status, "True") == 0 ||
           (condition->reason && object_condition(status, condition->type));
}

static void drop_condition(json_t *status, const char *type) {
    json_t *list = json_object_get(status, "conditions");
    for (size_t i = json_array_size(list); i-- > 0;) {
        if (strcmp(tree_text(json_array_get(list, i), "type", ""), type) == 0) {
            json_array_remove(list, i);
        }
    }
}

static void set_conditions(json_t *status, const json_t *object,
                           const struct conditions *conditions, int64_t now_ms) {
    bool suspended = conditions->suspended && conditions->state == CONDITIONS_UNDER_WAY;
    int64_t generation = tree_integer(object, "metadata.generation", 0);
    const struct condition rows[] = {
        {"Succeeded", state_names[conditions->state], conditions_shown(object, conditions),
         conditions->message},
        reconciling(conditions),
        stalled(conditions),
        {"Suspended", suspended ? "True" : "False", suspended ? "Suspended" : "NotSuspended",
         suspended ? "spec.suspend is true" : "spec.suspend is false"},
        {"SpecChanged", *conditions->spec_changed ? "True" : "False",
         *conditions->spec_changed ? "NotAccepted" : "Accepted",
         *conditions->spec_changed ? conditions->spec_changed : "spec is as it was accepted"},
        waiting(object, conditions),
        ended(conditions, CONDITIONS_SUCCEEDED),
        ended(conditions, CONDITIONS_FAILED),
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (is_due(status, &rows[i])) {
            set_condition(status, &rows[i], generation, now_ms);
        } else if (!rows[i].reason) {
            drop_condition(status, rows[i].type);
        }
    }
}

/* A job that is suspended, or waits for other jobs, has no startTime; it is set again when the job
 * resumes, like a Job's. */
static void set_times(json_t *status, const struct conditions *conditions, int64_t now_ms) {
    if (conditions->state != CONDITIONS_UNDER_WAY) {
        set_time(status, "completionTime", now_ms);
    } else {
        json_object_del(status, "completionTime");
    }
    bool is_idle = conditions->suspended || conditions->is_early;
    if (is_idle && conditions->state == CONDITIONS_UNDER_WAY) {
        json_object_del(status, "startTime");
    } else if (!json_object_get(status, "startTime")) {
        set_time(status, "startTime", now_ms);
    }
}

static void set_runs(json_t *status, const struct conditions *conditions) {
    json_object_set(status, "runs", conditions->runs);
    json_object_del(status, "nextTime");
    if (conditions->next_ms > 0) {
        set_time(status, "nextTime", conditions->next_ms);
    }
}

json_t *conditions_status(const json_t *object, const struct job_spec *spec,
                          const struct conditions *conditions, int64_t now_ms) {
    const json_t *old = json_object_get(object, "status");
    json_t *status = json_is_object(old) ? json_deep_copy(old) : json_object();
    int64_t generation = tree_integer(object, "metadata.generation", 0);
    set_conditions(status, object, conditions, now_ms);
    json_object_set_new(status, "observedGeneration", json_integer(generation));
    if (conditions->runs) {
        set_runs(status, conditions);
    } else if (spec && !conditions->is_early) {
        json_object_set_new(status, "run", json_string(spec->run));
    }
    if (json_object_size(conditions->images) > 0) { /* those of pods that are gone stay */
        json_object_update(tree_ensure_object(status, "images"), conditions->images);
    }
    if (conditions->spec_hash) {
        json_object_set_new(status, "specHash", json_string(conditions->spec_hash));
    }
    if (conditions->agent_image) {
        json_object_set_new(status, "agentImage", json_string(conditions->agent_image));
    }
    if (conditions->after) {
        json_object_set(status, "after", conditions->after);
    }
    if (conditions->credentials) {
        json_object_set(status, "credentials", conditions->credentials);
    }
    if (conditions->state != CONDITIONS_UNDER_WAY) {
        json_object_del(status, "credentials");
    }
    set_times(status, conditions, now_ms);
    return status;
}

const char *conditions_dropped(const json_t *asked, const json_t *stored) {
    static const char *const read_back[] = {"status.credentials",
                                            "status.credentials.secret",
                                            "status.credentials.created",
                                            "status.specHash",
                                            "status.agentImage",
                                            "status.run",
                                            "status.exclusive",
                                            "status.runs",
                                            "status.after"};
    for (size_t i = 0; i < ARRAY_LEN(read_back); i++) {
        if (tree_get(asked, read_back[i]) && !tree_get(stored, read_back[i])) {
            return read_back[i];
        }
    }
    return NULL;
}

json_t *conditions_for_new_generation(const json_t *object) {
    json_t *status = json_deep_copy(json_object_get(object, "status"));
    int64_t generation = tree_integer(object, "metadata.generation", 0);
    if (!status || tree_integer(status, "observedGeneration", 0) == generation) {
        return status ? status : json_object();
    }
    static const char *const types[] = {"Succeeded", "Reconciling", "Stalled",  "Suspended",
                                        "Waiting",   "SpecChanged", "Complete", "Failed"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        json_t *condition = (json_t *)object_condition(status, types[i]);
        json_object_set_new(condition, "observedGeneration", json_integer(generation));
    }
    json_object_set_new(status, "observedGeneration", json_integer(generation));
    return status;
}
