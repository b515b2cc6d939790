// SPDX-License-Identifier: Apache-2.0
/* Two controllers that both believe they lead, on one API server, in stepped time: the jobs begin,
 * each place has one pod, and the two do not undo each other's work for ever. */
#include "lib/file.h"
#include "operator/control/controller.h"
#include "operator/kinds/job/guard/network_policy.h"
#include "operator/kinds/kinds.h"
#include "operator/kube/kube.h"
#include "operator/resource.h"
#include "tests/kube/api_double.h"
#include "tests/kube/stepped_clock.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

enum {
    JOBS = 10,
    PODS = 3,       /* of a job: a coordinator and two workers */
    SETTLE_S = 240, /* the losers' delays are at their longest by then */
    PER_JOB_MINUTE = 6,
    STEPS_MAX = 2000, /* without time passing: two that answer each other at once */
};

static const char manifest[] =
    "apiVersion: windlass.dev/v1alpha1\nkind: BatchScore\nmetadata: {name: job-%d}\nspec:\n"
    "  input: {files: {path: data/in}}\n"
    "  scorer: {onnx: {path: data/model.onnx, postprocess: {type: Classes}}}\n"
    "  output: {path: data/out-%d, mode: AppendRow}\n  workers: {min: 2, max: 2}\n"
    "  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]\n";

struct leader {
    struct cluster *cluster;
    struct kind_set *kinds;
    struct controller *controller; /* NULL: it does not run */
};

static struct api_double *api;
static struct leader leaders[2];

static bool never(void *c UNUSED, struct api_double *a UNUSED, const struct api_request *r UNUSED) {
    return false;
}

static void report(void *context UNUSED, const char *key UNUSED, const struct error *err UNUSED,
                   int64_t retry_ms UNUSED, int failures UNUSED) {
}

static void start(struct leader *leader) {
    static const struct network_policy_options policy = {0};
    static const struct job_options jobs = {.network_policy = &policy};
    struct error err = {0};
    char path[] = "/tmp/test-split-XXXXXX";
    int fd = mkstemp(path);
    AUTO(text_freep)
    char *text = x_printf("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                          "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:%d\"}}]\n"
                          "users: [{name: u, user: {token: t}}]\n"
                          "contexts: [{name: c, context: {cluster: c, user: u}}]\n",
                          script_server_port(api_double_server(api)));
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
    struct kube_options options = {.config.kubeconfig = path, .skips_answered = true};
    CHECK_OK(kube_open(&options, &leader->cluster, &err), &err);
    CHECK_OK(kind_set_new(NULL, &jobs, &leader->kinds, &err), &err);
    CHECK_OK(controller_new(leader->cluster, kind_set_kinds(leader->kinds), report, NULL,
                            &leader->controller, &err),
             &err);
    unlink(path);
    close(fd);
}

static void stop(struct leader *leader) {
    if (leader->controller) {
        controller_free(leader->controller);
        leader->cluster->ops->free(leader->cluster);
        kind_set_free(leader->kinds);
        *leader = (struct leader){0};
    }
}

static void put_jobs(void) {
    for (int i = 0; i < JOBS; i++) {
        struct error err = {0};
        json_t *object = NULL;
        AUTO(text_freep) char *text = x_printf(manifest, i, i);
        CHECK_OK(resource_parse("job", text, strlen(text), &object, &err), &err);
        json_object_set_new(json_object_get(object, "metadata"), "generation", json_integer(1));
        api_double_put(api, "batchscores", object);
    }
}

static void settle(void) {
    struct error err = {0};
    for (int quiet = 0, steps = 0; quiet < 6 && steps < STEPS_MAX; quiet++, steps++) {
        bool any = script_server_poll(api_double_server(api));
        for (size_t i = 0; i < ARRAY_LEN(leaders); i++) {
            if (leaders[i].controller) {
                CHECK_OK(controller_step(leaders[i].controller, 0, &err), &err);
                any |= controller_idle_ms(leaders[i].controller) == 0;
            }
        }
        quiet = any ? 0 : quiet;
    }
}

/* The kubelets: every pod that is there runs. */
static void run_pods(void) {
    const char *name;
    json_t *pod;
    void *next;
    json_object_foreach_safe(api_double_all(api, "pods"), next, name, pod) {
        if (!tree_get(pod, "status.phase")) {
            json_t *copy = json_deep_copy(pod);
            json_object_set_new(copy, "status",
                                json_pack("{s:s, s:[{s:s, s:{s:{}}}]}", "phase", "Running",
                                          "containerStatuses", "name", "agent", "state",
                                          "running"));
            api_double_put(api, "pods", copy);
        }
    }
}

/* Until the next thing is due, for at most left_ms. */
static void advance(int64_t left_ms) {
    int64_t next_ms = stepped_clock_next_ms();
    next_ms = next_ms < 0 ? left_ms : next_ms;
    for (size_t i = 0; i < ARRAY_LEN(leaders); i++) {
        if (leaders[i].controller) {
            next_ms = MIN(next_ms, controller_idle_ms(leaders[i].controller));
        }
    }
    stepped_clock_advance(MIN(MAX(next_ms, 1), left_ms));
    settle();
}

static void run(int seconds) {
    for (int second = 0; second < seconds; second++) {
        int64_t end_ms = stepped_clock_ms() + 1000, left_ms;
        settle();
        while ((left_ms = end_ms - stepped_clock_ms()) > 0) {
            advance(left_ms);
        }
        run_pods();
    }
}

/* Requests so far but for lists and watches; of one verb: those. */
static int requests(const char *verb) {
    const char *what;
    json_t *count;
    int sum = 0;
    json_object_foreach((json_t *)(uintptr_t)api_double_counts(api), what, count) {
        bool is_watching = strncmp(what, "watch", 5) == 0 || strncmp(what, "list", 4) == 0;
        if (verb ? strncmp(what, verb, strlen(verb)) == 0 : !is_watching) {
            sum += (int)json_integer_value(count);
        }
    }
    return sum;
}

static const char *secret_of(const json_t *pod) {
    const json_t *annotations = tree_get(pod, "metadata.annotations");
    return json_string_value(json_object_get(annotations, "windlass.dev/secret")) ?: "";
}

/* Each job has its pods, one for each place, of the Secret that its status names. */
static void check_pods(void) {
    const char *name;
    json_t *pod;
    CHECK_INT(json_object_size(api_double_all(api, "pods")), JOBS * PODS);
    json_object_foreach(api_double_all(api, "pods"), name, pod) {
        const char *job = tree_text(pod, "metadata.ownerReferences[0].name", "");
        const json_t *owner = api_double_find(api, "batchscores", job);
        CHECK_STR(secret_of(pod), tree_text(owner, "status.credentials.secret", "none"));
    }
}

/* Nothing goes on between the two. */
static void check_quiet(const char *what) {
    int before = requests(NULL), deleted = requests("delete");
    run(60);
    printf("# %s: %d requests in a minute, %d deletions before\n", what, requests(NULL) - before,
           deleted);
    CHECK(requests(NULL) - before <= PER_JOB_MINUTE * JOBS);
    CHECK_INT(requests("delete"), deleted);
}

static void test_both_begin_the_jobs(void) {
    api = api_double_new(never, NULL);
    start(&leaders[0]);
    start(&leaders[1]);
    run(5);
    put_jobs();
    run(SETTLE_S);
    check_quiet("both began");
    check_pods();
    stop(&leaders[1]);
    check_quiet("one is left");
    check_pods();
    stop(&leaders[0]);
    api_double_free(api);
}

/* The jobs run when a second leader comes: it finds them as they are. */
static void test_a_second_leader_changes_nothing(void) {
    api = api_double_new(never, NULL);
    start(&leaders[0]);
    put_jobs();
    run(60);
    check_pods();
    int created = requests("create pods"), deleted = requests("delete");
    start(&leaders[1]);
    run(120);
    CHECK_INT(requests("create pods"), created);
    CHECK_INT(requests("delete"), deleted);
    stop(&leaders[0]);
    run(60);
    CHECK_INT(requests("create pods"), created);
    CHECK_INT(requests("delete"), deleted);
    check_pods();
    stop(&leaders[1]);
    api_double_free(api);
}

int main(void) {
    TEST(test_both_begin_the_jobs);
    TEST(test_a_second_leader_changes_nothing);
    return TEST_END();
}
