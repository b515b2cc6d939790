// SPDX-License-Identifier: Apache-2.0
/* A hub that may start nothing, only finish what an earlier one left. */
#include "operator/kinds/disttrain/plan_gang.h"

#include <stdlib.h>
#include <string.h>

enum { FINISHES_MAX = 3 /* pods in a row that die of themselves, by what they read or by kills */ };

int disttrain_finishes(const struct pod_phase *phase) {
    const char *text = owned_annotation(phase->pod, ANNOTATION_FINISHES);
    long number = text ? strtol(text, NULL, 10) : 0;
    return (int)MIN(MAX(number, 0L), (long)FINISHES_MAX);
}

bool disttrain_may_finish(const struct disttrain_plan *gang) {
    const struct pod_phase *hub = gang->hub;
    const json_t *outputs = tree_get(gang->job.observed->object, "spec.outputs");
    bool has_place = !gang->spec.command || json_array_size(outputs) > 0;
    /* Its agent may be older, a trainer's own image or one of an earlier controller's: it would not
     * know WINDLASS_FINISHES, and start the gang once more. */
    if (gang->spec.job.is_image_given || gang->spec.job.is_image_older) {
        return false;
    }
    return has_place && !hub->never_started && disttrain_finishes(hub) < FINISHES_MAX;
}

bool disttrain_check_failed(const struct disttrain_plan *gang) {
    const struct pod_phase *hub = gang->hub;
    return hub && hub->stage == POD_PHASE_DEAD && disttrain_finishes(hub) > 0 &&
           strcmp(tree_text(gang->job.progress, "reason", ""), "NothingToFinish") == 0;
}

const struct pod_phase *disttrain_previous_hub(const struct disttrain_plan *gang) {
    const struct pod_phase *before = NULL;
    for (size_t i = 0; i < gang->job.phase_count; i++) {
        const struct pod_phase *phase = &gang->job.phases[i];
        if (disttrain_is_hub(phase) && disttrain_finishes(phase) == 0 &&
            disttrain_has_failed(phase) && (!before || phase->attempt > before->attempt)) {
            before = phase;
        }
    }
    return before ? before : gang->hub;
}
