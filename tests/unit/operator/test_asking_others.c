// SPDX-License-Identifier: Apache-2.0
/* Bounded asking, beside the states of test_asking.c: what others do each second to the Services,
 * trials and runs of a job, to its status, and to a series. One job in each state, ten minutes. */
#include "lib/time/clock.h"
#include "operator/control/claim.h"
#include "operator/kinds/job/owned.h"
#include "operator/object.h"
#include "tests/unit/operator/asking_others.h"

#define VOLUMES "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"
#define BATCH(field)                                                                               \
    "apiVersion: windlass.dev/v1beta1\nkind: BatchScore\nmetadata: {name: job-n0n}\nspec:\n"       \
    "  input: {files: {path: data/in}}\n"                                                          \
    "  scorer: {onnx: {path: data/model.onnx, postprocess: {type: Classes}}}\n"                    \
    "  output: {path: data/out-n0n, mode: AppendRow}\n" field "  workers: {min: 2, max: 2}\n"      \
    "  " VOLUMES "\n"

static const char batch[] = BATCH("");
static const char cron[] = BATCH("  schedule: {cron: \"* * * * *\"}\n");
static const char rerun[] = BATCH("  rerun: OnChange\n");
static const char trigger[] = BATCH("  trigger: {path: data/READY}\n");
static const char gang[] =
    "apiVersion: windlass.dev/v1beta1\nkind: DistTrain\nmetadata: {name: job-n0n}\nspec:\n"
    "  workers: 2\n  image: example.com/me:1\n  command: [train, --name, job-n0n]\n  " VOLUMES "\n";
static const char sweep[] =
    "apiVersion: windlass.dev/v1beta1\nkind: Sweep\nmetadata: {name: job-n0n}\nspec:\n"
    "  objective: {metric: loss, goal: Minimize}\n"
    "  parameters: [{name: RATE, uniform: {min: \"0.1\", max: \"0.2\"}}]\n"
    "  algorithm: {kind: Random}\n  maxTrials: 2\n  maxConcurrentTrials: 1\n  trial:\n"
    "    workers: 1\n    image: example.com/me:1\n    command: [train, $(RATE), job-n0n]\n   "
    " " VOLUMES "\n";

/* ---- what a server does ---- */

/* As a real one: with the time of now. */
static bool never(void *context UNUSED, struct api_double *double_ UNUSED,
                  const struct api_request *request) {
    char now[21];
    if (strcmp(request->verb, "create") == 0) {
        clock_format(clock_wall_ms(), now);
        json_object_set_new(json_object_get(request->body, "metadata"), "creationTimestamp",
                            json_string(now));
    }
    return false;
}

static bool is_too_large(void *context UNUSED, struct api_double *double_ UNUSED,
                         const struct api_request *request) {
    if (strcmp(request->verb, "patch") != 0 && strcmp(request->verb, "create") != 0) {
        return false;
    }
    api_double_refuse(request, 413, "RequestEntityTooLarge", "limit is 3145728");
    return true;
}

static bool is_stale(void *context UNUSED, struct api_double *double_ UNUSED,
                     const struct api_request *request) {
    if (strcmp(request->verb, "patch") != 0) {
        return false;
    }
    api_double_refuse(request, 409, "Conflict", "the object has been modified");
    return true;
}

/* ---- what somebody does each second ---- */

static bool is_owned(const json_t *object) {
    return tree_get(object, "metadata.ownerReferences[0]") != NULL;
}

static bool suspend_owned(json_t *job, int second) {
    if (is_owned(job)) {
        set_in_spec(job, "suspend", json_boolean(second % 2));
    }
    return is_owned(job);
}

static void suspend_trials_and_runs(int second) {
    change_all("disttrains", second, suspend_owned);
    change_all("batchscores", second, suspend_owned);
}

static bool end_job(json_t *job, int second UNUSED) {
    json_object_set_new(job, "status",
                        json_pack("{s:[{s:s, s:s, s:s, s:s, s:s, s:i}]}", "conditions", "type",
                                  "Succeeded", "status", "False", "reason", "Stopped", "message",
                                  "by hand", "lastTransitionTime", "2026-11-23T00:00:00Z",
                                  "observedGeneration", 1));
    return true;
}

static void end_trials(int second) {
    change_all("disttrains", second, end_job);
}

static bool strip(json_t *object, int second UNUSED) {
    return json_object_del(json_object_get(object, "metadata"), "annotations") == 0;
}

static void strip_services(int second) {
    change_all("services", second, strip);
}

static bool relabel(json_t *object, int second UNUSED) {
    return json_object_del(json_object_get(object, "metadata"), "labels") == 0;
}

static void relabel_services(int second) {
    change_all("services", second, relabel);
}

static bool disown(json_t *object, int second UNUSED) {
    return json_object_del(json_object_get(object, "metadata"), "ownerReferences") == 0;
}

static void disown_services_and_trials(int second) {
    change_all("services", second, disown);
    change_all("disttrains", second, disown);
}

static bool add_condition(json_t *job, int second) {
    json_t *conditions = tree_get(job, "status.conditions");
    json_t *audited = (json_t *)(uintptr_t)tree_find(conditions, "type", "Audited");
    if (audited) {
        json_object_set_new(audited, "status", json_string(second % 2 ? "True" : "False"));
    } else {
        json_array_append_new(conditions,
                              json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", "Audited", "status",
                                        "True", "reason", "Audit", "message", "",
                                        "lastTransitionTime", "2026-11-23T00:00:00Z"));
    }
    return conditions != NULL;
}

static void add_conditions(int second) {
    change_all("batchscores", second, add_condition);
    change_all("sweeps", second, add_condition);
}

static void delete_pods(int second UNUSED) {
    delete_every("pods");
}

static bool set_size(json_t *job, int second) {
    set_in_spec(job, "miniBatchSize", json_integer(2 + second % 3));
    return true;
}

static void set_sizes(int second) {
    change_all("batchscores", second, set_size);
}

/* Ended after a minute; its trial goes on. */
static bool end_sweep(json_t *job, int second) {
    if (second == 60) {
        end_job(job, second);
    }
    set_in_spec(job, "maxTrials", json_integer(3 + second % 3));
    return second >= 60;
}

static void touch_ended_sweeps(int second) {
    change_all("sweeps", second, end_sweep);
}

/* ---- the table ---- */

static const struct {
    const char *name, *plural, *manifest;
    api_hook *hook;
    void (*each_second)(int second); /* NULL: nothing is done */
    int jobs;                        /* with trials or runs, each of which may ask */
} states[] = {
    {"Services lose their annotations", "batchscores", batch, never, strip_services, 1},
    {"Services lose their labels", "batchscores", batch, never, relabel_services, 1},
    {"Services and trials lose their owner", "sweeps", sweep, never, disown_services_and_trials, 2},
    {"trials are suspended and resumed", "sweeps", sweep, never, suspend_trials_and_runs, 2},
    {"the status of trials is set to an end", "sweeps", sweep, never, end_trials, 3},
    {"a condition of somebody else", "batchscores", batch, never, add_conditions, 1},
    {"a condition of somebody else, of a Sweep", "sweeps", sweep, never, add_conditions, 1},
    {"an ended Sweep's generation", "sweeps", sweep, never, touch_ended_sweeps, 2},
    {"every change is a conflict", "batchscores", batch, is_stale, NULL, 1},
    {"every write is too large", "sweeps", sweep, is_too_large, NULL, 1},
    {"runs are suspended and resumed", "batchscores", cron, never, suspend_trials_and_runs, 2},
    {"a series whose spec changes", "batchscores", rerun, never, set_sizes, 1},
    {"a series whose pods are deleted", "batchscores", trigger, never, delete_pods, 1},
};

static json_int_t all_requests(void) {
    json_int_t all = 0;
    const char *what;
    json_t *count;
    json_object_foreach((json_t *)(uintptr_t)api_double_counts(api), what, count) {
        bool is_watching = strncmp(what, "watch", 5) == 0 || strncmp(what, "list", 4) == 0;
        all += is_watching ? 0 : json_integer_value(count);
    }
    return all;
}

static void test_others_cause_little(void) {
    enum { SECONDS = 600, BEGIN = 120, PER_JOB_MINUTE = 6 };
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        json_int_t before = 0;
        asking_open(states[i].hook);
        asking_put(states[i].plural, states[i].manifest, NULL, 1);
        for (int second = 0; second < SECONDS; second++) {
            before = second == BEGIN ? all_requests() : before;
            asking_run(1000);
            if (states[i].each_second) {
                states[i].each_second(second);
            }
        }
        double rate = (double)(all_requests() - before) * 60 / (SECONDS - BEGIN);
        printf("# %s: %.1f a minute, after %lld\n", states[i].name, rate, (long long)before);
        CHECK(before > 4 && rate <= PER_JOB_MINUTE * states[i].jobs);
        asking_close();
    }
}

/* ---- what does not wait ---- */

/* The series, or its run; NULL: there is none. */
static const json_t *find_one(bool is_run) {
    const char *name;
    json_t *job;
    json_object_foreach(api_double_all(api, "batchscores"), name, job) {
        if (is_owned(job) == is_run) {
            return job;
        }
    }
    return NULL;
}

static void change_series(const char *name, json_t *value_new) {
    json_t *copy = json_deep_copy(find_one(/* is_run= */ false));
    set_in_spec(copy, name, value_new);
    api_double_put(api, "batchscores", copy);
}

/* However often an autoscaler has changed the series, and with it its run, a suspension reaches the
 * run soon. */
static void test_another_change_does_not_wait(void) {
    enum { SCALES = 10, SOON_MS = 2000 };
    asking_open(never);
    asking_put("batchscores", cron, NULL, 1);
    asking_run(70000);
    for (int i = 0; i < SCALES; i++) {
        change_series("workers", json_pack("{s:i, s:i}", "min", 2, "max", 3 + i));
        asking_run(SOON_MS);
        CHECK_INT(tree_integer(find_one(/* is_run= */ true), "spec.workers.max", 0), 3 + i);
    }
    change_series("suspend", json_true());
    asking_run(SOON_MS);
    CHECK(tree_bool(find_one(/* is_run= */ true), "spec.suspend", false));
    asking_close();
}

/* ---- what ends all the same ---- */

static bool stop_trial(json_t *trial, int second UNUSED) {
    set_in_spec(trial, "stop", json_string("enough"));
    return true;
}

/* Somebody takes the annotations off a trial that has begun: its Sweep knows it all the same, and
 * ends when its trials have. */
static void test_trials_without_annotations(void) {
    enum { TRIALS = 2, SOON_MS = 5000 };
    asking_open(never);
    asking_put("sweeps", sweep, NULL, 1);
    for (size_t made = 1; made <= TRIALS; made++) {
        asking_run(SOON_MS);
        CHECK_INT(json_object_size(api_double_all(api, "disttrains")), made);
        change_all("disttrains", 0, strip);
        asking_run(SOON_MS);
        CHECK_INT(json_object_size(api_double_all(api, "disttrains")), made);
        change_all("disttrains", 0, stop_trial);
    }
    asking_run(SOON_MS);
    const json_t *of = json_object_iter_value(json_object_iter(api_double_all(api, "sweeps")));
    const json_t *end = object_condition(json_object_get(of, "status"), "Failed");
    CHECK_INT(tree_integer(of, "status.trials.stopped", -1), TRIALS);
    CHECK_INT(tree_integer(of, "status.trials.deleted", -1), 0);
    CHECK_STR(tree_text(end, "message", ""), "no trial completed: all were stopped (2)");
    asking_close();
}

static bool is_let; /* a trial's status */

static bool keep_back(void *context, struct api_double *double_,
                      const struct api_request *request) {
    if (!is_let && strcmp(request->plural, "disttrains") == 0 &&
        strcmp(request->part, "status") == 0) {
        api_double_refuse(request, 503, "ServiceUnavailable", "not yet");
        return true;
    }
    return never(context, double_, request);
}

/* The same before its first status: its Sweep does not delete it. Meanwhile the Sweep may make
 * another one, but it begins, and counts. */
static void test_a_trial_that_is_stripped_before_it_begins(void) {
    enum { MADE_MS = 200, WAIT_MS = 90000 };
    static const char first[] = "job-0n-0000";
    is_let = false;
    asking_open(keep_back);
    asking_put("sweeps", sweep, NULL, 1);
    asking_run(MADE_MS);
    CHECK_INT(json_object_size(api_double_all(api, "disttrains")), 1);
    change_all("disttrains", 0, strip);
    is_let = true;
    asking_run(WAIT_MS);
    const json_t *trial = api_double_find(api, "disttrains", first);
    CHECK(tree_integer(trial, "status.observedGeneration", -1) >= 0);
    const json_t *of = json_object_iter_value(json_object_iter(api_double_all(api, "sweeps")));
    CHECK_INT(tree_integer(of, "status.trials.deleted", -1), 0);
    CHECK_INT(tree_integer(of, "status.trials.running", -1),
              json_object_size(api_double_all(api, "disttrains")));
    asking_close();
}

/* ---- pods in another place ---- */

static bool move(json_t *pod, int attempt) {
    json_t *labels = tree_get(pod, "metadata.labels");
    json_object_set_new(labels, "windlass.dev/attempt", json_sprintf("%d", attempt));
    return true;
}

static bool suspend(json_t *job, int is_suspended) {
    set_in_spec(job, "suspend", json_boolean(is_suspended));
    return true;
}

/* The pods that are the only one of their place, or all others, that the job still owns. */
static int owned_pods(bool is_alone) {
    int count = 0;
    const char *name;
    json_t *pod;
    json_object_foreach(api_double_all(api, "pods"), name, pod) {
        count += is_owned(pod) && is_alone == (owned_annotation(pod, ANNOTATION_ALONE) != NULL);
    }
    return count;
}

/* Somebody moves all pods of a job to another attempt. The coordinator, or a gang's first pod, is
 * not replaced, and does not run on when the job is suspended, or has ended; what may be replaced
 * is released. All at once, or one after the other. */
static void test_pods_in_another_place_do_not_run_on(void) {
    enum { SOON_MS = 5000 };
    static const struct {
        const char *plural, *manifest;
        bool (*stop)(json_t *job, int second);
        bool is_at_once;
    } rows[] = {
        {"batchscores", batch, suspend, false}, {"batchscores", batch, end_job, false},
        {"disttrains", gang, suspend, false},   {"disttrains", gang, end_job, false},
        {"batchscores", batch, suspend, true},  {"batchscores", batch, end_job, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        asking_open(never);
        asking_put(rows[i].plural, rows[i].manifest, NULL, 1);
        asking_run(SOON_MS);
        CHECK_INT(owned_pods(/* is_alone= */ true), 1);
        change_all("pods", 7, move);
        if (!rows[i].is_at_once) {
            asking_run(SOON_MS);
            CHECK_INT(owned_pods(/* is_alone= */ true), 1);
        }
        change_all(rows[i].plural, 1, rows[i].stop);
        int64_t passes = asking_passes();
        asking_run(SOON_MS);
        CHECK_INT(owned_pods(/* is_alone= */ true), 0);
        CHECK_INT(owned_pods(/* is_alone= */ false), 0);
        CHECK(asking_passes() - passes < 30);
        if (rows[i].stop == suspend) {
            change_all(rows[i].plural, 0, suspend);
            asking_run(SOON_MS);
            CHECK_INT(owned_pods(/* is_alone= */ true), 1);
        }
        asking_close();
    }
}

int main(void) {
    TEST(test_others_cause_little);
    TEST(test_another_change_does_not_wait);
    TEST(test_trials_without_annotations);
    TEST(test_a_trial_that_is_stripped_before_it_begins);
    TEST(test_pods_in_another_place_do_not_run_on);
    return TEST_END();
}
