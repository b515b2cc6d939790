// SPDX-License-Identifier: Apache-2.0
/* The steps that the plans of all kinds share. */
#include "operator/kinds/job/plan.h"

#include "operator/control/claim.h"
#include "operator/kinds/job/plan_phases.h"
#include "operator/kinds/job/spec_snapshot.h"

#include <stdio.h>
#include <string.h>

/* ---- pods ---- */

/* One event for each pod that is replaced, with its end. */
static void report_replaced(struct job_plan *plan, const struct pod_phase *phase,
                            const json_t *pod_new) {
    const char *next = tree_text(pod_new, "metadata.name", "");
    if (phase->stage == POD_PHASE_SUCCEEDED) {
        return;
    }
    if (phase->stage == POD_PHASE_DEAD && phase->exit_code >= 0) {
        AUTO(text_freep) char *words = job_plan_find_message(phase);
        job_plan_event(plan, "Warning", "PodFailed", next,
                       "pod %.80s ended with exit code %d%s%.40s%s%.350s; %.80s takes its place",
                       phase->name, phase->exit_code, *phase->reason ? ", " : "", phase->reason,
                       words ? ": " : "", words ? words : "", next);
        return;
    }
    job_plan_event(plan, "Normal", "PodReplaced", next, "pod %.80s %s%s%s; %.80s takes its place",
                   phase->name,
                   phase->stage == POD_PHASE_DEAD ? "ended without an exit code" : "is terminating",
                   *phase->reason ? ": " : "", phase->reason, next);
}

/* Takes the pod over. before: the pod that it replaces, NULL if none. deaths: in its place so far.
 */
void job_plan_make_pod(struct job_plan *plan, json_t *pod_new, const struct pod_phase *before,
                       int deaths) {
    json_t *metadata = json_object_get(pod_new, "metadata");
    json_t *annotations = json_object_get(metadata, "annotations");
    if (!annotations) {
        annotations = json_object();
        json_object_set_new(metadata, "annotations", annotations);
    }
    char begun[SPEC_SNAPSHOT_DIGEST];
    spec_snapshot_digest(json_object_get(plan->observed->object, "status"), begun);
    json_object_set_new(annotations, ANNOTATION_SECRET, json_string(plan->endpoint.secret));
    json_object_set_new(annotations, ANNOTATION_BEGUN_DIGEST, json_string(begun));
    if (deaths > 0) {
        json_object_set_new(annotations, ANNOTATION_DEATHS, json_sprintf("%d", deaths));
    }
    if (before) {
        report_replaced(plan, before, pod_new);
    }
    json_array_append_new(plan->result.create, pod_new);
}

/* ---- write failures ---- */

static const struct failure_row {
    enum write_failure_why why;
    const char *reason, *text;
    bool with_text, fails, stalls, is_of_holder;
} failure_rows[] = {
    /* the most severe last; that a kind is missing is for the job's kind to say */
    {WRITE_FAILURE_LEAVING, "Pending",
     " of an earlier job of this name still exists; the job waits until it is deleted", false,
     false, false, true},
    {WRITE_FAILURE_DENIED, "Denied", " cannot be created now: ", true, false, false, false},
    {WRITE_FAILURE_TAKEN, "NameTaken",
     " exists and is not this job's; delete it, or give the job another name", false, false, true,
     true},
    {WRITE_FAILURE_UNKNOWN, "Denied",
     " must not run beside another, and the cluster does not report whether it has ended: ", true,
     false, false, false},
    {WRITE_FAILURE_HELD, "NameTaken",
     " was taken out of this job (its labels or its owner were changed), may still run, and must "
     "not "
     "run beside another; delete it, or put its labels back",
     false, false, true, true},
    {WRITE_FAILURE_REFUSED, "ObjectRefused", " is refused by the cluster: ", true, true, false,
     false},
};

const struct write_failure *job_plan_write_failure_of(const struct job_plan *plan,
                                                      const json_t *object) {
    return write_failure_find(plan->observed->write_failures, object_key_of(object), false);
}

bool job_plan_takes(struct job_plan *plan, const char *role, int index) {
    AUTO(text_freep) char *place = pod_phase_place_of(role, index);
    bool rests = json_object_get(plan->observed->resting, place) != NULL;
    int *count = rests ? &plan->rested : &plan->made;
    bool has_room = *count < JOB_PLAN_CREATES_MAX;
    *count += has_room;
    return has_room;
}

void job_plan_mark_singleton(json_t *pod) {
    json_t *metadata = json_object_get(pod, "metadata");
    json_object_set_new(tree_ensure_object(metadata, "annotations"), ANNOTATION_ALONE,
                        json_string("true"));
}

bool job_plan_next_name(const struct job_plan *plan, json_t **made, int tried) {
    if (!*made) {
        return true;
    }
    const struct write_failure *failure = job_plan_write_failure_of(plan, *made);
    if (!failure || failure->why != WRITE_FAILURE_TAKEN || tried >= OWNED_NAMES_MAX) {
        return false;
    }
    json_decref(*made);
    *made = NULL;
    return true;
}

void job_plan_choose_name(const struct job_plan *plan, json_t *object) {
    json_t *metadata = json_object_get(object, "metadata");
    AUTO(text_freep) char *first = x_strdup(tree_text(object, "metadata.name", ""));
    for (int tried = 1; tried < OWNED_NAMES_MAX; tried++) {
        const struct write_failure *failure = job_plan_write_failure_of(plan, object);
        if (!failure || failure->why != WRITE_FAILURE_TAKEN) {
            return;
        }
        AUTO(text_freep) char *next = owned_next_name(first, tried);
        json_object_set_new(metadata, "name", json_string(next));
    }
}

bool job_plan_ensure(struct job_plan *plan, json_t *object) {
    const struct ensured_objects *ensured = plan->observed->ensured;
    for (size_t i = 0; ensured && i < ensured->count; i++) {
        if (ensured->at[i].is_there &&
            object_key_equal(ensured->at[i].object, object_key_of(object))) {
            return true;
        }
    }
    json_array_append(plan->result.apply, object);
    return false;
}

/* Why an object that is to be created cannot be; NULL: nothing is known. */
static const struct write_failure *failure_of(const struct job_plan *plan, const json_t *object) {
    if (plan->observed->held && owned_annotation(object, ANNOTATION_ALONE)) {
        return plan->observed->held;
    }
    return job_plan_write_failure_of(plan, object);
}

/* The same of an existing one that is to be changed. */
static const struct write_failure *failure_of_change(const struct job_plan *plan,
                                                     const json_t *object) {
    return tree_get(object, "metadata.uid")
               ? write_failure_find(plan->observed->write_failures, object_key_of(object), true)
               : NULL;
}

/* The same of the Secret, until it is known to be there: after each failure its next name is
 * written to the Service first, so not each pass creates it. */
static const struct write_failure *failure_of_secret(const struct job_plan *plan) {
    const struct object_key any = {"Secret", ""};
    bool is_there = tree_bool(plan->conditions.credentials, "created", true);
    return is_there ? NULL : write_failure_find(plan->observed->write_failures, any, false);
}

struct worst {
    const struct failure_row *row; /* NULL: none */
    const struct write_failure *failure;
};

/* failure: NULL: none. */
static void note_worse(struct worst *worst, const struct write_failure *failure) {
    for (size_t k = worst->row ? (size_t)(worst->row - failure_rows) + 1 : 0;
         failure && k < ARRAY_LEN(failure_rows); k++) {
        if (failure_rows[k].why == failure->why) {
            *worst = (struct worst){&failure_rows[k], failure};
        }
    }
}

/* The most severe write failure of what is to be created or changed. */
static struct worst find_worst(const struct job_plan *plan) {
    struct worst worst = {0};
    for (size_t i = 0; i < json_array_size(plan->result.create); i++) {
        note_worse(&worst, failure_of(plan, json_array_get(plan->result.create, i)));
    }
    for (size_t i = 0; i < json_array_size(plan->result.apply); i++) {
        note_worse(&worst, failure_of_change(plan, json_array_get(plan->result.apply, i)));
    }
    note_worse(&worst, failure_of_secret(plan));
    return worst;
}

static void report(struct job_plan *plan, const struct failure_row *row,
                   const struct write_failure *failure) {
    const char *reason =
        row->why == WRITE_FAILURE_DENIED ? write_failure_denied_reason(failure) : row->reason;
    const char *text = failure->is_change ? " cannot be changed now: " : row->text;
    AUTO(text_freep) char *what = object_key_format(failure->object);
    conditions_set(&plan->conditions, row->fails ? CONDITIONS_FAILED : CONDITIONS_UNDER_WAY, reason,
                   "%.200s%s%.400s", what, text, row->with_text ? failure->text : "");
    plan->conditions.pods_requested = false;
    if (row->stalls) {
        conditions_stall(&plan->conditions, reason, plan->conditions.message);
    }
}

bool job_plan_report_holder(struct job_plan *plan, const struct write_failure *failure) {
    for (size_t i = 0; i < ARRAY_LEN(failure_rows); i++) {
        const struct failure_row *row = &failure_rows[i];
        if (row->why == failure->why && row->is_of_holder) {
            report(plan, row, failure);
            return true;
        }
    }
    return false;
}

void job_plan_report_write_failures(struct job_plan *plan, bool is_running) {
    const struct worst worst = find_worst(plan);
    const struct failure_row *row = worst.row;
    /* A job that runs with fewer pods than wanted is running; but not without one of which there is
     * only one. */
    bool is_of_one = row && (row->why == WRITE_FAILURE_HELD || row->why == WRITE_FAILURE_UNKNOWN);
    if (!row || (!row->fails && !is_of_one && is_running)) {
        return;
    }
    report(plan, row, worst.failure);
}

/* ---- an outdated definition ---- */

/* The first field, of those that would be recorded now, that the definition drops. Once reported,
 * this holds until the field is seen in the status. */
static const char *find_dropped(const struct job_plan *plan) {
    const json_t *object = plan->stored;
    const char *told = tree_text(conditions_before(object), "reason", "");
    if (plan->observed->dropped || strcmp(told, "CRDOutdated") != 0) {
        return plan->observed->dropped;
    }
    const struct conditions *conditions = &plan->conditions;
    AUTO(tree_freep)
    json_t *asked = json_pack("{s:{s:O*, s:s*, s:s*, s:O*}}", "status", "credentials",
                              conditions->credentials, "specHash", conditions->spec_hash,
                              "agentImage", conditions->agent_image, "runs", conditions->runs);
    return conditions_dropped(asked, object);
}

/* The plan creates nothing, because each pass would create again what the status cannot record. It
 * asks for the status as if the definition were current, so that the first write under a new
 * definition ends this state. */
bool job_plan_stop_if_outdated(struct job_plan *plan) {
    const char *dropped = find_dropped(plan);
    if (!dropped) {
        return false;
    }
    json_array_clear(plan->result.create);
    json_array_clear(plan->result.apply);
    conditions_set(
        &plan->conditions, CONDITIONS_UNDER_WAY, "CRDOutdated",
        "the CustomResourceDefinition %s is older than the controller and drops %s; upgrade "
        "the chart with crds.install=true, or `kubectl apply --server-side -f %s` of "
        "version %s",
        plan->words->definition, dropped, plan->words->file, WINDLASS_VERSION);
    conditions_stall(&plan->conditions, "CRDOutdated", plan->conditions.message);
    return true;
}

/* ---- time ---- */

bool job_plan_check_ttl(struct job_plan *plan, bool *ret_succeeded) {
    const json_t *object = plan->observed->object;
    int64_t ttl_s = tree_integer(object, "spec.ttlSecondsAfterFinished", -1);
    *ret_succeeded =
        strcmp(tree_text(conditions_find(object, "Succeeded"), "status", ""), "True") == 0;
    if (ttl_s < 0) {
        return false;
    }
    int64_t over_ms = job_plan_time_of(plan, "status.completionTime", plan->now_ms) + 1000 * ttl_s;
    if (plan->phase_count > 0) {
        job_plan_wake(plan, over_ms);
    }
    return plan->now_ms >= over_ms;
}
