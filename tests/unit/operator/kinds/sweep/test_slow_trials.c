// SPDX-License-Identifier: Apache-2.0
/* A Sweep whose controller loses the answers to the creations of its trials, and whose watch
 * reports them much later, or never: each trial is found by its name, and reconciled. */
#include "operator/kinds/sweep/reconcile.h"

#include "lib/time/clock.h"
#include "operator/control/controller.h"
#include "operator/kinds/disttrain/reconcile.h"
#include "operator/kinds/job/plan.h"
#include "operator/kinds/kinds.h"
#include "tests/unit/operator/kinds/job/local_world.h"

enum { TRIALS = 2, PATIENCE_MS = 60000 };

static const char manifest[] =
    "{apiVersion: windlass.dev/v1beta1, kind: Sweep, metadata: {name: s}, spec: {"
    "objective: {metric: accuracy, goal: Maximize}, algorithm: {kind: Random},"
    "parameters: [{name: X, uniform: {min: '0', max: '1'}}], maxTrials: 2, "
    "maxConcurrentTrials: 2, trial: {workers: 1, image: i, launcher: None, command: [x, $(X)]}}}";
static const char agent[] = "#!/bin/sh\nexec sleep 100\n";

/* The local cluster without the events of trials, and without the answers to the first creations of
 * them. */
struct late {
    struct cluster base;
    struct cluster *inner;
    int losing;
    cluster_listener *listener;
    void *context;
};

struct lost {
    cluster_done *done;
    void *context;
};

static bool is_trial(const json_t *object) {
    return strcmp(tree_text(object, "kind", ""), "DistTrain") == 0;
}

static void on_lost(void *context, const json_t *stored UNUSED, const struct error *err) {
    struct lost *lost = context;
    struct error timeout = {0};
    error_set(&timeout, ERROR_TIMEOUT, "no answer");
    lost->done(lost->context, NULL, err ? err : &timeout);
    free(lost);
}

static void late_write(struct cluster *cluster, enum cluster_verb verb, const json_t *object,
                       cluster_done *done, void *context) {
    struct late *late = (struct late *)cluster;
    if (verb == CLUSTER_CREATE && is_trial(object) && late->losing > 0) {
        struct lost *lost = x_calloc(1, sizeof *lost);
        *lost = (struct lost){done, context};
        late->losing--;
        late->inner->ops->write(late->inner, verb, object, on_lost, lost);
    } else {
        late->inner->ops->write(late->inner, verb, object, done, context);
    }
}

static void late_list(struct cluster *cluster, const json_t *like, const char *fields,
                      cluster_done *done, void *context) {
    struct cluster *inner = ((struct late *)cluster)->inner;
    inner->ops->list(inner, like, fields, done, context);
}

static int late_watch(struct cluster *cluster, const char *api_version, const char *kind,
                      const char *label, bool may_be_absent, struct error *err) {
    struct cluster *inner = ((struct late *)cluster)->inner;
    return inner->ops->watch(inner, api_version, kind, label, may_be_absent, err);
}

static void tell(void *context, enum cluster_event event, const json_t *object) {
    struct late *late = context;
    if (!is_trial(object) || event != CLUSTER_APPLIED) {
        late->listener(late->context, event, object);
    }
}

static int late_wait(struct cluster *cluster, int timeout_ms, cluster_listener *listener,
                     void *context, struct error *err) {
    struct late *late = (struct late *)cluster;
    late->listener = listener;
    late->context = context;
    return late->inner->ops->wait(late->inner, timeout_ms, tell, late, err);
}

static int late_wait_fd(struct cluster *cluster) {
    struct cluster *inner = ((struct late *)cluster)->inner;
    return inner->ops->wait_fd(inner);
}

static const struct cluster_ops late_ops = {.watch = late_watch,
                                            .write = late_write,
                                            .list = late_list,
                                            .wait = late_wait,
                                            .wait_fd = late_wait_fd};

static void report(void *context UNUSED, const char *key UNUSED, const struct error *err,
                   int64_t retry_ms UNUSED, int failures UNUSED) {
    printf("# %s\n", err->text);
}

/* The controller has written its status. */
static bool was_seen(const struct cluster *cluster, int number) {
    AUTO(text_freep) char *name = x_printf("s-%04d", number);
    const json_t *trial = local_find(cluster, "DistTrain", "default", name);
    return tree_get(trial, "status.conditions[0]") != NULL;
}

static void test_trials_without_answer_and_event(void) {
    struct error err = {0};
    struct local_world local;
    local_world_open(&local, agent);
    AUTO(schema_freep) struct schema *train = NULL;
    CHECK_OK(kinds_schema(kinds_find("DistTrain"), &train, &err), &err);
    AUTO(tree_freep) json_t *folders = json_object();
    struct job_options jobs = {.folders = folders};
    struct maker_options sweeps = {.made = train, .jobs = &jobs};
    struct kind of_trials = disttrain_kind, of_sweeps = sweep_kind;
    of_trials.options = &jobs;
    of_trials.schema = train;
    of_sweeps.options = &sweeps;
    const struct kind *const kinds[] = {&of_trials, &of_sweeps, NULL};
    struct late late = {.base = {&late_ops}, .inner = local.cluster, .losing = TRIALS};
    struct controller *controller = NULL;
    CHECK_OK(controller_new(&late.base, kinds, report, NULL, &controller, &err), &err);
    local_world_apply(&local, manifest);
    int64_t end_ms = clock_monotonic_ms() + PATIENCE_MS;
    while (!(was_seen(local.cluster, 0) && was_seen(local.cluster, 1)) &&
           clock_monotonic_ms() < end_ms) {
        CHECK_OK(controller_step(controller, 20, &err), &err);
    }
    CHECK_INT(late.losing, 0);
    CHECK(was_seen(local.cluster, 0) && was_seen(local.cluster, 1));
    controller_free(controller);
    local_world_close(&local);
}

int main(void) {
    TEST(test_trials_without_answer_and_event);
    return TEST_END();
}
