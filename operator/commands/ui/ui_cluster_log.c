// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_cluster_log.h"

#include "operator/commands/ui/ui_log_lines.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/object.h"

#include <string.h>

/* The kubelet begins LINES_MAX lines before the end, and stops at ANSWER_MAX bytes: that must be
 * behind the last line. */
enum { LINES_MAX = 300, ANSWER_MAX = 1 << 20 };

/* The pods are sorted by place and attempt (remote_pods). */
static bool is_newest(const json_t *pods, size_t at) {
    const json_t *next = json_array_get(pods, at + 1);
    struct pod_phase phase = pod_phase_read(json_array_get(pods, at));
    return !next || pod_phase_read(next).index != phase.index;
}

static json_t *read_log(struct remote *remote, const json_t *pod, const char *job,
                        struct error *ret_err) {
    const char *name = tree_text(pod, "metadata.name", "");
    const char *container =
        tree_text(object_agent(tree_get(pod, "spec.containers")), "name", "agent");
    const struct rest_place place = {
        .api_version = "v1", .kind = "Pod", .name = name, .part = "log"};
    AUTO(text_freep)
    char *query =
        x_printf("container=%s&tailLines=%d&limitBytes=%d", container, LINES_MAX, ANSWER_MAX);
    AUTO(text_freep) char *text = NULL;
    const char *shown =
        remote_text(remote, &place, query, ANSWER_MAX, &text, ret_err) < 0 ? ret_err->text : text;
    size_t size = strlen(shown), kept = MIN(size, UI_LOG_BYTES_MAX);
    return ui_log_lines(remote_short_name(name, job), shown + size - kept, kept, kept < size);
}

int ui_cluster_log(struct remote *remote, const char *job, json_t **ret_logs, struct error *err) {
    AUTO(tree_freep) json_t *pods = NULL;
    if (remote_pods(remote, job, &pods, err) < 0) {
        return -1;
    }
    *ret_logs = json_array();
    struct error failure = {0};
    for (size_t i = 0; i < json_array_size(pods) && failure.kind != ERROR_TIMEOUT; i++) {
        const json_t *pod = json_array_get(pods, i);
        bool has_log =
            pod_phase_agent_state(pod, "running") || pod_phase_agent_state(pod, "terminated");
        if (has_log && is_newest(pods, i) && json_array_size(*ret_logs) < UI_LOG_PODS_MAX) {
            error_clear(&failure);
            json_array_append_new(*ret_logs, read_log(remote, pod, job, &failure));
        }
    }
    return 0;
}
