// SPDX-License-Identifier: Apache-2.0
/* A controller of DistTrains alone, of all that this version still refuses to carry out, too
 * (not_yet.c): so that what their plan asks for meets a real API server before that.
 *   kube_gang [NAMESPACE]     until SIGTERM; the server is KUBECONFIG's */
#include "operator/control/controller.h"
#include "operator/kinds/disttrain/plan.h"
#include "operator/kinds/disttrain/reconcile.h"
#include "operator/kinds/job/keep.h"
#include "operator/kinds/job/reconcile.h"
#include "operator/kube/kube.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t stopped;

static void on_signal(int number) {
    (void)number;
    stopped = 1;
}

static bool is_hub(const json_t *pod) {
    const char *index = owned_label(pod, LABEL_INDEX);
    return index && strcmp(index, "0") == 0;
}

static int plan(const struct reconcile *request, const struct job_observed *observed,
                json_t **ret_plan, struct error *err) {
    struct disttrain_observed all = {.job = *observed};
    return disttrain_plan(&all, request->wall_ms, ret_plan, err);
}

static int reconcile(void *state, struct reconcile *request, struct error *err) {
    static const struct job_ops ops = {
        .is_hub = is_hub, .plan = plan, .keep_ended = job_keep_ended};
    return job_reconcile(&ops, state, request, err);
}

static void report(void *context, const char *key, const struct error *err, int64_t retry_ms,
                   int failures) {
    (void)context;
    fprintf(stderr, "%s: %s (%d in a row, again in %lld ms)\n", key, err->text, failures,
            (long long)retry_ms);
}

int main(int argc, char **argv) {
    struct job_options jobs = {.agent_image = JOB_AGENT_IMAGE};
    struct kube_options options = {.namespace = argc > 1 ? argv[1] : NULL};
    struct kind kind = disttrain_kind;
    const struct kind *const kinds[] = {&kind, NULL};
    struct cluster *cluster = NULL;
    struct controller *controller = NULL;
    struct error err = {0};
    kind.options = &jobs;
    kind.reconcile = reconcile;
    signal(SIGTERM, on_signal);
    if (kube_open(&options, &cluster, &err) < 0 ||
        controller_new(cluster, kinds, report, NULL, &controller, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 3;
    }
    while (!stopped && controller_step(controller, 200, &err) == 0) {
    }
    controller_free(controller);
    cluster->ops->free(cluster);
    return err.kind ? 3 : 0;
}
