// SPDX-License-Identifier: Apache-2.0
/* A BatchScore through the real controller on the local cluster. The coordinator is a shell script
 * that answers GET /progress with the openssl program and the certificate it was given. */
#include "operator/kinds/batchscore/reconcile.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/kinds/batchscore/plan.h"
#include "operator/local/local.h"
#include "operator/object.h"
#include "operator/resource.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>

static const char manifest[] =
    "{apiVersion: windlass.dev/v1alpha1, kind: BatchScore, metadata: {name: job}, spec: {"
    "input: {video: {path: data/in.mp4}}, scorer: {onnx: {path: data/m.onnx}},"
    "output: {path: data/out}, workers: {max: 2}, volumes: [{name: data, persistentVolumeClaim: "
    "{claimName: data}}]}}";

static const char serving_agent[] =
    "#!/bin/sh\n"
    "[ $1 = score ] && exec sleep 1000\n"
    "umask 077; echo \"$WINDLASS_TLS_CERTIFICATE\" >c.pem; echo \"$WINDLASS_TLS_KEY\" >k.pem\n"
    "if [ -e \"$data/other\" ]; then openssl req -x509 -newkey ec -pkeyopt "
    "ec_paramgen_curve:P-256 -nodes -keyout k.pem -out c.pem -subj /CN=other 2>/dev/null; fi\n"
    "b='{\"state\": \"Running\", \"message\": \"\", \"workers\": 1, \"itemsPerSecond\": \"4.0\","
    " \"secondsLeft\": 3, \"miniBatches\": {\"total\": 3, \"done\": 1, \"failed\": 0, \"retried\": "
    "0}, \"items\": {\"total\": 24, \"done\": 8, \"failed\": 0, \"retried\": 0}'\n"
    "[ -e \"$data/shared\" ] && b=\"$b, \\\"exclusive\\\": false\"; b=\"$b}\"\n"
    "printf 'HTTP/1.0 200 ok\\r\\nContent-Length: %d\\r\\n\\r\\n%s' ${#b} \"$b\" >progress\n"
    "exec openssl s_server -HTTP -quiet -tls1_3 -accept $WINDLASS_BIND -cert c.pem -key k.pem\n";

static struct {
    char folder[64], beside[80];
    struct cluster *cluster;
    struct controller *controller;
    int reports;
} world;

/* batchscore_kind, in a rush or not, as the test sets it. */
static struct kind hurried;
static int64_t overload_ms;

static int reconcile_hurried(void *state, struct reconcile *request, struct error *err) {
    request->overload_ms = overload_ms;
    return batchscore_kind.reconcile(state, request, err);
}

static void report(void *context, const char *key, const struct error *err, int64_t retry_ms,
                   int failures) {
    (void)context, (void)retry_ms, (void)failures;
    printf("# %s: %s\n", key, err->text);
    world.reports++;
}

static void open_world(const char *agent) {
    struct error err = {0};
    memset(&world, 0, sizeof world);
    snprintf(world.folder, sizeof world.folder, "/tmp/windlass-reconcile-XXXXXX");
    CHECK(mkdtemp(world.folder));
    AUTO(text_freep) char *program = file_join(world.folder, "windlass-agent");
    CHECK_OK(file_write(program, agent, strlen(agent), &err), &err);
    CHECK_INT(chmod(program, 0755), 0);
    snprintf(world.beside, sizeof world.beside, "%s/beside", world.folder);
    AUTO(text_freep) char *data = file_join(world.beside, "data");
    CHECK_OK(file_make_folders(data, &err), &err);
    struct local_options options = {
        .places = {.manifest_folder = world.beside, .state_folder = world.folder},
        .threads = 1,
        .program_folder = world.folder};
    static const struct kind *const kinds[] = {&hurried, NULL};
    hurried = batchscore_kind;
    hurried.reconcile = reconcile_hurried;
    CHECK_OK(local_open(&options, &world.cluster, &err), &err);
    CHECK_OK(controller_new(world.cluster, kinds, report, NULL, &world.controller, &err), &err);
    AUTO(tree_freep) json_t *object = NULL;
    CHECK_OK(resource_parse("job.yaml", manifest, sizeof manifest - 1, &object, &err), &err);
    world.cluster->ops->write(world.cluster, CLUSTER_APPLY, object, NULL, NULL);
}

static void close_world(void) {
    struct error err = {0};
    CHECK_INT(world.reports, 0);
    controller_free(world.controller);
    world.cluster->ops->free(world.cluster);
    CHECK_OK(file_remove_tree(world.folder, &err), &err);
}

static const json_t *find(const char *kind, const char *name) {
    return local_find(world.cluster, kind, "default", name);
}

/* Runs the controller until the integer at that path of the job is `wanted`, or for timeout_ms. */
static bool run_until(const char *path, int64_t wanted, int timeout_ms) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + timeout_ms;
    while (tree_integer(find("BatchScore", "job"), path, -1) != wanted) {
        int64_t left_ms = end_ms - clock_monotonic_ms();
        if (left_ms <= 0) {
            return false;
        }
        CHECK_OK(controller_step(world.controller, (int)left_ms, &err), &err);
    }
    return true;
}

/* Runs the controller until that is so, for at most 50 s (shorter than overload_ms of a test). */
static bool run_until_true(bool (*is_so)(void)) {
    enum { STEP_MS = 20, STEPS_MAX = 2500 };
    for (int i = 0; i < STEPS_MAX && !is_so(); i++) {
        run_until("never", 1, STEP_MS);
    }
    return is_so();
}

static bool coordinator_runs(void) {
    const json_t *pod = find("Pod", "job-coordinator-1");
    return strcmp(tree_text(pod, "status.phase", ""), "Running") == 0;
}

static bool pods_run(void) {
    const json_t *worker = find("Pod", "job-worker-0");
    return coordinator_runs() && strcmp(tree_text(worker, "status.phase", ""), "Running") == 0;
}

static void makes_what_a_job_needs(void) {
    open_world("#!/bin/sh\nexec sleep 1000\n");
    CHECK(run_until_true(pods_run));
    const json_t *service = find("Service", "job-coordinator");
    const json_t *annotations = tree_get(service, "metadata.annotations");
    const json_t *sha256 = json_object_get(annotations, ANNOTATION_CERTIFICATE_SHA256);
    CHECK(sha256 && json_string_length(sha256) == 64);
    CHECK_STR(tree_text(service, "metadata.ownerReferences[0].name", NULL), "job");
    CHECK(find("Pod", "job-coordinator-1"));
    CHECK(find("Pod", "job-worker-0"));
    const char *secret = json_string_value(json_object_get(annotations, ANNOTATION_SECRET));
    CHECK(secret && text_starts(secret, "job-") && find("Secret", secret));
    AUTO(tree_freep)
    json_t *kept =
        cache_find(controller_cache(world.controller), "Secret", "default", secret ? secret : "");
    CHECK(!kept); /* made, but never read nor kept */
    /* The pods run, so the Secret that they refer to exists. */
    CHECK_STR(tree_text(find("Pod", "job-worker-0"), "status.phase", NULL), "Running");
    close_world();
}

/* No heartbeat: an unchanged status is not written. */
static void writes_status_only_when_it_changed(void) {
    bool is_kept = false;
    open_world("#!/bin/sh\nexec sleep 1000\n");
    CHECK(run_until_true(pods_run));
    run_until("never", 1, 1500); /* messages follow a condition within a second */
    for (int tries = 0; tries < 10 && !is_kept; tries++) { /* on a busy machine later */
        AUTO(text_freep)
        char *version =
            x_strdup(tree_text(find("BatchScore", "job"), "metadata.resourceVersion", NULL));
        run_until("never", 1, 2500);
        const char *now = tree_text(find("BatchScore", "job"), "metadata.resourceVersion", NULL);
        is_kept = strcmp(now, version) == 0;
    }
    CHECK(is_kept);
    close_world();
}

static const char *reconciling(void) {
    const json_t *job = find("BatchScore", "job");
    return tree_text(object_condition(json_object_get(job, "status"), "Reconciling"), "status", "");
}

static json_t *service_annotations(void) {
    return tree_get(find("Service", "job-coordinator"), "metadata.annotations");
}

static bool words_are_there(void) {
    return strcmp(reconciling(), "False") == 0 &&
           tree_bool(find("BatchScore", "job"), "status.credentials.created", false);
}

/* The pods are made at once, the messages about them come when there is time; so do the Events.
 * Until then the Service has what the job began with, also for another controller. */
static void in_a_rush_words_wait(void) {
    struct error err = {0};
    static const struct kind *const kinds[] = {&hurried, NULL};
    overload_ms = 60000;
    open_world("#!/bin/sh\nexec sleep 1000\n");
    CHECK(run_until_true(pods_run));
    run_until("never", 1, 400);
    CHECK(!tree_get(find("BatchScore", "job"), "status.credentials"));
    CHECK_STR(reconciling(), ""); /* not even that the pods are not requested yet */
    AUTO(tree_freep) json_t *begun = json_deep_copy(service_annotations());
    CHECK(json_object_get(begun, ANNOTATION_SPEC_SNAPSHOT));
    while (controller_pending(world.controller) > 0) { /* no answer may come to the next one */
        CHECK_OK(controller_step(world.controller, 20, &err), &err);
    }
    controller_free(world.controller);
    CHECK_OK(controller_new(world.cluster, kinds, report, NULL, &world.controller, &err), &err);
    overload_ms = 4000;
    run_until("never", 1, 400);
    CHECK(!tree_get(find("BatchScore", "job"), "status.credentials"));
    CHECK(json_equal(begun, service_annotations()));
    CHECK(!find("Pod", "job-coordinator-2"));
    overload_ms = 0;
    CHECK(run_until_true(words_are_there));
    CHECK_STR(reconciling(), "False");
    const json_t *job = find("BatchScore", "job");
    CHECK_STR(tree_text(job, "status.credentials.secret", ""),
              json_string_value(json_object_get(begun, ANNOTATION_SECRET)));
    CHECK(tree_bool(job, "status.credentials.created", false));
    CHECK(tree_get(job, "status.specHash") && tree_get(job, "status.agentImage") &&
          tree_get(job, "status.run"));
    close_world();
}

static bool second_worker_is_there(void) {
    return find("Pod", "job-worker-1") != NULL;
}

static void progress_reaches_the_status_within_2_s(void) {
    bool is_quick = false;
    for (int tries = 0; tries < 8 && !is_quick; tries++) { /* the machine may be busy */
        if (tries) {
            close_world();
        }
        open_world(serving_agent);
        int64_t start_ms = clock_monotonic_ms();
        CHECK(run_until("status.items.done", 8, 50000));
        is_quick = clock_monotonic_ms() - start_ms < 2000;
    }
    CHECK(is_quick);
    const json_t *job = find("BatchScore", "job");
    CHECK_INT(tree_integer(job, "status.items.total", 0), 24);
    CHECK_STR(tree_text(job, "status.conditions[0].reason", NULL), "Running");
    /* Now that there is work for two, there are two. */
    CHECK(run_until_true(second_worker_is_there));
    close_world();
}

/* The coordinator found that its storage cannot keep two coordinators apart: this is written at
 * once. */
static void a_warning_waits_for_no_rush(void) {
    static const bool warned[] = {false, true};
    overload_ms = 60000;
    for (size_t i = 0; i < ARRAY_LEN(warned); i++) {
        struct error err = {0};
        open_world(serving_agent);
        AUTO(text_freep) char *mark = x_printf("%s/beside/data/shared", world.folder);
        if (warned[i]) {
            CHECK_OK(file_write(mark, "", 0, &err), &err);
        }
        CHECK_INT(run_until("status.items.done", 8, warned[i] ? 50000 : 2500), warned[i]);
        const json_t *job = find("BatchScore", "job");
        CHECK_INT(json_is_false(tree_get(job, "status.exclusive")), warned[i]);
        CHECK_INT(tree_get(job, "status.credentials.secret") != NULL, warned[i]);
        close_world();
    }
    overload_ms = 0;
}

static bool input_is_invalid(void) {
    const json_t *job = find("BatchScore", "job");
    return strcmp(tree_text(job, "status.conditions[0].reason", ""), "InputInvalid") == 0;
}

static void the_end_waits_for_no_rush(void) {
    overload_ms = 60000;
    open_world("#!/bin/sh\nexit 2\n");
    CHECK(run_until_true(input_is_invalid));
    close_world();
    overload_ms = 0;
}

/* A server with another certificate is not the coordinator, whatever it answers. */
static void another_certificate_is_not_believed(void) {
    open_world(serving_agent);
    struct error err = {0};
    AUTO(text_freep) char *mark = x_printf("%s/beside/data/other", world.folder);
    CHECK_OK(file_write(mark, "", 0, &err), &err);
    CHECK(!run_until("status.items.done", 8, 2500));
    CHECK(run_until_true(coordinator_runs));
    close_world();
}

static bool has_two_pods(void) {
    return local_pod_count(world.cluster) == 2;
}

static bool has_no_pods(void) {
    return local_pod_count(world.cluster) == 0;
}

static bool is_empty(void) {
    return has_no_pods() && !find("BatchScore", "job") && !find("Pod", "job-worker-0") &&
           !find("Service", "job-coordinator");
}

static void everything_goes_with_the_job(void) {
    open_world("#!/bin/sh\nexec sleep 1000\n");
    CHECK(run_until_true(has_two_pods));
    world.cluster->ops->write(world.cluster, CLUSTER_DELETE, find("BatchScore", "job"), NULL, NULL);
    CHECK(run_until_true(is_empty));
    close_world();
}

/* A finalizer of somebody else keeps the object, and with it, for the cluster, all that it owns. */
static void the_pods_of_a_kept_job_go(void) {
    static const char *const finalizers[] = {"example.com/held", "orphan"};
    for (size_t i = 0; i < ARRAY_LEN(finalizers); i++) {
        open_world("#!/bin/sh\nexec sleep 1000\n");
        CHECK(run_until_true(has_two_pods));
        AUTO(tree_freep)
        json_t *deleted =
            json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:[s]}}", "apiVersion", "windlass.dev/v1alpha1",
                      "kind", "BatchScore", "metadata", "name", "job", "namespace", "default",
                      "deletionTimestamp", "2026-11-21T04:00:00Z", "finalizers", finalizers[i]);
        world.cluster->ops->write(world.cluster, CLUSTER_APPLY, deleted, NULL, NULL);
        run_until("never", 1, 500);
        CHECK(i == 0 ? run_until_true(has_no_pods) : has_two_pods());
        CHECK(find("BatchScore", "job"));
        close_world();
    }
}

int main(void) {
    TEST(makes_what_a_job_needs);
    TEST(writes_status_only_when_it_changed);
    TEST(in_a_rush_words_wait);
    TEST(the_end_waits_for_no_rush);
    if (system("openssl version >/dev/null") == 0) {
        TEST(progress_reaches_the_status_within_2_s);
        TEST(a_warning_waits_for_no_rush);
        TEST(another_certificate_is_not_believed);
    } else {
        printf("skip progress_reaches_the_status_within_2_s: no openssl program\n");
    }
    TEST(everything_goes_with_the_job);
    TEST(the_pods_of_a_kept_job_go);
    return TEST_END();
}
