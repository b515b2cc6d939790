// SPDX-License-Identifier: Apache-2.0
/* Somebody changes what the Service of a job selects, and adds to it: that is put right, and the
 * job's pods stay. */
#include "operator/kinds/batchscore/reconcile.h"

#include "lib/time/clock.h"
#include "operator/control/controller.h"
#include "tests/unit/operator/kinds/job/local_world.h"

static const char manifest[] =
    "{apiVersion: windlass.dev/v1alpha1, kind: BatchScore, metadata: {name: job}, spec: {"
    "input: {video: {path: data/in.mp4}}, scorer: {onnx: {path: data/m.onnx}},"
    "output: {path: data/out}, workers: {min: 1, max: 1}, volumes: [{name: data, "
    "persistentVolumeClaim: {claimName: films}}]}}";
static const char agent[] = "#!/bin/sh\nexec sleep 100\n";

static struct local_world world;
static struct controller *controller;

static void report(void *context, const char *key, const struct error *err, int64_t retry_ms,
                   int failures) {
    (void)context, (void)key, (void)retry_ms, (void)failures;
    printf("# %s\n", err->text);
}

static const json_t *find(const char *kind, const char *name) {
    return local_find(world.cluster, kind, "default", name);
}

/* For at most 60 s. */
static bool run_until(bool (*is_so)(void)) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + 60000;
    while (!is_so() && clock_monotonic_ms() < end_ms) {
        CHECK_OK(controller_step(controller, 20, &err), &err);
    }
    return is_so();
}

static bool has_worker(void) {
    return find("Pod", "job-worker-0") != NULL;
}

static const json_t *selector(void) {
    return tree_get(find("Service", "job-coordinator"), "spec.selector");
}

static bool is_changed(void) {
    return json_object_get(selector(), "app") != NULL;
}

static bool is_right(void) {
    AUTO(tree_freep)
    json_t *wanted = json_pack("{s:s, s:s}", LABEL_JOB, "job", LABEL_ROLE, "coordinator");
    return selector() && json_equal(selector(), wanted);
}

static void test_it_is_put_right(void) {
    static const struct kind *const kinds[] = {&batchscore_kind, NULL};
    struct error err = {0};
    local_world_open(&world, agent);
    CHECK_OK(controller_new(world.cluster, kinds, report, NULL, &controller, &err), &err);
    local_world_apply(&world, manifest);
    CHECK(run_until(has_worker));
    CHECK(is_right());
    AUTO(text_freep)
    char *uid = x_strdup(tree_text(find("Pod", "job-worker-0"), "metadata.uid", ""));
    AUTO(tree_freep)
    json_t *change = json_pack("{s:s, s:s, s:{s:s}, s:{s:{s:s, s:s}}}", "apiVersion", "v1", "kind",
                               "Service", "metadata", "name", "job-coordinator", "spec", "selector",
                               LABEL_JOB, "other", "app", "x");
    world.cluster->ops->write(world.cluster, CLUSTER_MERGE, change, NULL, NULL);
    CHECK(run_until(is_changed));
    CHECK(run_until(is_right));
    CHECK_STR(tree_text(find("Pod", "job-worker-0"), "metadata.uid", ""), uid);
    CHECK(!find("Pod", "job-worker-0-2") && !find("Service", "job-coordinator-b"));
    controller_free(controller);
    local_world_close(&world);
}

int main(void) {
    TEST(test_it_is_put_right);
    return TEST_END();
}
