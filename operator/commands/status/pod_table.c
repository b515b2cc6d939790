// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/status/pod_table.h"

#include "lib/time/clock.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/object.h"
#include "operator/show/text_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PODS_SHOWN_MAX = 40 };

static const char *const stage_names[] = {
    [POD_PHASE_WAITING] = "Waiting", [POD_PHASE_RUNNING] = "Running",
    [POD_PHASE_LEAVING] = "Leaving", [POD_PHASE_SUCCEEDED] = "Succeeded",
    [POD_PHASE_DEAD] = "Failed",
};

/* The remedy for each reason of a pod. %s: the pod. */
static const struct advice {
    const char *reason, *text;
} advices[] = {
    {"ErrImagePull", "check spec.image and imagePullSecrets: can a node pull that image?"},
    {"ImagePullBackOff", "check spec.image and imagePullSecrets: can a node pull that image?"},
    {"InvalidImageName", "correct spec.image"},
    {"Unschedulable", "the scheduler finds no node with room: kubectl describe pod %s"},
    {"OOMKilled", "raise resources.limits.memory of the workers"},
    {"CreateContainerConfigError", "a Secret or a ConfigMap is missing: kubectl describe pod %s"},
    {"ContainerCreating", "a volume may not mount: windlass events shows it"},
};

static void add_pod(struct text_table *table, const json_t *pod, int64_t now_ms) {
    struct pod_phase phase = pod_phase_read(pod);
    char age[32];
    text_table_age(object_age_ms(pod, now_ms), age);
    const char *reason =
        phase.stage == POD_PHASE_RUNNING || phase.stage == POD_PHASE_SUCCEEDED ? "" : phase.reason;
    const char *message = *reason || phase.stage == POD_PHASE_DEAD ? phase.message : "";
    AUTO(text_freep)
    char *why = x_printf("%s%s%.300s", reason, *reason && *message ? ": " : "",
                         *message == '{' ? "" : message);
    const char *const cells[] = {phase.name, stage_names[phase.stage], age,
                                 tree_text(pod, "spec.nodeName", ""), why};
    text_table_add(table, cells, ARRAY_LEN(cells));
}

/* One line for each different reason, for the first pod that has it. */
static void print_advice(const json_t *pods, const char *job) {
    bool printed[ARRAY_LEN(advices)] = {false}, printed_log = false;
    size_t i;
    json_t *pod;
    json_array_foreach(pods, i, pod) {
        struct pod_phase phase = pod_phase_read(pod);
        if (phase.stage != POD_PHASE_WAITING && phase.stage != POD_PHASE_DEAD) {
            continue;
        }
        size_t row = 0;
        while (row < ARRAY_LEN(advices) && strcmp(advices[row].reason, phase.reason) != 0) {
            row++;
        }
        if (row < ARRAY_LEN(advices) && !printed[row]) {
            AUTO(text_freep) char *text = x_strdup(advices[row].text);
            char *mark = strstr(text, "%s");
            printf("  next: %.*s%s%s\n", mark ? (int)(mark - text) : (int)strlen(text), text,
                   mark ? phase.name : "", mark ? mark + 2 : "");
            printed[row] = true;
        } else if (row == ARRAY_LEN(advices) && phase.stage == POD_PHASE_DEAD && !printed_log) {
            printf("  next: windlass logs %s --previous\n", job);
            printed_log = true;
        }
    }
}

void pod_table_print(const json_t *pods, const char *job) {
    if (json_array_size(pods) == 0) {
        return;
    }
    static const char *const head[] = {"POD", "STATE", "AGE", "NODE", "WHY"};
    struct text_table *table = text_table_new();
    text_table_add(table, head, ARRAY_LEN(head));
    int64_t now_ms = clock_wall_ms();
    for (size_t i = 0; i < json_array_size(pods) && i < PODS_SHOWN_MAX; i++) {
        add_pod(table, json_array_get(pods, i), now_ms);
    }
    AUTO(text_freep) char *text = text_table_format(table, "  ", text_table_width());
    printf("\n%s", text);
    text_table_free(table);
    if (json_array_size(pods) > PODS_SHOWN_MAX) {
        printf("  and %zu more\n", json_array_size(pods) - PODS_SHOWN_MAX);
    }
    print_advice(pods, job);
}
