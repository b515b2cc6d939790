// SPDX-License-Identifier: Apache-2.0
/* How much is asked when things happen beside what is stuck: conflicts in another namespace,
 * reports of running trials, the election. As test_asking.c, in stepped time. */
#include "operator/kube/elector.h"
#include "tests/seed.h"
#include "tests/unit/operator/asking_world.h"

#include <string.h>

enum { BEGIN_S = 120, PACE = 48 /* tries a minute, of all together */ };

/* Of stepped time. Under sanitizers less, in a soak more. */
static int minutes_of_each(void) {
    return getenv("SOAK_ROUNDS") ? 8 : MAX(4 / (int)test_divisor(), 2);
}

#define VOLUMES "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"
#define BATCH(name)                                                                                \
    "apiVersion: windlass.dev/v1beta1\nkind: BatchScore\nmetadata: {name: " name "-n0n}\nspec:\n"  \
    "  input: {files: {path: data/in}}\n"                                                          \
    "  scorer: {onnx: {path: data/model.onnx, postprocess: {type: Classes}}}\n"                    \
    "  output: {path: data/out-n0n, mode: AppendRow}\n"                                            \
    "  workers: {min: 2, max: 2}\n  " VOLUMES "\n"

static const char sweep[] =
    "apiVersion: windlass.dev/v1beta1\nkind: Sweep\nmetadata: {name: busy}\nspec:\n"
    "  objective: {metric: loss, goal: Minimize}\n"
    "  parameters: [{name: RATE, uniform: {min: \"0.1\", max: \"0.2\"}}]\n"
    "  algorithm: {kind: Random}\n  maxTrials: 6\n  maxConcurrentTrials: 6\n  trial:\n"
    "    workers: 1\n    image: example.com/me:1\n    command: [train, $(RATE)]\n    " VOLUMES "\n";

static int tries, patches;
static bool is_allowed;

static bool is_quota(const struct api_request *request) {
    if (strcmp(request->verb, "create") == 0 && strcmp(request->plural, "pods") == 0 &&
        strcmp(request->namespace, "stuck") == 0) {
        tries++;
        api_double_refuse(request, 403, "Forbidden", "pods is forbidden: exceeded quota: q");
        return true;
    }
    return false;
}

static bool never(void *c UNUSED, struct api_double *a UNUSED, const struct api_request *r UNUSED) {
    return false;
}

/* In one namespace a quota holds all pods back; in another somebody writes the jobs, too, so that
 * every other status is refused once. */
static bool conflicts(void *context UNUSED, struct api_double *double_ UNUSED,
                      const struct api_request *request) {
    if (strcmp(request->part, "status") == 0 && strcmp(request->namespace, "busy") == 0 &&
        ++patches % 2) {
        api_double_refuse(request, 409, "Conflict", "the object has been modified");
        return true;
    }
    return is_quota(request);
}

/* Somebody takes the conditions out of each job's status: it is written again. */
static void spoil_statuses(void) {
    const char *name;
    json_t *job;
    void *next;
    json_object_foreach_safe(api_double_all(api, "batchscores"), next, name, job) {
        if (strncmp(name, "busy", 4) == 0) {
            json_t *copy = json_deep_copy(job);
            json_object_del(json_object_get(copy, "status"), "conditions");
            api_double_put(api, "batchscores", copy);
        }
    }
}

/* Conflicts that end at the second try say nothing about a quota elsewhere: tries of all together
 * stay at their pace. */
static void test_a_quota_beside_conflicts(void) {
    asking_open(conflicts);
    asking_put("batchscores", BATCH("stuck"), "stuck", 60);
    asking_put("batchscores", BATCH("busy"), "busy", 40);
    asking_run(BEGIN_S * 1000);
    tries = patches = 0;
    int minutes = minutes_of_each();
    for (int second = 0; second < minutes * 60; second++) {
        if (second % 10 == 0) {
            spoil_statuses();
        }
        asking_run(1000);
    }
    int second_tries = patches / 2;
    printf("# a minute: %d creations that a quota refuses, %d statuses after a conflict\n",
           tries / minutes, second_tries / minutes);
    CHECK(second_tries >= 10 * minutes);
    CHECK(tries + second_tries <= minutes * PACE * 5 / 4);
    asking_close();
}

/* Two replicas in a cluster in which nothing happens: all requests together. */
static void test_the_election_of_two(void) {
    struct elector_options options = {.namespace = "windlass", .name = "lease", .identity = "one"};
    struct elector *one = NULL, *other = NULL;
    struct error err = {0};
    asking_open(never);
    CHECK_OK(elector_open(&options, kube_client(cluster), kube_loop(cluster), &one, &err), &err);
    asking_run(5000);
    options.identity = "other";
    CHECK_OK(elector_open(&options, kube_client(cluster), kube_loop(cluster), &other, &err), &err);
    asking_put("batchscores", BATCH("waits"), NULL, 1);
    asking_run(BEGIN_S * 1000);
    AUTO(tree_freep) json_t *before = json_deep_copy(api_double_counts(api));
    int minutes = minutes_of_each();
    for (int minute = 0; minute < minutes; minute++) {
        asking_run(60000);
        api_double_bookmark(api);
    }
    const char *what;
    json_t *count;
    double all = 0;
    json_object_foreach((json_t *)(uintptr_t)api_double_counts(api), what, count) {
        all +=
            (double)(json_integer_value(count) - json_integer_value(json_object_get(before, what)));
    }
    printf("# two replicas and a job that waits: %.1f requests a minute\n", all / minutes);
    CHECK(elector_read_state(one) == ELECTOR_LEADER &&
          elector_read_state(other) == ELECTOR_STANDBY);
    CHECK(all / minutes <= 60);
    elector_free(one);
    elector_free(other);
    asking_close();
}

/* The last of a Sweep's trials is refused at first, and the jobs beside it always. */
static bool refuses_a_trial(void *context UNUSED, struct api_double *double_ UNUSED,
                            const struct api_request *request) {
    bool is_last = strcmp(request->plural, "disttrains") == 0 &&
                   strcmp(request->verb, "create") == 0 &&
                   strcmp(tree_text(request->body, "metadata.name", ""), "busy-0005") == 0;
    if (is_last && !is_allowed) {
        api_double_refuse(request, 403, "Forbidden", "disttrains is forbidden: exceeded quota: q");
        return true;
    }
    return is_quota(request);
}

/* A trial reports. */
static void report_one(int number) {
    AUTO(text_freep) char *name = x_printf("busy-%04d", number % 5);
    json_t *trial = api_double_find(api, "disttrains", name);
    if (trial) {
        json_t *copy = json_deep_copy(trial);
        json_object_set_new(tree_ensure_object(copy, "status"), "objective",
                            json_pack("{s:i, s:s}", "reports", number, "best", "0.5"));
        api_double_put(api, "disttrains", copy);
    }
}

/* A Sweep whose trials report all the time gets its turn like the others. */
static void test_a_busy_sweep_among_stuck_jobs(void) {
    enum { STEP_MS = 25, REFUSED_MS = 120000, PATIENCE_MS = 60000 };
    is_allowed = false;
    asking_open(refuses_a_trial);
    asking_put("batchscores", BATCH("stuck"), "stuck", 40);
    asking_put("sweeps", sweep, "stuck", 1);
    for (int number = 0; number < REFUSED_MS / STEP_MS; number++) {
        asking_run(STEP_MS);
        report_one(number);
    }
    CHECK_INT(json_object_size(api_double_all(api, "disttrains")), 5);
    is_allowed = true;
    int64_t allowed_ms = stepped_clock_ms();
    for (int number = 0; !api_double_find(api, "disttrains", "busy-0005") &&
                         stepped_clock_ms() < allowed_ms + PATIENCE_MS;
         number++) {
        asking_run(STEP_MS);
        report_one(number);
    }
    printf("# made %lld s after it was allowed\n",
           (long long)(stepped_clock_ms() - allowed_ms) / 1000);
    CHECK(api_double_find(api, "disttrains", "busy-0005") != NULL);
    asking_close();
}

int main(void) {
    TEST(test_a_quota_beside_conflicts);
    TEST(test_the_election_of_two);
    TEST(test_a_busy_sweep_among_stuck_jobs);
    return TEST_END();
}
