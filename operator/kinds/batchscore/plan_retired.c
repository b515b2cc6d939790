// SPDX-License-Identifier: Apache-2.0
/* Slots of workers that are given up: rows of the status, Events, and the job's message. */
#include "operator/kinds/batchscore/plan_pods.h"
#include "operator/kinds/job/plan_phases.h"

#include <string.h>

enum { ROWS_MAX = 16, CAUSE_MAX = 300 };

/* The status has it. */
static bool is_known(const struct batchscore_plan *plan, const char *pod) {
    return tree_find(tree_get(plan->job.observed->object, "status.retired"), "pod", pod) != NULL;
}

void batchscore_retire(struct batchscore_plan *plan, int index, const struct pod_phase *newest,
                       int deaths) {
    plan->retired_count++;
    if (json_array_size(plan->retired) >= ROWS_MAX) {
        return;
    }
    AUTO(text_freep) char *words = job_plan_find_message(newest);
    struct conditions clean; /* one bounded line of UTF-8 */
    conditions_set(&clean, CONDITIONS_UNDER_WAY, "", "%.*s", CAUSE_MAX, words ? words : "");
    json_array_append_new(plan->retired,
                          json_pack("{s:i, s:s, s:i, s:i, s:s*, s:s*}", "slot", index, "pod",
                                    newest->name, "deaths", deaths, "exitCode", newest->exit_code,
                                    "reason", *newest->reason ? newest->reason : NULL, "message",
                                    words ? clean.message : NULL));
    if (!is_known(plan, newest->name)) {
        job_plan_report(&plan->job, "Warning", "WorkerRetired",
                        "slot %d of the workers is given up after %d deaths in a row without a "
                        "finished mini-batch; pod %.80s ended with exit code %d%s%.40s%s%.300s",
                        index, deaths, newest->name, newest->exit_code, *newest->reason ? ", " : "",
                        newest->reason, words ? ": " : "", clean.message);
    }
}

void batchscore_report_retired(struct batchscore_plan *plan) {
    struct conditions *conditions = &plan->job.conditions;
    const json_t *first = json_array_get(plan->retired, 0);
    if (!first || strcmp(conditions->reason, "Running") != 0 ||
        strstr(conditions->message, "workers retired")) {
        return;
    }
    AUTO(text_freep) char *message = x_strdup(conditions->message);
    conditions_set(conditions, CONDITIONS_UNDER_WAY, "Running",
                   "%.200s; %d of %d workers retired: pod %.80s, exit code %lld: %.200s", message,
                   plan->retired_count, plan->spec.workers_max, tree_text(first, "pod", ""),
                   (long long)tree_integer(first, "exitCode", 0),
                   tree_text(first, "message", tree_text(first, "reason", "")));
}

void batchscore_report_worker(const struct pod_phase *before, int deaths, int most, json_t *pod) {
    AUTO(text_freep) char *count = x_printf("%d/%d", deaths, most);
    AUTO(text_freep) char *words = job_plan_find_message(before);
    AUTO(text_freep)
    char *text = before->exit_code < 0 ? x_strdup("it was removed")
                                       : x_printf("exit code %d%s%.40s%s%.300s", before->exit_code,
                                                  *before->reason ? ", " : "", before->reason,
                                                  words ? ": " : "", words ? words : "");
    batchscore_add_text(pod, "WINDLASS_DEATHS", count);
    batchscore_add_text(pod, "WINDLASS_BEFORE", text);
}

void batchscore_report_coordinator(const struct batchscore_plan *plan, json_t *pod) {
    const json_t *rows = tree_get(plan->job.observed->object, "status.retired");
    if (json_array_size(rows) > 0) {
        AUTO(text_freep) char *text = tree_canonical(rows);
        batchscore_add_text(pod, "WINDLASS_RETIRED", text);
    }
}
