// SPDX-License-Identifier: Apache-2.0
/* One pass over a Sweep of the most trials that a manifest may ask for, a thousand of which run and
 * report at numbers that no other trial has: each rule costs time in proportion to the trials. To
 * look at all trials for each report of each running one takes 14 s for a rule. */
#include "operator/kinds/kinds.h"
#include "operator/kinds/sweep/plan.h"
#include "operator/resource.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/resource.h>

enum { TRIALS = 10000, RUNNING = 1000, REPORTS = 40, PROCESSOR_SECONDS = 25 };

static struct schema *train;

static json_t *make_sweep(const char *rule) {
    AUTO(text_freep)
    char *text = x_printf(
        "{apiVersion: windlass.dev/v1beta1, kind: Sweep, metadata: {name: s, uid: u, generation: "
        "1}, spec: {objective: {metric: loss, goal: Minimize}, parameters: [{name: X, uniform: "
        "{min: \"0\", max: \"1\"}}], maxTrials: %d, maxConcurrentTrials: %d, earlyStopping: %s, "
        "trial: {workers: 1, image: i, launcher: None, command: [x, $(X)]}}}",
        TRIALS, RUNNING, rule);
    struct error err = {0};
    json_t *sweep = NULL;
    CHECK_OK(resource_parse("sweep.yaml", text, strlen(text), &sweep, &err), &err);
    return sweep;
}

static void make_row(int i, struct trial_row *row) {
    bool runs = i >= TRIALS - RUNNING;
    double best = (double)(i * 7919 % TRIALS) / TRIALS;
    AUTO(text_freep) char *name = x_printf("s-%04d", i);
    *row = (struct trial_row){.index = i,
                              .state = runs ? TRIAL_RUNNING : TRIAL_COMPLETED,
                              .name = x_strdup(name),
                              .uid = x_strdup(name),
                              .best = best,
                              .last = best,
                              .values = json_pack("{s:s}", "X", "0.5")};
    for (int k = 1; k <= REPORTS; k++) {
        int reports = runs && k > 1 ? TRIALS * k + i : k;
        curve_add(&row->curve, &(struct curve_point){reports, best, best, k});
    }
}

static void check_rule(const char *rule, const struct trial_row *rows, size_t stopped) {
    AUTO(tree_freep) json_t *sweep = make_sweep(rule);
    struct error err = {0};
    struct sweep_spec spec;
    struct plan_result result = {0};
    CHECK_OK(sweep_spec_read(sweep, &spec, &err), &err);
    json_object_set_new(sweep, "status",
                        json_pack("{s:s, s:i}", "specHash", spec.hash, "next", TRIALS));
    struct sweep_observed seen = {
        .job = {.object = sweep}, .train = train, .rows = rows, .count = TRIALS};
    CHECK_OK(sweep_decide(&seen, 1790000000000, &result, &err), &err);
    CHECK_INT(json_array_size(result.apply), stopped);
    plan_result_release(&result);
}

static void a_pass_of_each_rule(void) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_CPU, &limit) == 0);
    limit.rlim_cur = PROCESSOR_SECONDS;
    CHECK(setrlimit(RLIMIT_CPU, &limit) == 0); /* SIGXCPU ends this program */
    struct error err = {0};
    CHECK_OK(kinds_schema(kinds_find("DistTrain"), &train, &err), &err);
    struct trial_row *rows = x_calloc(TRIALS, sizeof *rows);
    for (int i = 0; i < TRIALS; i++) {
        make_row(i, &rows[i]);
    }
    check_rule("{median: {}}", rows, 498);
    check_rule("{bandit: {slackFactor: \"0.1\"}}", rows, RUNNING); /* the best is 0 */
    check_rule("{truncation: {percentage: 20}}", rows, 201);
    check_rule("{asha: {maxReports: 1000000, brackets: 8}}", rows, 670);
    for (int i = 0; i < TRIALS; i++) {
        trial_row_release(&rows[i]);
    }
    free(rows);
    schema_free(train);
}

int main(void) {
    TEST(a_pass_of_each_rule);
    return TEST_END();
}
