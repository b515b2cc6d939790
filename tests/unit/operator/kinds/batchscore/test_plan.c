// SPDX-License-Identifier: Apache-2.0
/* Every decision of the plan is a row (tests/plan_rows.h) in tests/data/plan. */
#include "operator/kinds/batchscore/plan.h"

#include "lib/time/clock.h"
#include "operator/control/claim.h"
#include "operator/kinds/batchscore/cache_transform.h"
#include "operator/kinds/batchscore/schedule.h"
#include "tests/plan_result_json.h"
#include "tests/plan_rows.h"
#include "tests/test.h"

/* As the controller keeps them. NULL: there are none. */
static json_t *keep_runs(const json_t *runs) {
    json_t *kept = runs ? json_array() : NULL;
    for (size_t i = 0; i < json_array_size(runs); i++) {
        static const char *const always[] = {"name", "namespace"};
        const json_t *run = json_array_get(runs, i);
        json_t *one = batchscore_transform(run);
        json_object_set(one, "kind", json_object_get(run, "kind"));
        for (size_t k = 0; k < ARRAY_LEN(always); k++) {
            json_object_set(json_object_get(one, "metadata"), always[k],
                            json_object_get(json_object_get(run, "metadata"), always[k]));
        }
        json_array_append_new(kept, one);
    }
    return kept;
}

static int plan(const json_t *row, const struct job_observed *observed, const json_t *runs,
                int64_t now_ms, struct plan_result *ret_result, struct error *err) {
    AUTO(batchscore_schedule_freep)
    struct batchscore_schedule *schedule = batchscore_schedule_read(json_object_get(row, "object"));
    struct batchscore_observed all = {.job = *observed, .runs = runs, .schedule = schedule};
    return batchscore_decide(&all, now_ms, ret_result, err);
}

static const struct plan_rows goldens = {
    .folder = "tests/data/plan", .plan = plan, .keep_runs = keep_runs};

static void test_owned(void) {
    AUTO(tree_freep) json_t *base = plan_rows_base(&goldens);
    const json_t *object = json_object_get(base, "object");
    struct credentials credentials = {.secret = "paint-1a2b",
                                      .token = "TOKEN",
                                      .certificate = "CERTIFICATE",
                                      .certificate_sha256 = "ab12",
                                      .key = "KEY"};
    AUTO(tree_freep)
    json_t *service = owned_service(object, &batchscore_words.hub, &credentials, "{}");
    CHECK_STR(tree_text(service, "metadata.name", ""), "paint-coordinator");
    CHECK_STR(tree_text(service, "metadata.ownerReferences[0].uid", ""), "u-1");
    CHECK_INT(tree_integer(service, "spec.ports[0].port", 0), JOB_PORT);
    json_object_set_new(json_object_get(service, "metadata"), "uid", json_string("s-1"));
    AUTO(tree_freep)
    json_t *secret = owned_secret(object, &batchscore_words.hub, service, &credentials);
    CHECK_STR(tree_text(secret, "kind", ""), "Secret");
    CHECK_STR(tree_text(secret, "metadata.name", ""), "paint-1a2b");
    CHECK_STR(tree_text(secret, "metadata.ownerReferences[0].kind", ""), "Service");
    CHECK_STR(tree_text(secret, "metadata.ownerReferences[0].uid", ""), "s-1");
    CHECK(tree_bool(secret, "immutable", false));
    CHECK_STR(tree_text(secret, "stringData.token", ""), "TOKEN");
    /* Only the Secret has secret values. */
    AUTO(text_freep) char *text = tree_canonical(service);
    CHECK(!strstr(text, "TOKEN") && !strstr(text, "KEY"));
    CHECK(strstr(text, "ab12") != NULL);
}

static void test_finished(void) {
    AUTO(tree_freep) json_t *base = plan_rows_base(&goldens);
    json_t *object = json_object_get(base, "object");
    CHECK(!conditions_is_finished(object));
    static const struct {
        const char *status, *reason;
        int observed;
        bool finished;
    } rows[] = {
        {"Unknown", "Running", 1, false},  {"True", "Completed", 1, true},
        {"False", "Failed", 1, true},      {"False", "Failed", 0, true},
        {"False", "SpecInvalid", 1, true}, {"False", "SpecInvalid", 0, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        json_object_set_new(object, "status",
                            json_pack("{s:[{s:s, s:s, s:s, s:i}]}", "conditions", "type",
                                      "Succeeded", "status", rows[i].status, "reason",
                                      rows[i].reason, "observedGeneration", rows[i].observed));
        CHECK_INT(conditions_is_finished(object), rows[i].finished);
    }
}

/* The first pod that is made for base's object, after this change; owned. */
static json_t *first_pod(const json_t *spec, const json_t *status) {
    struct error err = {0};
    struct plan_result planned = {0};
    const struct ensured_objects none = {0};
    AUTO(tree_freep) json_t *base = plan_rows_base(&goldens);
    json_t *object = json_object_get(base, "object");
    const struct job_observed observed = {.object = object,
                                          .service = json_object_get(base, "service"),
                                          .pods = json_object_get(base, "pods"),
                                          .ensured = &none};
    json_object_update(tree_ensure_object(object, "spec"), (json_t *)spec);
    json_object_update(tree_ensure_object(object, "status"), (json_t *)status);
    CHECK_OK(plan(base, &observed, NULL, clock_parse(tree_text(base, "now", "")), &planned, &err),
             &err);
    AUTO(tree_freep) json_t *result = plan_result_json(&planned);
    json_t *pod = json_array_get(json_object_get(result, "create"), 0);
    CHECK_STR(tree_text(pod, "metadata.name", ""), "paint-coordinator-1");
    return json_incref(pod);
}

/* A coordinator is given up soon after its node is lost only where the output's storage keeps two
 * of them apart. */
static void test_coordinators_on_nodes_that_are_lost(void) {
    for (int excludes = 0; excludes < 2; excludes++) {
        AUTO(tree_freep) json_t *spec = json_object();
        AUTO(tree_freep) json_t *status = json_pack("{s:b}", "exclusive", excludes);
        AUTO(tree_freep) json_t *pod = first_pod(spec, status);
        CHECK_INT(json_array_size(tree_get(pod, "spec.tolerations")), excludes ? 2 : 0);
        CHECK_INT(owned_annotation(pod, ANNOTATION_ALONE) == NULL, excludes);
    }
}

static void check_variable(const json_t *pod, const char *name, const char *wanted) {
    const json_t *variables = tree_get(pod, "spec.containers[0].env");
    CHECK_STR(tree_text(tree_find(variables, "name", name), "value", ""), wanted);
}

/* For summary and result.json, besides what the coordinator sees itself. */
static void test_what_a_coordinator_gets(void) {
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:{s:{s:s}}, s:{s:{s:[s], s:s, s:{s:s}}}}", "input", "files", "path",
                             "data/in", "scorer", "command", "command", "x", "image",
                             "registry.test/x@sha256:01", "environment", "KEY", "hush");
    AUTO(tree_freep)
    json_t *status = json_pack("{s:[{s:s, s:i}]}", "retired", "pod", "w", "deaths", 10);
    AUTO(tree_freep) json_t *pod = first_pod(spec, status);
    check_variable(pod, "WINDLASS_IMAGES",
                   "{\"coordinator\":\"example.com/agent:1\",\"worker\":\"registry.test/"
                   "x@sha256:01\"}");
    check_variable(pod, "WINDLASS_RETIRED", "[{\"deaths\":10,\"pod\":\"w\"}]");
    const json_t *variables = tree_get(pod, "spec.containers[0].env");
    const char *manifest =
        tree_text(tree_find(variables, "name", "WINDLASS_MANIFEST"), "value", "");
    CHECK(strstr(manifest, "\"kind\":\"BatchScore\""));
    CHECK(strstr(manifest, "registry.test/x@sha256:01"));
    CHECK(strstr(manifest, "KEY") && !strstr(manifest, "hush"));
}

int main(void) {
    int failures = plan_rows_check(&goldens, 25);
    TEST(test_owned);
    TEST(test_finished);
    TEST(test_coordinators_on_nodes_that_are_lost);
    TEST(test_what_a_coordinator_gets);
    return failures ? 1 : TEST_END();
}
