// SPDX-License-Identifier: Apache-2.0
/* Data of a cluster and a coordinator -> plan: any JSON as {object, service, pods, progress}. */
#include "operator/kinds/batchscore/plan.h"
#include "operator/kinds/batchscore/schedule.h"
#include "operator/kinds/disttrain/plan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct job_observed observed_of(const json_t *tree) {
    return (struct job_observed){
        .object = json_object_get(tree, "object"),
        .service = json_object_get(tree, "service"),
        .pods = json_object_get(tree, "pods"),
        .progress = json_object_get(tree, "progress"),
    };
}

static int plan_gang(const json_t *tree, struct plan_result *ret_result, struct error *err) {
    struct disttrain_observed observed = {.job = observed_of(tree)};
    return disttrain_decide(&observed, 1000000, ret_result, err);
}

static int plan_scores(const json_t *tree, struct plan_result *ret_result, struct error *err) {
    AUTO(batchscore_schedule_freep)
    struct batchscore_schedule *schedule =
        batchscore_schedule_read(json_object_get(tree, "object"));
    struct batchscore_observed observed = {
        .job = observed_of(tree), .runs = json_object_get(tree, "runs"), .schedule = schedule};
    return batchscore_decide(&observed, 1000000, ret_result, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    AUTO(tree_freep) json_t *tree = NULL;
    if (tree_parse((const char *)data, size, 1 << 20, &tree, &err) < 0) {
        return 0;
    }
    bool is_gang = strcmp(tree_text(tree, "object.kind", ""), "DistTrain") == 0;
    AUTO(plan_result_release) struct plan_result result = {0};
    if ((is_gang ? plan_gang : plan_scores)(tree, &result, &err) < 0 ||
        !json_is_object(result.status)) {
        abort();
    }
    return 0;
}
