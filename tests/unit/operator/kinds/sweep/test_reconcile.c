// SPDX-License-Identifier: Apache-2.0
/* A Sweep through the real controller on the local cluster: its trials are DistTrains whose
 * programs report their metric line by line to the real agent; two of four are unpromising, and the
 * best one's model is registered. */
#include "operator/control/retry_pace.h"
#include "operator/kinds/sweep/reconcile.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/kinds/disttrain/reconcile.h"
#include "operator/kinds/job/plan.h"
#include "operator/kinds/job/reconcile/refusals.h"
#include "operator/kinds/job/spec.h"
#include "operator/kinds/kinds.h"
#include "operator/local/local.h"
#include "operator/object.h"
#include "operator/operator_metrics.h"
#include "operator/resource.h"
#include "tests/test.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { LIFE_MS = 90000 };

static const char manifest[] =
    "{apiVersion: windlass.dev/v1alpha1, kind: Sweep, metadata: {name: s}, spec: {"
    "objective: {metric: accuracy, goal: Maximize},"
    "parameters: [{name: X, choice: ['0.9', '0.1', '0.8', '0.2']}], algorithm: {kind: Grid},"
    "earlyStopping: {bandit: {slackFactor: '0.2'}}, maxTrials: 10, maxConcurrentTrials: 4,"
    "register: {path: out/registry},"
    "trial: {workers: 1, image: i, launcher: None, outputs: [{id: MODEL, path: out/models}],"
    "volumes: [{name: out, persistentVolumeClaim: {claimName: out}}], command: [sh, -c, "
    "'echo $(X) >$AZ_BATCHAI_OUTPUT_MODEL/model; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; "
    "do echo accuracy=$(X); sleep 0.5; done']}}}";

static void report(void *context, const char *key, const struct error *err, int64_t retry_ms,
                   int failures) {
    (void)context, (void)retry_ms;
    if (err->kind != ERROR_CONFLICT || failures > 3) { /* the first writer is reconciled again */
        printf("# %s: %s\n", key, err->text);
        test_failures++;
    }
}

/* BUILD/tests/unit/...: the folder BUILD; the caller frees. */
static char *build_folder(void) {
    char path[PATH_MAX] = "";
    CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    char *tests = strstr(path, "/tests/unit/");
    return x_strndup(path, tests ? (size_t)(tests - path) : strlen(path));
}

static bool is_over(const struct cluster *cluster) {
    const json_t *sweep = local_find(cluster, "Sweep", "default", "s");
    const json_t *condition = object_condition(json_object_get(sweep, "status"), "Succeeded");
    return strcmp(tree_text(condition, "status", "Unknown"), "Unknown") != 0;
}

static void check_end(const struct cluster *cluster) {
    const json_t *sweep = local_find(cluster, "Sweep", "default", "s");
    const json_t *status = json_object_get(sweep, "status");
    const json_t *condition = object_condition(status, "Succeeded");
    CHECK_STR(tree_text(condition, "reason", ""), "Completed");
    CHECK_INT(tree_integer(status, "trials.completed", -1), 2);
    CHECK_INT(tree_integer(status, "trials.stopped", -1), 2);
    CHECK_INT(tree_integer(status, "next", -1), 4);
    CHECK_STR(tree_text(status, "best.trial", ""), "s-0000");
    CHECK_STR(tree_text(status, "best.value", ""), "0.9");
    static const char *const unpromising[] = {"s-0001", "s-0003"};
    for (size_t i = 0; i < ARRAY_LEN(unpromising); i++) {
        const json_t *trial = local_find(cluster, "DistTrain", "default", unpromising[i]);
        const json_t *end = object_condition(json_object_get(trial, "status"), "Succeeded");
        CHECK_STR(tree_text(end, "reason", ""), "Stopped");
        CHECK(text_starts(tree_text(end, "message", ""), "Bandit: after "));
        CHECK(tree_integer(trial, "status.objective.reports", 99) < 16);
    }
    if (test_failures) {
        AUTO(text_freep) char *text = json_dumps(status, JSON_INDENT(1));
        printf("# %s\n", text);
    }
}

static char *read_text(const char *folder, const char *version, const char *name) {
    struct error err = {0};
    AUTO(text_freep)
    char *path = x_printf("%s/out/registry/s/%s%s%s", folder, version, *version ? "/" : "", name);
    char *text = NULL;
    size_t size;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    return text ? text : x_strdup("");
}

/* The best one's model and its description, registered by the real agent. */
static void check_registered(const char *folder) {
    AUTO(text_freep) char *latest = read_text(folder, "", "latest");
    latest[strcspn(latest, "\n")] = 0;
    AUTO(text_freep) char *model = read_text(folder, latest, "model");
    CHECK_STR(model, "0.9\n");
    AUTO(text_freep) char *text = read_text(folder, latest, "metadata.json");
    AUTO(tree_freep) json_t *known = json_loads(text, 0, NULL);
    CHECK_STR(tree_text(known, "trial", ""), "s-0000");
    CHECK_STR(tree_text(known, "parameters.X", ""), "0.9");
    CHECK_STR(tree_text(known, "objective.value", ""), "0.9");
    CHECK_STR(tree_text(known, "code.command[0]", ""), "sh");
}

static void test_two_of_four_are_unpromising(void) {
    struct error err = {0};
    char folder[] = "/tmp/windlass-sweep-XXXXXX";
    AUTO(text_freep) char *build = build_folder();
    AUTO(text_freep) char *agent = file_join(build, "windlass-agent");
    if (access(agent, X_OK) != 0) {
        SKIP("there is no %s", agent);
    }
    CHECK(mkdtemp(folder));
    AUTO(text_freep) char *volume = file_join(folder, "out");
    CHECK_OK(file_make_folders(volume, &err), &err);
    AUTO(schema_freep) struct schema *train = NULL;
    CHECK_OK(kinds_schema(kinds_find("DistTrain"), &train, &err), &err);
    AUTO(tree_freep) json_t *folders = json_object();
    struct job_options jobs = {.folders = folders};
    struct maker_options sweeps = {.made = train};
    struct kind of_trials = disttrain_kind, of_sweeps = sweep_kind;
    of_trials.options = &jobs;
    of_trials.schema = train;
    of_sweeps.options = &sweeps;
    const struct kind *const kinds[] = {&of_trials, &of_sweeps, NULL};
    struct local_options options = {.places = {.manifest_folder = folder, .state_folder = folder},
                                    .threads = 1,
                                    .program_folder = build};
    struct cluster *cluster = NULL;
    struct controller *controller = NULL;
    CHECK_OK(local_open(&options, &cluster, &err), &err);
    CHECK_OK(controller_new(cluster, kinds, report, NULL, &controller, &err), &err);
    AUTO(tree_freep) json_t *object = NULL;
    CHECK_OK(resource_parse("sweep.yaml", manifest, sizeof manifest - 1, &object, &err), &err);
    cluster->ops->write(cluster, CLUSTER_APPLY, object, NULL, NULL);
    int64_t end_ms = clock_monotonic_ms() + LIFE_MS;
    while (!is_over(cluster) && clock_monotonic_ms() < end_ms) {
        CHECK_OK(controller_step(controller, 500, &err), &err);
    }
    check_end(cluster);
    check_registered(folder);
    controller_free(controller);
    cluster->ops->free(cluster);
    CHECK_OK(file_remove_tree(folder, &err), &err);
}

/* ---- passes ---- */

static struct retry_pace *pace;

/* One pass over the Sweep; the caller frees request.writes and .events. */
static struct reconcile look(void *state, struct cache *cache, const struct maker_options *options,
                             const json_t *object, int64_t now_ms) {
    struct error err = {0};
    struct reconcile request = {.cache = cache,
                                .kind = "Sweep",
                                .namespace = "default",
                                .name = "s",
                                .options = options,
                                .pace = pace,
                                .object = object,
                                .wall_ms = 1790000000000,
                                .monotonic_ms = now_ms,
                                .writes = json_array(),
                                .events = json_array()};
    CHECK_OK(sweep_kind.reconcile(state, &request, &err), &err);
    json_decref(request.events);
    return request;
}

/* The first trial that the pass creates; NULL: none. */
static const json_t *find_trial(const struct reconcile *request) {
    for (size_t i = 0; i < json_array_size(request->writes); i++) {
        const json_t *write = json_array_get(request->writes, i);
        const json_t *of = json_object_get(write, "object");
        if (strcmp(tree_text(of, "kind", ""), "DistTrain") == 0) {
            return of;
        }
    }
    return NULL;
}

/* The number of suggestions of Bayesian on the page of metrics. */
static int suggestions(void) {
    static const char name[] =
        "windlass_trial_suggestion_duration_seconds_count{algorithm=\"Bayesian\"} ";
    AUTO(text_freep) char *page = operator_metrics_page();
    const char *line = strstr(page, name);
    return line ? (int)strtoll(line + strlen(name), NULL, 10) : 0;
}

/* A quota holds the first trial of a Bayesian back: the next one is not computed meanwhile. */
static void test_a_denied_trial_is_waited_for(void) {
    static const char text[] =
        "{apiVersion: windlass.dev/v1alpha1, kind: Sweep, metadata: {name: s, namespace: default, "
        "uid: 01234567-0123-0123-0123-0123456789ab, generation: 1}, spec: {"
        "objective: {metric: accuracy, goal: Maximize},"
        "parameters: [{name: X, uniform: {min: '0', max: '1'}}], algorithm: {kind: Bayesian},"
        "maxTrials: 10, maxConcurrentTrials: 4,"
        "trial: {workers: 1, image: i, launcher: None, command: [x, $(X)]}}}";
    struct error err = {0}, denied = {0};
    AUTO(schema_freep) struct schema *train = NULL;
    CHECK_OK(kinds_schema(kinds_find("DistTrain"), &train, &err), &err);
    AUTO(tree_freep) json_t *object = NULL;
    CHECK_OK(resource_parse("sweep.yaml", text, sizeof text - 1, &object, &err), &err);
    struct maker_options options = {.made = train};
    struct cache *cache = cache_new();
    void *state = sweep_kind.state_new();
    pace = retry_pace_new();
    struct reconcile first = look(state, cache, &options, object, 5000);
    CHECK(first.again_ms > 0 && first.again_ms <= 100);
    const json_t *trial = find_trial(&first);
    CHECK(trial != NULL);
    error_set(&denied, ERROR_DENIED, "exceeded quota");
    struct written written = {.namespace = "default",
                              .name = "s",
                              .verb = CLUSTER_CREATE,
                              .object = trial,
                              .err = &denied};
    sweep_kind.wrote(state, &written);
    struct reconcile soon = look(state, cache, &options, object, 5010);
    CHECK(soon.again_ms > 0 && json_array_size(soon.writes) == 0); /* looked at just now */
    struct reconcile second = look(state, cache, &options, object, 5110);
    CHECK(find_trial(&second) == NULL && !second.is_retry);
    CHECK_INT(second.again_ms, 0); /* the pace of retries says when */
    CHECK_INT(suggestions(), 0);   /* counted when it is made, however often it was planned */
    written.err = NULL;
    sweep_kind.wrote(state, &written);
    CHECK_INT(suggestions(), 1);
    json_decref(first.writes);
    json_decref(soon.writes);
    json_decref(second.writes);
    sweep_kind.state_free(state);
    cache_free(cache);
    retry_pace_free(pace);
}

static const json_t *status_of(const struct reconcile *request) {
    for (size_t i = 0; i < json_array_size(request->writes); i++) {
        const json_t *write = json_array_get(request->writes, i);
        if (tree_integer(write, "verb", -1) == CLUSTER_STATUS) {
            return tree_get(write, "object.status");
        }
    }
    return NULL;
}

static void tell_trials(struct cache *cache, enum cluster_event event) {
    AUTO(tree_freep)
    json_t *kind =
        json_pack("{s:s, s:s}", "apiVersion", "windlass.dev/v1beta1", "kind", "DistTrain");
    cache_update(cache, event, kind, NULL, NULL);
}

/* The cluster knows no DistTrains: an API server that starts, or the definition was removed. What
 * cannot be seen has not ended, and nothing is made beside it. */
static void test_trials_that_cannot_be_seen(void) {
    static const char text[] =
        "{apiVersion: windlass.dev/v1beta1, kind: Sweep, metadata: {name: s, namespace: default, "
        "uid: 01234567-0123-0123-0123-0123456789ab, generation: 1}, spec: {"
        "objective: {metric: accuracy, goal: Maximize},"
        "parameters: [{name: X, uniform: {min: '0', max: '1'}}], algorithm: {kind: Random},"
        "maxTrials: 4, maxConcurrentTrials: 2,"
        "trial: {workers: 1, image: i, launcher: None, command: [x, $(X)]}}}";
    struct error err = {0};
    AUTO(schema_freep) struct schema *train = NULL;
    CHECK_OK(kinds_schema(kinds_find("DistTrain"), &train, &err), &err);
    AUTO(tree_freep) json_t *object = NULL;
    CHECK_OK(resource_parse("sweep.yaml", text, sizeof text - 1, &object, &err), &err);
    struct maker_options options = {.made = train};
    for (int next = 0; next <= 4; next += 2) { /* all of its trials were made, some, none */
        struct cache *cache = cache_new();
        void *state = sweep_kind.state_new();
        pace = retry_pace_new();
        cache_watch(cache, "windlass.dev/v1beta1", "DistTrain", (struct cache_rules){0});
        tell_trials(cache, CLUSTER_LISTING);
        tell_trials(cache, CLUSTER_LISTED);
        struct reconcile first = look(state, cache, &options, object, 5000);
        AUTO(tree_freep) json_t *begun = json_deep_copy(object);
        AUTO(tree_freep) json_t *status = json_deep_copy(status_of(&first));
        CHECK(status != NULL);
        json_object_set_new(status, "next", json_integer(next));
        json_object_set(begun, "status", status);
        tell_trials(cache, CLUSTER_ABSENT);
        struct reconcile blind = look(state, cache, &options, begun, 6000);
        CHECK(find_trial(&blind) == NULL && blind.again_ms > 0);
        const json_t *told = object_condition(status_of(&blind), "Succeeded");
        CHECK_STR(tree_text(told, "status", ""), "Unknown");
        CHECK_STR(tree_text(told, "reason", ""), "NotSupported");
        tell_trials(cache, CLUSTER_LISTING); /* not yet all of them */
        struct reconcile half = look(state, cache, &options, begun, 7000);
        CHECK(find_trial(&half) == NULL);
        tell_trials(cache, CLUSTER_LISTED);
        struct reconcile last = look(state, cache, &options, begun, 8000);
        CHECK_INT(find_trial(&last) != NULL, next < 4); /* by now they were deleted */
        json_decref(first.writes);
        json_decref(blind.writes);
        json_decref(half.writes);
        json_decref(last.writes);
        sweep_kind.state_free(state);
        cache_free(cache);
        retry_pace_free(pace);
    }
}

/* A refused change is reported as long as it is wanted; that the cluster cannot be reached, when it
 * lasts. */
static void test_a_refused_change_is_noted(void) {
    AUTO(tree_freep)
    json_t *trial = json_pack("{s:s, s:{s:s}}", "kind", "DistTrain", "metadata", "name", "s-0001");
    static const struct {
        enum error_kind kind; /* ERROR_NONE: success, after a refusal */
        int times;
        bool is_noted;
    } rows[] = {
        {ERROR_CONFLICT, 9, false}, /* deleted meanwhile */
        {ERROR_NOT_FOUND, 9, false},   {ERROR_DENIED, 1, true},      {ERROR_INVALID, 1, true},
        {ERROR_UNAVAILABLE, 1, false}, {ERROR_UNAVAILABLE, 9, true}, {ERROR_NONE, 1, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct refusals kept = {0};
        for (int k = -(rows[i].kind == ERROR_NONE); k < rows[i].times; k++) {
            enum error_kind kind = k < 0 ? ERROR_DENIED : rows[i].kind;
            struct error err = {0};
            struct written written = {.verb = CLUSTER_APPLY, .object = trial};
            if (kind) {
                error_set(&err, kind, "because");
                written.err = &err;
            }
            refusals_note_change(&kept, &written);
        }
        struct write_failures told = refusals_of(&kept);
        CHECK_INT(told.count, rows[i].is_noted);
        CHECK(!rows[i].is_noted ||
              write_failure_find(&told, (struct object_key){"DistTrain", "s-0001"}, true));
        free(told.at);
        refusals_release(&kept);
    }
}

int main(void) {
    TEST(test_a_denied_trial_is_waited_for);
    TEST(test_trials_that_cannot_be_seen);
    TEST(test_a_refused_change_is_noted);
    TEST(test_two_of_four_are_unpromising);
    return TEST_END();
}
