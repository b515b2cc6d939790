// SPDX-License-Identifier: Apache-2.0
/* One pass over a Sweep of the most trials that a manifest may ask for, a tenth of which run and
 * report at numbers that no other trial has: each rule costs time in proportion to the trials.
 * Measured against a pass over a tenth of them, so that no machine is too slow: to look at all
 * trials for each report of each running one takes a hundred times as long. */
#include "operator/kinds/kinds.h"
#include "operator/kinds/sweep/plan.h"
#include "operator/resource.h"
#include "tests/test.h"

#include <stdlib.h>
#include <time.h>

enum { TRIALS = 10000, SMALLER = 10, RUNS_OF = 10, REPORTS = 40, MEASURES = 3 };
/* Of the processor time of a pass over SMALLER times as many trials: with as many steps for each
 * it is 10, with as many for each pair 100. */
static const double GROWTH_MAX = 30;

static struct schema *train;

static json_t *make_sweep(const char *rule, int trials) {
    AUTO(text_freep)
    char *text = x_printf(
        "{apiVersion: windlass.dev/v1beta1, kind: Sweep, metadata: {name: s, uid: u, generation: "
        "1}, spec: {objective: {metric: loss, goal: Minimize}, parameters: [{name: X, uniform: "
        "{min: \"0\", max: \"1\"}}], maxTrials: %d, maxConcurrentTrials: %d, earlyStopping: %s, "
        "trial: {workers: 1, image: i, launcher: None, command: [x, $(X)]}}}",
        trials, trials / RUNS_OF, rule);
    struct error err = {0};
    json_t *sweep = NULL;
    CHECK_OK(resource_parse("sweep.yaml", text, strlen(text), &sweep, &err), &err);
    return sweep;
}

static void make_row(int i, int trials, struct trial_row *row) {
    bool runs = i >= trials - trials / RUNS_OF;
    double best = (double)(i * 7919 % trials) / trials;
    AUTO(text_freep) char *name = x_printf("s-%04d", i);
    *row = (struct trial_row){.index = i,
                              .state = runs ? TRIAL_RUNNING : TRIAL_COMPLETED,
                              .name = x_strdup(name),
                              .uid = x_strdup(name),
                              .best = best,
                              .last = best,
                              .values = json_pack("{s:s}", "X", "0.5")};
    for (int k = 1; k <= REPORTS; k++) {
        int reports = runs && k > 1 ? trials * k + i : k;
        curve_add(&row->curve, &(struct curve_point){reports, best, best, k});
    }
}

struct trials {
    int count;
    struct trial_row *rows;
};

static struct trials trials_make(int count) {
    struct trials trials = {count, x_calloc((size_t)count, sizeof *trials.rows)};
    for (int i = 0; i < count; i++) {
        make_row(i, count, &trials.rows[i]);
    }
    return trials;
}

static void trials_release(struct trials *trials) {
    for (int i = 0; i < trials->count; i++) {
        trial_row_release(&trials->rows[i]);
    }
    free(trials->rows);
}

static double processor_seconds(void) {
    struct timespec now;
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* One pass: how many trials it stops, and its time. */
static double judge(const char *rule, const struct trials *trials, size_t *ret_stopped) {
    AUTO(tree_freep) json_t *sweep = make_sweep(rule, trials->count);
    struct error err = {0};
    struct sweep_spec spec;
    struct plan_result result = {0};
    CHECK_OK(sweep_spec_read(sweep, &spec, &err), &err);
    json_object_set_new(sweep, "status",
                        json_pack("{s:s, s:i}", "specHash", spec.hash, "next", trials->count));
    struct sweep_observed seen = {.job = {.object = sweep},
                                  .train = train,
                                  .rows = trials->rows,
                                  .count = (size_t)trials->count};
    double began = processor_seconds();
    CHECK_OK(sweep_decide(&seen, 1790000000000, &result, &err), &err);
    double took = processor_seconds() - began;
    *ret_stopped = json_array_size(result.apply);
    plan_result_release(&result);
    return took;
}

/* The least of several passes: other work on the machine only adds to one. */
static double least_of(const char *rule, const struct trials *trials, size_t *ret_stopped) {
    double least = judge(rule, trials, ret_stopped);
    for (int i = 1; i < MEASURES; i++) {
        double took = judge(rule, trials, ret_stopped);
        least = took < least ? took : least;
    }
    return least;
}

static void a_pass_of_each_rule(void) {
    static const struct {
        const char *name, *rule;
        size_t stopped;
    } rules[] = {
        {"median", "{median: {}}", 498},
        {"bandit", "{bandit: {slackFactor: \"0.1\"}}", TRIALS / RUNS_OF}, /* the best is 0 */
        {"truncation", "{truncation: {percentage: 20}}", 201},
        {"asha", "{asha: {maxReports: 1000000, brackets: 8}}", 670},
    };
    struct error err = {0};
    CHECK_OK(kinds_schema(kinds_find("DistTrain"), &train, &err), &err);
    struct trials many = trials_make(TRIALS), few = trials_make(TRIALS / SMALLER);
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        size_t stopped = 0, of_few = 0;
        double small = least_of(rules[i].rule, &few, &of_few);
        double large = least_of(rules[i].rule, &many, &stopped);
        CHECK_INT(stopped, rules[i].stopped);
        CHECK(of_few > 0); /* the smaller pass judges, too */
        printf("# %s: %.1f ms of %d trials, %.1f ms of %d: %.1f times\n", rules[i].name,
               small * 1000, few.count, large * 1000, many.count, large / small);
        CHECK(large < GROWTH_MAX * small);
    }
    trials_release(&many);
    trials_release(&few);
    schema_free(train);
}

int main(void) {
    TEST(a_pass_of_each_rule);
    return TEST_END();
}
