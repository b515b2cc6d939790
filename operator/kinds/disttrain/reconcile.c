// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/disttrain/reconcile.h"

#include "operator/kinds/disttrain/cache_transform.h"
#include "operator/kinds/disttrain/plan.h"
#include "operator/kinds/disttrain/pods.h"
#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/job/reconcile/reconcile.h"

#include <string.h>

static bool is_hub(const json_t *pod) {
    const char *index = owned_label(pod, LABEL_INDEX);
    return index && strcmp(index, "0") == 0;
}

/* A job with pods needs credentials. */
static bool begins(const json_t *object, const struct job_options *options) {
    (void)options;
    struct error ignored = {0};
    return disttrain_check(object, &ignored) == 0;
}

static int plan(const struct reconcile *request, const struct job_observed *observed,
                struct plan_result *ret_plan, struct error *err) {
    struct disttrain_observed all = {.job = *observed};
    return disttrain_decide(&all, request->wall_ms, ret_plan, err);
}

/* A Sweep may stop it after its next report. */
static bool is_first(const json_t *object) {
    return tree_get(object, "spec.metrics.objective") != NULL;
}

static char *last_hub(const json_t *object) {
    int attempt = job_bounded(object, "status.attempt", 0, 1000000 - 1);
    const char *name = tree_text(object, "metadata.name", "");
    return attempt > 0 ? disttrain_member_name(name, 0, attempt) : NULL;
}

static const struct job_ops ops = {
    .hub = &disttrain_words.hub,
    .is_hub = is_hub,
    .last_hub = last_hub,
    .bare_role = ROLE_MEMBER,
    .plan = plan,
    .begins = begins,
    .is_first = is_first,
    .maker = "Sweep",
    .found_by = ANNOTATION_TRIAL,
    .is_found_by_name = true,
    .transform_ended = cache_transform_leftover,
    .rules = {.mutable_fields = disttrain_mutable_fields,
              .suspended_fields = disttrain_suspended_fields,
              .check = disttrain_check_change},
};

static int reconcile(void *state, struct reconcile *request, struct error *err) {
    return job_reconcile(&ops, state, request, err);
}

static const struct owned_kind owned[] = {{"v1", "Service"}, {"v1", "Pod"}, {NULL, NULL}};

const struct kind disttrain_kind = {
    .api_version = "windlass.dev/v1beta1",
    .name = "DistTrain",
    .may_be_absent = true, /* an older installation lacks the definition */
    .owned = owned,
    .transform = disttrain_transform,
    .state_new = job_state_new,
    .state_free = job_state_free,
    .found = job_take_found,
    .reconcile = reconcile,
    .wrote = job_wrote,
    .listed = job_listed,
};
