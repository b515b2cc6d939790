// SPDX-License-Identifier: Apache-2.0
/* Every decision of the plan is a row (tests/plan_rows.h) in tests/data/plan-sw. Besides:
 *   runs         its trials, DistTrains in any order
 *   warm         the trials of spec.warmStart; warmMissing: one of these Sweeps is missing;
 *                warmObjectives: {NAME: spec.objective} of the existing ones */
#include "operator/kinds/sweep/plan.h"

#include "operator/kinds/disttrain/cache_transform.h"
#include "operator/kinds/kinds.h"
#include "operator/kinds/sweep/trial.h"
#include "operator/object.h"
#include "tests/plan_rows.h"
#include "tests/test.h"

#include <glob.h>
#include <stdlib.h>

static struct schema *train;

/* As the controller keeps them, with the cache's own data about each. */
static json_t *keep_trials(const json_t *trials) {
    static const char *const fields[] = {"name", "namespace"};
    json_t *kept = json_array();
    for (size_t i = 0; i < json_array_size(trials); i++) {
        const json_t *trial = json_array_get(trials, i);
        json_t *one = disttrain_transform(trial), *metadata = json_object_get(one, "metadata");
        for (size_t k = 0; k < ARRAY_LEN(fields); k++) {
            json_object_set(metadata, fields[k],
                            json_object_get(json_object_get(trial, "metadata"), fields[k]));
        }
        json_object_set(one, "kind", json_object_get(trial, "kind"));
        json_array_append_new(kept, one);
    }
    return kept;
}

struct rows {
    struct trial_row *at;
    size_t count;
};

static int by_index(const void *left, const void *right) {
    int64_t a = ((const struct trial_row *)left)->index,
            b = ((const struct trial_row *)right)->index;
    return (a > b) - (a < b);
}

static struct rows read_rows(const json_t *trials, const struct sweep_spec *spec) {
    struct rows rows = {x_calloc(json_array_size(trials) + 1, sizeof *rows.at), 0};
    for (size_t i = 0; i < json_array_size(trials); i++) {
        CHECK(trial_row_read(json_array_get(trials, i), &spec->space, spec->metric,
                             &rows.at[rows.count]));
        rows.count++;
    }
    qsort(rows.at, rows.count, sizeof *rows.at, by_index);
    return rows;
}

static void release(struct rows *rows) {
    for (size_t i = 0; i < rows->count; i++) {
        trial_row_release(&rows->at[i]);
    }
    free(rows->at);
}

static int plan(const json_t *row, const struct job_observed *observed, const json_t *runs,
                int64_t now_ms, struct plan_result *ret_result, struct error *err) {
    struct sweep_spec spec;
    struct rows own = {0}, warm = {0};
    struct error ignored = {0};
    AUTO(tree_freep) json_t *earlier = keep_trials(json_object_get(row, "warm"));
    if (sweep_spec_read(observed->object, &spec, &ignored) == 0) {
        own = read_rows(runs, &spec);
        warm = read_rows(earlier, &spec);
    }
    struct sweep_observed all = {.job = *observed,
                                 .train = train,
                                 .rows = own.at,
                                 .count = own.count,
                                 .warm = warm.at,
                                 .warm_count = warm.count,
                                 .warm_missing = tree_text(row, "warmMissing", NULL),
                                 .warm_objectives = json_object_get(row, "warmObjectives")};
    int result = sweep_decide(&all, now_ms, ret_result, err);
    release(&own);
    release(&warm);
    return result;
}

static const struct plan_rows goldens = {.folder = "tests/data/plan-sw",
                                         .plan = plan,
                                         .keep_runs = keep_trials,
                                         .made_kind = "DistTrain"};

static void test_the_definition_is_there(void) {
    struct error err = {0};
    CHECK_OK(kinds_schema(kinds_find("DistTrain"), &train, &err), &err);
}

/* "..., REASON, ..." of the definition's description. */
static bool is_listed(const char *list, const char *reason) {
    size_t size = strlen(reason);
    for (const char *at = list; (at = strstr(at, reason)); at += size) {
        bool begins = at == list || at[-1] == ' ';
        if (begins && (at[size] == ',' || at[size] == ';' || at[size] == '.')) {
            return true;
        }
    }
    return false;
}

/* Every reason in a golden row is described in the definition. */
static void test_reasons_are_in_the_definition(void) {
    struct error err = {0};
    AUTO(schema_freep) struct schema *sweep = NULL;
    glob_t found;
    CHECK_OK(kinds_schema(kinds_find("Sweep"), &sweep, &err), &err);
    const char *list = tree_text(
        schema_root(sweep),
        "properties.status.properties.conditions.items.properties.reason.description", "");
    CHECK(is_listed(list, "Completed") && !is_listed(list, "Complete"));
    CHECK(glob("tests/data/plan-sw/[0-9]*.json", 0, NULL, &found) == 0 && found.gl_pathc > 50);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        AUTO(tree_freep) json_t *row = json_load_file(found.gl_pathv[i], 0, NULL);
        const json_t *status = tree_get(row, "want.status");
        const char *reason = tree_text(object_condition(status, "Succeeded"), "reason", NULL);
        if (reason && !is_listed(list, reason)) {
            printf("# %s: %s is not in crds/sweep.yaml\n", found.gl_pathv[i], reason);
            test_failures++;
        }
    }
    globfree(&found);
}

/* A trial goes through the queue of the template, as the gang that it is. */
static void test_trials_pass_the_queue_on(void) {
    struct error err = {0};
    struct sweep_spec spec;
    static const double middle[SPACE_PARAMETERS_MAX] = {0.5};
    AUTO(tree_freep) json_t *base = plan_rows_base(&goldens);
    const json_t *sweep = json_object_get(base, "object");
    json_t *template = tree_get(sweep, "spec.trial");
    json_object_set_new(template, "gang", json_string("Kueue"));
    json_object_set_new(template, "queue", json_string("research"));
    CHECK_OK(trial_check(sweep, train, &err), &err);
    CHECK_OK(sweep_spec_read(sweep, &spec, &err), &err);
    AUTO(tree_freep) json_t *trial = trial_make(&spec, train, 0, middle, -1);
    CHECK_STR(tree_text(trial, "spec.gang", ""), "Kueue");
    CHECK_STR(tree_text(trial, "spec.queue", ""), "research");
    json_object_del(template, "queue");
    CHECK_INT(trial_check(sweep, train, &err), -1);
}

int main(void) {
    TEST(test_the_definition_is_there);
    TEST(test_trials_pass_the_queue_on);
    TEST(test_reasons_are_in_the_definition);
    int failures = plan_rows_check(&goldens, 50);
    schema_free(train);
    return failures ? 1 : TEST_END();
}
