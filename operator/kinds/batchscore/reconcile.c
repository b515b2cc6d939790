// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/reconcile.h"

#include "operator/kinds/batchscore/cache_transform.h"
#include "operator/kinds/batchscore/plan.h"
#include "operator/kinds/batchscore/schedule.h"
#include "operator/kinds/batchscore/series.h"
#include "operator/kinds/batchscore/spec.h"
#include "operator/kinds/job/reconcile/reconcile.h"

#include <string.h>

static bool is_coordinator(const json_t *pod) {
    const char *role = owned_label(pod, LABEL_ROLE);
    return role && strcmp(role, "coordinator") == 0;
}

static bool begins(const json_t *object, const struct job_options *options UNUSED) {
    return !series_is(object);
}

static int plan(const struct reconcile *request, const struct job_observed *observed,
                struct plan_result *ret_plan, struct error *err) {
    const json_t *object = request->object;
    AUTO(tree_freep)
    json_t *runs = series_is(object) ? cache_owned(request->cache, request->kind, object) : NULL;
    AUTO(batchscore_schedule_freep)
    struct batchscore_schedule *schedule = batchscore_schedule_read(object);
    struct batchscore_observed all = {.job = *observed, .runs = runs, .schedule = schedule};
    return batchscore_decide(&all, request->wall_ms, ret_plan, err);
}

static const struct job_ops ops = {
    .hub = &batchscore_words.hub,
    .is_hub = is_coordinator,
    .plan = plan,
    .begins = begins,
    .maker = "BatchScore", /* a series */
    .found_by = ANNOTATION_RUN,
    .transform_ended = cache_transform_leftover,
    .rules = {.mutable_fields = batchscore_mutable_fields,
              .suspended_fields = batchscore_suspended_fields,
              .check = batchscore_check_change},
};

static int reconcile(void *state, struct reconcile *request, struct error *err) {
    return job_reconcile(&ops, state, request, err);
}

static const struct owned_kind owned[] = {{"v1", "Service"}, {"v1", "Pod"}, {NULL, NULL}};

const struct kind batchscore_kind = {
    .api_version = "windlass.dev/v1beta1",
    .name = "BatchScore",
    .owned = owned,
    .transform = batchscore_transform,
    .state_new = job_state_new,
    .state_free = job_state_free,
    .reconcile = reconcile,
    .wrote = job_wrote,
    .listed = job_listed,
    .found = job_take_found,
};
