// SPDX-License-Identifier: Apache-2.0
#include "operator/operator_metrics.h"

#include "operator/kinds/sweep/reconcile.h"

#include "lib/time/clock.h"

#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

/* The number after "NAME " in the page; -1 when the page has no such series. */
static double told(const char *name) {
    AUTO(text_freep) char *page = operator_metrics_page();
    size_t length = strlen(name);
    for (const char *line = page; line; line = strchr(line, '\n'), line += line != NULL) {
        if (strncmp(line, name, length) == 0 && line[length] == ' ') {
            return strtod(line + length, NULL);
        }
    }
    return -1;
}

static json_t *read_json(const char *text) {
    struct error err = {0};
    json_t *tree = NULL;
    CHECK_OK(tree_parse(text, strlen(text), 1 << 16, &tree, &err), &err);
    return tree;
}

static void test_a_job_is_counted_by_what_changes(void) {
    static const char *const steps[] = {
        "{\"kind\": \"BatchScore\", \"metadata\": {\"name\": \"secret-name\","
        " \"creationTimestamp\": \"2026-11-21T04:00:00Z\"}}",
        "{\"kind\": \"BatchScore\", \"metadata\": {\"creationTimestamp\": "
        "\"2026-11-21T04:00:00Z\"}, \"status\": {\"conditions\": [{\"type\": \"Succeeded\", "
        "\"status\": \"Unknown\", \"reason\": \"Pending\"}]}}",
        "{\"kind\": \"BatchScore\", \"metadata\": {\"creationTimestamp\": "
        "\"2026-11-21T04:00:00Z\"}, \"status\": {\"credentials\": {\"created\": true}, "
        "\"items\": {\"done\": 16, \"failed\": 0}, \"miniBatches\": {\"done\": 2}, "
        "\"conditions\": [{\"type\": \"Succeeded\", \"status\": \"Unknown\"}]}}",
        /* the coordinator began anew: a decrease is not counted */
        "{\"kind\": \"BatchScore\", \"metadata\": {\"creationTimestamp\": "
        "\"2026-11-21T04:00:00Z\"}, \"status\": {\"credentials\": {\"created\": true}, "
        "\"items\": {\"done\": 8, \"failed\": 0}, \"miniBatches\": {\"done\": 1}, "
        "\"requests\": {\"answers\": 5, \"tokensIn\": 70, \"cost\": \"0.25\"}, "
        "\"conditions\": [{\"type\": \"Succeeded\", \"status\": \"Unknown\"}]}}",
        "{\"kind\": \"BatchScore\", \"metadata\": {\"creationTimestamp\": "
        "\"2026-11-21T04:00:00Z\"}, \"status\": {\"credentials\": {\"created\": true}, "
        "\"items\": {\"done\": 30, \"failed\": 2}, \"miniBatches\": {\"done\": 4, \"retried\": 3},"
        "\"requests\": {\"answers\": 9, \"busy\": 2, \"tokensIn\": 60, \"cost\": \"1.5\"}, "
        "\"conditions\": [{\"type\": \"Succeeded\", \"status\": \"True\", "
        "\"reason\": \"Completed\"}]}}",
    };
    int64_t start_ms = clock_parse("2026-11-21T04:00:00Z");
    AUTO(tree_freep) json_t *before = read_json(steps[0]);
    for (size_t i = 1; i < ARRAY_LEN(steps); i++) {
        AUTO(tree_freep) json_t *after = read_json(steps[i]);
        operator_metrics_change(before, after, start_ms + (int64_t)i * 10000);
        operator_metrics_change(after, after,
                                start_ms + (int64_t)i * 10000); /* nothing new: nothing counted */
        json_t *old = before;
        before = TAKE(after);
        json_decref(old);
    }
    CHECK(told("windlass_jobs_created_total{kind=\"BatchScore\"}") == 1);
    CHECK(told("windlass_namespace_jobs_finished_total{namespace=\"\",queue=\"\",result="
               "\"succeeded\"}") == 1);
    CHECK(told("windlass_jobs_finished_total{kind=\"BatchScore\",result=\"succeeded\","
               "reason=\"Completed\"}") == 1);
    CHECK(told("windlass_job_time_to_first_pod_seconds_sum{kind=\"BatchScore\"}") == 20);
    CHECK(told("windlass_job_duration_seconds_sum{kind=\"BatchScore\",result=\"succeeded\"}") ==
          40);
    CHECK(told("windlass_items_total{result=\"done\"}") == 16 + 22);
    CHECK(told("windlass_items_total{result=\"failed\"}") == 2);
    CHECK(told("windlass_minibatches_total{result=\"done\"}") == 5);
    CHECK(told("windlass_model_requests_total{result=\"answers\"}") == 9);
    CHECK(told("windlass_model_requests_total{result=\"busy\"}") == 2);
    CHECK(told("windlass_model_requests_total{result=\"timeouts\"}") == 0);
    CHECK(told("windlass_model_tokens_total{namespace=\"\",direction=\"in\"}") == 70);
    CHECK(told("windlass_model_cost_total{namespace=\"\"}") == 1.5);
    CHECK(told("windlass_minibatches_total{result=\"retried\"}") == 3);
    AUTO(text_freep) char *page = operator_metrics_page();
    CHECK(!strstr(page, "secret-name"));
}

static json_t *scored(int version, const char *uid, int done, const char *succeeded) {
    return json_pack("{s:s, s:{s:s, s:o}, s:{s:{s:i}, s:[{s:s, s:s}]}}", "kind", "BatchScore",
                     "metadata", "uid", uid, "resourceVersion", json_sprintf("%d", version),
                     "status", "items", "done", done, "conditions", "type", "Succeeded", "status",
                     succeeded);
}

/* What a hub answers is counted at once, and once: the status that has it, a coordinator that
 * begins anew, and the end add only what is beyond. */
static void test_figures_are_counted_before_they_are_stored(void) {
    static const char items[] = "windlass_items_total{result=\"done\"}";
    static const struct {
        int stored, live, counted; /* live -1: the stored one comes as an event */
        const char *succeeded;
    } steps[] = {
        {10, 15, 5, "Unknown"},  {10, 20, 10, "Unknown"}, {18, -1, 10, "Unknown"},
        {18, 18, 10, "Unknown"}, {18, 25, 15, "Unknown"}, {30, -1, 20, "True"},
        {30, -1, 20, "True"},
    };
    double was = told(items);
    AUTO(tree_freep) json_t *object = scored(1, "u-live", 10, "Unknown");
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        AUTO(tree_freep)
        json_t *next = scored((int)i + 2, "u-live", steps[i].stored, steps[i].succeeded);
        AUTO(tree_freep) json_t *status = json_pack("{s:{s:i}}", "items", "done", steps[i].live);
        if (steps[i].live < 0) {
            operator_metrics_change(object, next, 0);
            json_decref(object);
            object = json_incref(next);
        } else {
            operator_metrics_figures(object, status);
        }
        CHECK_INT(told(items) - was, steps[i].counted);
    }
}

static json_t *billed(int version, const char *uid, int tokens) {
    json_t *object = scored(version, uid, tokens, "Unknown");
    json_object_set_new(json_object_get(object, "metadata"), "namespace", json_string("billed"));
    json_object_set_new(
        json_object_get(object, "status"), "requests",
        json_pack("{s:i, s:o}", "tokensOut", tokens, "cost", json_sprintf("%d.5", tokens)));
    return object;
}

/* Of two controllers, one after the other: the second begins with what the first has stored, and
 * what the first had heard besides is not counted twice. Nor is what a coordinator that begins
 * again reports once more. */
static void test_tokens_and_cost_are_counted_once(void) {
    static const char tokens[] =
        "windlass_model_tokens_total{namespace=\"billed\",direction=\"out\"}";
    static const char cost[] = "windlass_model_cost_total{namespace=\"billed\"}";
    static const struct {
        int live, stored, counted; /* live -1: another controller takes over */
    } steps[] = {
        {15, 10, 0},  {20, 20, 10}, {30, 20, 10}, {-1, 20, 10},
        {32, 20, 10}, {35, 35, 25}, {35, 5, 25},  {40, 40, 30},
    };
    AUTO(tree_freep) json_t *object = billed(1, "u-billed", 10);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        AUTO(tree_freep) json_t *live = billed(1, "u-billed", steps[i].live);
        AUTO(tree_freep) json_t *next = billed((int)i + 2, "u-billed", steps[i].stored);
        if (steps[i].live < 0) {
            operator_metrics_forget(object);
            continue;
        }
        operator_metrics_figures(object, json_object_get(live, "status"));
        operator_metrics_change(object, next, 0);
        json_decref(object);
        object = json_incref(next);
        CHECK_INT(MAX(told(tokens), 0), steps[i].counted);
        CHECK_INT(MAX(told(cost), 0), steps[i].counted);
    }
}

static void test_pods_that_fail_are_counted_by_class(void) {
    static const struct {
        const char *before, *after, *class;
    } rows[] = {
        {"{\"status\": {\"phase\": \"Running\"}}",
         "{\"kind\": \"Pod\", \"status\": {\"phase\": \"Failed\", \"reason\": \"Evicted\"}}",
         "Evicted"},
        {"{\"status\": {\"phase\": \"Running\"}}",
         "{\"kind\": \"Pod\", \"status\": {\"phase\": \"Failed\", \"containerStatuses\": "
         "[{\"state\": "
         "{\"terminated\": {\"exitCode\": 137, \"reason\": \"OOMKilled\"}}}]}}",
         "OOMKilled"},
        {"{\"status\": {\"phase\": \"Running\"}}", /* with a template's container */
         "{\"kind\": \"Pod\", \"status\": {\"phase\": \"Failed\", \"containerStatuses\": "
         "[{\"name\": \"a-proxy\", \"state\": {\"terminated\": {\"reason\": \"Completed\"}}}, "
         "{\"name\": \"agent\", \"state\": {\"terminated\": {\"reason\": \"Error\"}}}]}}",
         "Error"},
        {"{\"status\": {\"phase\": \"Pending\"}}",
         "{\"kind\": \"Pod\", \"status\": {\"phase\": \"Failed\"}}", "Unknown"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *before = read_json(rows[i].before);
        AUTO(tree_freep) json_t *after = read_json(rows[i].after);
        operator_metrics_change(NULL, after, 0); /* existed when the controller started */
        operator_metrics_change(before, after, 0);
        operator_metrics_change(after, after, 0);
        AUTO(text_freep)
        char *name = x_printf("windlass_pod_failures_total{class=\"%s\"}", rows[i].class);
        CHECK(told(name) == 1);
    }
}

/* Of a namespace whose users make up queues, the first few are labels; others keep theirs. */
static void test_made_up_queues_use_no_series_of_others(void) {
    AUTO(tree_freep) json_t *before = read_json("{\"kind\": \"DistTrain\"}");
    for (int i = 0; i < 401; i++) {
        AUTO(text_freep)
        char *text = x_printf("{\"kind\": \"DistTrain\", \"metadata\": {\"namespace\": \"%s\"}, "
                              "\"spec\": {\"queue\": \"q%d\"}, \"status\": {\"conditions\": "
                              "[{\"type\": \"Succeeded\", \"status\": \"Unknown\"}]}}",
                              i < 400 ? "loud" : "quiet", i);
        AUTO(tree_freep) json_t *after = read_json(text);
        operator_metrics_change(before, after, 0);
    }
    static const struct {
        const char *namespace, *queue;
        double count;
    } rows[] = {
        {"loud", "q0", 1},      {"loud", "q7", 1},    {"loud", "q8", -1},
        {"loud", "other", 392}, {"quiet", "q400", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *name = x_printf("windlass_namespace_jobs_created_total{namespace=\"%s\",queue="
                              "\"%s\",kind=\"DistTrain\"}",
                              rows[i].namespace, rows[i].queue);
        CHECK(told(name) == rows[i].count);
    }
}

/* Of more namespaces than there is room for, the directions stay apart. */
static void test_tokens_of_many_namespaces(void) {
    static const char running[] =
        "\"conditions\": [{\"type\": \"Succeeded\", \"status\": \"Unknown\"}]";
    AUTO(text_freep)
    char *first = x_printf("{\"kind\": \"BatchScore\", \"status\": {%s}}", running);
    AUTO(tree_freep) json_t *before = read_json(first);
    for (int i = 0; i < 300; i++) {
        AUTO(text_freep)
        char *text =
            x_printf("{\"kind\": \"BatchScore\", \"metadata\": {\"namespace\": \"n%d\"}, "
                     "\"status\": {\"requests\": {\"tokensIn\": 100, \"tokensCached\": 10, "
                     "\"tokensOut\": 1, \"cost\": \"2\"}, %s}}",
                     i, running);
        AUTO(tree_freep) json_t *after = read_json(text);
        operator_metrics_change(before, after, 0);
    }
    double out = told("windlass_model_tokens_total{namespace=\"other\",direction=\"out\"}");
    CHECK(out > 200);
    CHECK(told("windlass_model_tokens_total{namespace=\"n0\",direction=\"in\"}") == 100);
    CHECK(told("windlass_model_tokens_total{namespace=\"other\",direction=\"in\"}") == 100 * out);
    CHECK(told("windlass_model_tokens_total{namespace=\"other\",direction=\"cached\"}") ==
          10 * out);
    CHECK(told("windlass_model_cost_total{namespace=\"other\"}") == 2 * out);
    CHECK(told("windlass_model_tokens_total{namespace=\"other\",direction=\"other\"}") == -1);
}

/* As the controller does it. */
static void count_change(const json_t *before, const json_t *after) {
    if (operator_metrics_change(before, after, 0)) {
        sweep_kind.job_ended(after);
    }
}

/* As their Sweep counts them: by the object's end, regardless of its owner. */
static void test_trials_are_counted_by_outcome(void) {
    static const struct {
        const char *status, *reason, *objective, *owner, *outcome;
    } rows[] = {
        {"True", "Completed", "{\"best\": \"0.9\"}", "Sweep", "completed"},
        {"True", "Completed", "{\"others\": [\"acc\"]}", "Sweep", "failed"},
        {"False", "Stopped", "{\"best\": \"0.1\"}", "Sweep", "stopped"},
        {"False", "RankFailed", "{\"best\": \"0.9\"}", "Sweep", "failed"},
        {"False", "Stopped", "{}", "Other", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *name = x_printf("windlass_trials_ended_total{outcome=\"%s\"}",
                              rows[i].outcome ? rows[i].outcome : "stopped");
        AUTO(text_freep)
        char *text = x_printf("{\"kind\": \"DistTrain\", \"metadata\": {\"ownerReferences\": "
                              "[{\"kind\": \"%s\"}]}, \"status\": {\"objective\": %s, "
                              "\"conditions\": [{\"type\": \"Succeeded\", \"status\": \"%s\", "
                              "\"reason\": \"%s\"}]}}",
                              rows[i].owner, rows[i].objective, rows[i].status, rows[i].reason);
        AUTO(tree_freep) json_t *before = read_json("{\"kind\": \"DistTrain\"}");
        AUTO(tree_freep) json_t *after = read_json(text);
        double was = told(name);
        CHECK(was >= 0);
        count_change(before, after);
        count_change(after, after);
        CHECK(told(name) == was + (rows[i].outcome != NULL));
    }
    CHECK(told("windlass_trials_running") == 0);
    operator_metrics_trials(7);
    CHECK(told("windlass_trials_running") == 7);
    operator_metrics_suggestions("Bayesian", 2, 60000000);
    CHECK(told("windlass_trial_suggestion_duration_seconds_count{algorithm=\"Bayesian\"}") == 2);
    CHECK(fabs(told("windlass_trial_suggestion_duration_seconds_sum{algorithm=\"Bayesian\"}") -
               0.06) < 1e-9);
}

static void test_the_rest_is_counted(void) {
    CHECK(told("windlass_leader") == 0);
    operator_metrics_leader(true);
    CHECK(told("windlass_leader") == 1);
    operator_metrics_queue(12);
    CHECK(told("windlass_workqueue_depth") == 12);
    operator_metrics_retries(3);
    CHECK(told("windlass_retries_waiting") == 3);
    operator_metrics_wait(50);
    operator_metrics_reconcile("BatchScore", 1, false);
    operator_metrics_reconcile("BatchScore", 0, true);
    CHECK(told("windlass_reconcile_total{kind=\"BatchScore\",result=\"success\"}") == 1);
    CHECK(told("windlass_reconcile_total{kind=\"BatchScore\",result=\"error\"}") == 1);
    CHECK(told("windlass_workqueue_queue_duration_seconds_count") == 1);
    CHECK(told("windlass_workqueue_queue_duration_seconds_sum") == 0.05);
    operator_metrics_request("create", 201, 4);
    operator_metrics_request("list", 0, 30000);
    CHECK(told("windlass_apiserver_requests_total{verb=\"create\",code=\"201\"}") == 1);
    CHECK(told("windlass_apiserver_requests_total{verb=\"list\",code=\"0\"}") == 1);
    CHECK(told("windlass_build_info{version=\"" WINDLASS_VERSION "\"}") == 1);
    CHECK(told("process_resident_memory_bytes") > 0);
}

int main(void) {
    TEST(test_a_job_is_counted_by_what_changes);
    TEST(test_figures_are_counted_before_they_are_stored);
    TEST(test_tokens_and_cost_are_counted_once);
    TEST(test_pods_that_fail_are_counted_by_class);
    TEST(test_trials_are_counted_by_outcome);
    TEST(test_tokens_of_many_namespaces);
    TEST(test_made_up_queues_use_no_series_of_others);
    TEST(test_the_rest_is_counted);
    return TEST_END();
}
