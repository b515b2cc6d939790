// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/local_run.h"

#include "operator/kinds/sweep/show/sweep_facts.h"

#include <stdio.h>
#include <stdlib.h>

int64_t sweep_fit(json_t *spec, int64_t asked, int processors) {
    json_t *trial = json_object_get(spec, "trial");
    int64_t processes = asked == KIND_UNSET ? processors : asked;
    bool is_varied = json_is_string(json_object_get(trial, "workers")); /* $(WORKERS) */
    int64_t workers = is_varied ? processes : MAX(tree_integer(trial, "workers", 0), (int64_t)1);
    int64_t trials = MIN(MAX(processes / MAX(workers, (int64_t)1), (int64_t)1),
                         tree_integer(spec, "maxConcurrentTrials", -1));
    json_object_set_new(spec, "maxConcurrentTrials", json_integer(trials));
    json_object_set_new(trial, "ttlSecondsAfterFinished", json_integer(INT32_MAX));
    return trials * workers;
}

static const struct ending_advice advices[] = {
    {"ObjectiveMissing", "set spec.objective.metric to a metric that the trials report", 1, false,
     true},
    {"TrialsFailed", "correct what the trial reports and run again", 1, false, true},
    {"TrialsFailAlike", "correct the cause that all trials have in common and run again", 1, false,
     true},
    {"TooManyFailures", "correct what the trial reports and run again", 1, false, true},
    {"RegisterFailed",
     "correct the cause that kept the model from being copied and run again, or copy it", 1, false,
     false},
    {NULL, NULL, 0, false, false},
};

const struct ending_kind sweep_ending = {.advices = advices};

/* Its progress is "3/40"; failures are part of the detail. */
void sweep_read_numbers(const json_t *status, struct progress_numbers *numbers) {
    if (!tree_get(status, "trials")) {
        return;
    }
    const char *progress = tree_text(status, "progress", "");
    const char *best = tree_text(status, "best.value", NULL); /* NULL: none completed */
    if (sscanf(progress, "%lld/%lld", &numbers->done, &numbers->total) != 2) {
        numbers->done = numbers->total = 0;
    }
    numbers->failed = tree_integer(status, "trials.failed", 0);
    numbers->has_failed = true;
    long long running = tree_integer(status, "trials.running", 0);
    long long stopped = tree_integer(status, "trials.stopped", 0);
    char ended[2][40] = {"", ""}, which[160] = "";
    if (stopped > 0) {
        snprintf(ended[0], sizeof ended[0], ", %lld stopped", stopped);
    }
    if (numbers->failed > 0) {
        snprintf(ended[1], sizeof ended[1], ", %lld failed", numbers->failed);
    }
    if (best) {
        snprintf(which, sizeof which, ", best %.40s (%.80s)", best,
                 tree_text(status, "best.trial", ""));
        snprintf(numbers->best, sizeof numbers->best, "best %.40s", best);
    }
    snprintf(numbers->detail, sizeof numbers->detail, ", %lld run%s%s%s%s", running,
             running == 1 ? "s" : "", ended[0], ended[1], which);
}

int sweep_made_table(const json_t *job, const json_t *made, int width, char **ret_text,
                     struct error *err) {
    AUTO(sweep_view_freep) struct sweep_view *view = NULL;
    *ret_text = NULL;
    if (sweep_view_new(job, made, &view, err) < 0) {
        return -1;
    }
    if (sweep_view_facts(view)->trial_count > 0) {
        *ret_text = sweep_table(sweep_view_facts(view), width);
    }
    return 0;
}

int sweep_made_page(const json_t *job, const json_t *made, char **ret_html, struct error *err) {
    AUTO(sweep_view_freep) struct sweep_view *view = NULL;
    return sweep_view_new(job, made, &view, err) < 0
               ? -1
               : sweep_html(sweep_view_facts(view), ret_html, err);
}

json_t *sweep_made_tree(const json_t *job, const json_t *made) {
    AUTO(sweep_view_freep) struct sweep_view *view = NULL;
    struct error ignored = {0};
    return sweep_view_new(job, made, &view, &ignored) < 0 ? NULL
                                                          : sweep_tree(sweep_view_facts(view));
}

char *sweep_failed_pod(const json_t *job, const json_t *made) {
    AUTO(sweep_view_freep) struct sweep_view *view = NULL;
    struct error ignored = {0};
    if (sweep_view_new(job, made, &view, &ignored) < 0) {
        return NULL;
    }
    const struct sweep_trial *failed = sweep_view_failed(view);
    return failed ? x_printf("%s-0", failed->name) : NULL;
}
