// SPDX-License-Identifier: Apache-2.0
/* What a cluster and a coordinator may say -> plan: any JSON as {object, service, pods, progress}.
 */
#include "operator/kinds/batchscore/plan.h"
#include "operator/kinds/batchscore/schedule.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error err = {0};
    AUTO(tree_freep) json_t *tree = NULL;
    if (tree_parse((const char *)data, size, 1 << 20, &tree, &err) < 0) {
        return 0;
    }
    AUTO(schedule_freep)
    struct schedule *schedule = schedule_read(json_object_get(tree, "object"));
    struct batchscore_observed observed = {
        .job.object = json_object_get(tree, "object"),
        .runs = json_object_get(tree, "runs"),
        .schedule = schedule,
        .job.service = json_object_get(tree, "service"),
        .job.pods = json_object_get(tree, "pods"),
        .job.progress = json_object_get(tree, "progress"),
    };
    AUTO(tree_freep) json_t *result = NULL;
    if (batchscore_plan(&observed, 1000000, &result, &err) < 0 ||
        !json_is_object(json_object_get(result, "status"))) {
        abort();
    }
    return 0;
}
