// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/outcome.h"

#include "lib/time/clock.h"
#include "operator/object.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const char *const state_names[] = {"Unknown", "True", "False"};
static_assert(ARRAY_LEN(state_names) == OUTCOME_FAILED + 1, "one name per state");

void outcome_set(struct outcome *outcome, enum outcome_state state, const char *reason,
                 const char *format, ...) {
    struct error text = {0}; /* cuts and tidies: one line of UTF-8 */
    char message[sizeof outcome->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_set(&text, ERROR_FAILED, "%s", message);
    outcome->state = state;
    outcome->reason = reason;
    snprintf(outcome->message, sizeof outcome->message, "%s", text.text);
}

void outcome_stall(struct outcome *outcome, const char *reason, const char *message) {
    struct error text = {0};
    error_set(&text, ERROR_FAILED, "%s", message);
    outcome->stalled = reason;
    snprintf(outcome->stalled_message, sizeof outcome->stalled_message, "%s", text.text);
}

const json_t *outcome_condition(const json_t *object, const char *type) {
    return object_condition(json_object_get(object, "status"), type);
}

bool outcome_is_finished(const json_t *object) {
    const json_t *condition = outcome_condition(object, "Succeeded");
    const char *status = tree_text(condition, "status", "Unknown");
    if (strcmp(status, "True") == 0) {
        return true;
    }
    /* A spec that was wrong may have been corrected since; nothing ran yet. */
    bool corrected = strcmp(tree_text(condition, "reason", ""), "SpecInvalid") == 0 &&
                     tree_integer(condition, "observedGeneration", 0) !=
                         tree_integer(object, "metadata.generation", 0);
    return strcmp(status, "False") == 0 && !corrected;
}

static void set_time(json_t *status, const char *name, int64_t now_ms) {
    char text[21];
    clock_format(now_ms, text);
    json_object_set_new(status, name, json_string(text));
}

struct condition {
    const char *type, *status, *reason, *message;
};

/* Puts the condition where the one of its type was, or at the end; those of others (of a queue,
 * say) stay. */
static void set_condition(json_t *status, const struct condition *condition, int64_t generation,
                          int64_t now_ms) {
    json_t *made = json_pack("{s:s, s:s, s:s, s:s, s:I}", "type", condition->type, "status",
                             condition->status, "reason", condition->reason, "message",
                             condition->message, "observedGeneration", (json_int_t)generation);
    assert(made); /* messages are UTF-8: outcome_set, outcome_stall */
    json_t *list = json_object_get(status, "conditions");
    if (!json_is_array(list)) {
        list = json_array();
        json_object_set_new(status, "conditions", list);
    }
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

static struct condition reconciling(const struct outcome *outcome) {
    struct condition condition = {"Reconciling", "False", "Started", "the pods are requested"};
    if (outcome->state != OUTCOME_UNDER_WAY) {
        condition.reason = "Ended";
        condition.message = "the job has ended";
    } else if (outcome->suspended) {
        condition.reason = "Suspended";
        condition.message = "the job is suspended";
    } else if (outcome->stalled) {
        condition.reason = outcome->stalled;
        condition.message = "nothing more is made";
    } else if (!outcome->pods_requested) {
        condition.status = "True";
        condition.reason = "Starting";
        condition.message = "the pods are not requested yet";
    }
    return condition;
}

static struct condition stalled(const struct outcome *outcome) {
    struct condition condition = {"Stalled", "False", "NotStalled", "nothing stands in its way"};
    if (outcome->state == OUTCOME_FAILED && !outcome->is_asked_for) {
        condition.status = "True";
        condition.reason = outcome->reason;
        condition.message = outcome->message;
    } else if (outcome->stalled && outcome->state == OUTCOME_UNDER_WAY) {
        condition.status = "True";
        condition.reason = outcome->stalled;
        condition.message = outcome->stalled_message;
    }
    return condition;
}

/* Stalled and Suspended appear when they are True for the first time: their absence says the same
 * as False (kstatus), and every status is written, stored and sent to all who watch. */
static bool is_due(const json_t *status, const struct condition *condition) {
    bool is_rare =
        strcmp(condition->type, "Stalled") == 0 || strcmp(condition->type, "Suspended") == 0;
    return !is_rare || strcmp(condition->status, "True") == 0 ||
           object_condition(status, condition->type);
}

static void set_conditions(json_t *status, const struct outcome *outcome, int64_t generation,
                           int64_t now_ms) {
    bool suspended = outcome->suspended && outcome->state == OUTCOME_UNDER_WAY;
    const struct condition conditions[] = {
        {"Succeeded", state_names[outcome->state], outcome->reason, outcome->message},
        reconciling(outcome),
        stalled(outcome),
        {"Suspended", suspended ? "True" : "False", suspended ? "Suspended" : "NotSuspended",
         suspended ? "spec.suspend is true" : "spec.suspend is false"},
    };
    for (size_t i = 0; i < ARRAY_LEN(conditions); i++) {
        if (is_due(status, &conditions[i])) {
            set_condition(status, &conditions[i], generation, now_ms);
        }
    }
}

/* The clock of a suspended job stands: it starts anew when it goes on, as a Job's does. */
static void set_times(json_t *status, const struct outcome *outcome, int64_t now_ms) {
    if (outcome->state != OUTCOME_UNDER_WAY) {
        set_time(status, "completionTime", now_ms);
    } else {
        json_object_del(status, "completionTime");
    }
    if (outcome->suspended && outcome->state == OUTCOME_UNDER_WAY) {
        json_object_del(status, "startTime");
    } else if (!json_object_get(status, "startTime")) {
        set_time(status, "startTime", now_ms);
    }
}

static void set_runs(json_t *status, const struct outcome *outcome) {
    json_object_set(status, "runs", outcome->runs);
    json_object_del(status, "nextTime");
    if (outcome->next_ms > 0) {
        set_time(status, "nextTime", outcome->next_ms);
    }
}

json_t *outcome_status(const json_t *object, const struct job_spec *spec,
                       const struct outcome *outcome, int64_t now_ms) {
    const json_t *old = json_object_get(object, "status");
    json_t *status = json_is_object(old) ? json_deep_copy(old) : json_object();
    int64_t generation = tree_integer(object, "metadata.generation", 0);
    set_conditions(status, outcome, generation, now_ms);
    json_object_set_new(status, "observedGeneration", json_integer(generation));
    if (outcome->runs) {
        set_runs(status, outcome);
    } else if (spec) {
        json_object_set_new(status, "run", json_string(spec->run));
    }
    if (outcome->spec_hash) {
        json_object_set_new(status, "specHash", json_string(outcome->spec_hash));
    }
    if (outcome->agent_image) {
        json_object_set_new(status, "agentImage", json_string(outcome->agent_image));
    }
    if (outcome->credentials) {
        json_object_set(status, "credentials", outcome->credentials);
    }
    if (outcome->state != OUTCOME_UNDER_WAY) {
        json_object_del(status, "credentials");
    }
    set_times(status, outcome, now_ms);
    return status;
}

const char *outcome_dropped(const json_t *asked, const json_t *stored) {
    static const char *const read_back[] = {
        "status.credentials",         "status.credentials.secret",
        "status.credentials.created", "status.specHash",
        "status.agentImage",          "status.run",
        "status.exclusive",           "status.runs"};
    for (size_t i = 0; i < ARRAY_LEN(read_back); i++) {
        if (tree_get(asked, read_back[i]) && !tree_get(stored, read_back[i])) {
            return read_back[i];
        }
    }
    return NULL;
}

json_t *outcome_seen(const json_t *object) {
    json_t *status = json_deep_copy(json_object_get(object, "status"));
    int64_t generation = tree_integer(object, "metadata.generation", 0);
    if (!status || tree_integer(status, "observedGeneration", 0) == generation) {
        return status ? status : json_object();
    }
    static const char *const types[] = {"Succeeded", "Reconciling", "Stalled", "Suspended"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        json_t *condition = (json_t *)object_condition(status, types[i]);
        json_object_set_new(condition, "observedGeneration", json_integer(generation));
    }
    json_object_set_new(status, "observedGeneration", json_integer(generation));
    return status;
}
