// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/reconcile/mounts.h"

#include "operator/kinds/job/waiting.h"

#include <string.h>

enum { MOUNTS_EVERY_MS = 30000 };

void job_mounts_query(struct reconcile *request, struct job_mounts *mounts, const json_t *pods) {
    size_t i;
    json_t *pod;
    json_array_foreach(pods, i, pod) {
        int64_t due_ms = mounts->asked_ms + MOUNTS_EVERY_MS;
        struct pod_phase phase = pod_phase_read(pod);
        if (!waiting_is_for_mounts(&phase, request->wall_ms)) {
            continue;
        }
        if (mounts->asked > 0 && !reconcile_may_retry(request, due_ms, mounts->asked)) {
            return;
        }
        AUTO(text_freep)
        char *fields =
            x_printf("involvedObject.uid=%s,type=Warning", tree_text(pod, "metadata.uid", ""));
        AUTO(tree_freep)
        json_t *like = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "Event",
                                 "metadata", "namespace", request->namespace);
        if (reconcile_list(request, like, fields)) {
            mounts->asked++;
            mounts->asked_ms = request->monotonic_ms;
        }
        return;
    }
}

void job_mounts_note(struct job_mounts *mounts, const json_t *list) {
    static const char *const reasons[] = {"FailedMount", "FailedAttachVolume", "FailedMapVolume"};
    const char *last = "";
    size_t i;
    json_t *event;
    json_array_foreach(json_object_get(list, "items"), i, event) {
        const char *time = tree_text(event, "lastTimestamp", "");
        for (size_t k = 0; k < ARRAY_LEN(reasons); k++) {
            if (strcmp(tree_text(event, "reason", ""), reasons[k]) == 0 &&
                strcmp(time, last) >= 0) {
                last = time;
                json_decref(mounts->messages);
                mounts->messages = json_pack("{s:s}", tree_text(event, "involvedObject.name", ""),
                                             tree_text(event, "message", ""));
            }
        }
    }
}
