// SPDX-License-Identifier: Apache-2.0
/* Sweeps through their whole lives (sweep_world.h), ends, and events on the way. */
#include "tests/plan_result_json.h"
#include "tests/unit/operator/kinds/sweep/sweep_world.h"

#include <time.h>

/* ---- lives ---- */

static void test_a_quiet_life(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 40, maxConcurrentTrials: 4");
    live(&world);
    check_end(&world, "True", "Completed");
    check_made_once(&world, 40);
    CHECK_INT(world.running_most, 4);
    CHECK_INT(world.stops, 0);
    CHECK_STR(tree_text(world.sweep, "status.progress", ""), "40/40");
    CHECK_INT(tree_integer(world.sweep, "status.trials.completed", 0), 40);
    CHECK_INT(tree_integer(world.sweep, "status.next", 0), 40);
    CHECK(fabs(strtod(tree_text(world.sweep, "status.best.value", ""), NULL) - best_of(&world)) <
          1e-8);
    const json_t *best =
        json_object_get(world.trials, tree_text(world.sweep, "status.best.trial", ""));
    CHECK(fabs(value_after(best, REPORTS) - best_of(&world)) < 1e-8);
    CHECK_STR(tree_text(world.sweep, "status.best.values.X", ""),
              json_string_value(json_object_get(tree_get(best, "spec.environment"), "PARAM_X")));
    CHECK(tree_get(world.sweep, "status.completionTime") != NULL);
    close_world(&world);
}

/* The same seed gives the same points, whatever was lost on the way. */
static void test_killed_between_any_two_writes(void) {
    static const char *const rules[] = {"", ", earlyStopping: {median: {}, delayEvaluation: 3}",
                                        ", earlyStopping: {bandit: {slackFactor: \"0.1\"}}",
                                        ", algorithm: {kind: Random, rule: Sobol}",
                                        ", earlyStopping: {truncation: {percentage: 20}}"};
    for (int64_t round = 0; round < test_rounds(60); round++) {
        struct world world;
        AUTO(text_freep)
        char *spec = x_printf(OBJECTIVE RANGE "maxTrials: 30, maxConcurrentTrials: 7%s",
                              rules[round % (int64_t)ARRAY_LEN(rules)]);
        open_world(&world, spec);
        world.chance += (uint64_t)round;
        world.lossy = 2;
        world.refusing = round % 3 == 0 ? 4 : 0;
        live(&world);
        check_end(&world, "True", "Completed");
        check_made_once(&world, 30);
        CHECK(world.running_most <= 7);
        CHECK(fabs(strtod(tree_text(world.sweep, "status.best.value", ""), NULL) -
                   best_of(&world)) < 1e-8);
        CHECK_INT(tree_integer(world.sweep, "status.trials.completed", 0) +
                      tree_integer(world.sweep, "status.trials.stopped", 0),
                  30);
        if (test_failures) {
            printf("# SOAK_SEED=%llu round %lld\n", (unsigned long long)test_seed(1),
                   (long long)round);
            close_world(&world);
            return;
        }
        close_world(&world);
    }
}

/* At the best value that a sweep without the rule has found. */
static void test_unpromising_ones_are_stopped(void) {
    static const char *const rules[] = {"median: {}", "bandit: {slackFactor: \"0.05\"}",
                                        "truncation: {percentage: 30}"};
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct world world;
        AUTO(text_freep)
        char *spec =
            x_printf(OBJECTIVE RANGE "maxTrials: 40, maxConcurrentTrials: 5, earlyStopping: {%s, "
                                     "delayEvaluation: 4}",
                     rules[i]);
        open_world(&world, spec);
        live(&world);
        check_end(&world, "True", "Completed");
        CHECK(world.stops >= 8 && world.stops < 40);
        CHECK_INT(tree_integer(world.sweep, "status.trials.stopped", 0), world.stops);
        double best = strtod(tree_text(world.sweep, "status.best.value", ""), NULL), all = 0;
        const char *name;
        json_t *trial;
        json_object_foreach(world.trials, name, trial) {
            all = fmax(all, value_after(trial, REPORTS));
        }
        CHECK(fabs(best - all) < 1e-8);
        close_world(&world);
    }
}

static void test_a_grid_ends_with_its_points(void) {
    struct world world;
    open_world(&world, OBJECTIVE "parameters: [{name: X, choice: [0, 1]}, {name: Z, choice: [a, b, "
                                 "c]}], maxTrials: 100, algorithm: {kind: Grid}");
    live(&world);
    check_end(&world, "True", "Completed");
    check_made_once(&world, 6);
    CHECK_STR(tree_text(world.sweep, "status.progress", ""), "6/6");
    CHECK_STR(tree_text(world.sweep, "status.best.values.X", ""), "1");
    CHECK_STR(tree_text(world.sweep, "status.best.trial", ""), "s-0003"); /* the first of equals */
    close_world(&world);
}

static void test_bayesian_makes_one_a_look(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE
               "maxTrials: 25, maxConcurrentTrials: 3, algorithm: {kind: Bayesian, seed: 3}");
    AUTO(tree_freep) json_t *first = plan(&world);
    CHECK_INT(json_array_size(json_object_get(first, "create")), 1);
    CHECK(tree_bool(first, "more", false) && !tree_get(first, "again_ms"));
    live(&world);
    check_end(&world, "True", "Completed");
    check_made_once(&world, 25);
    double x = strtod(tree_text(world.sweep, "status.best.values.X", ""), NULL);
    CHECK(fabs(x - 0.7) < 0.01);
    close_world(&world);
}

/* Of many parameters the message has as many as fit, each complete. */
static void test_values_are_told_whole(void) {
    struct world world;
    AUTO(text_freep) char *parameters = x_strdup("{name: X, choice: [0]}");
    for (int i = 0; i < 20; i++) {
        char *more = x_printf("%s, {name: PARAMETER_%02d, choice: [long-enough]}", parameters, i);
        free(parameters);
        parameters = more;
    }
    AUTO(text_freep)
    char *spec = x_printf(OBJECTIVE "parameters: [%s], maxTrials: 1", parameters);
    open_world(&world, spec);
    live(&world);
    check_end(&world, "True", "Completed");
    const char *message = tree_text(succeeded(&world), "message", "");
    CHECK(strstr(message, ": PARAMETER_00=long-enough, PARAMETER_01=long-enough, "));
    CHECK(text_ends(message, "=long-enough, ..."));
    close_world(&world);
}

/* ---- ends ---- */

static void test_too_many_failures(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 40, maxConcurrentTrials: 4, maxFailedTrials: 2");
    world.failing = 2;
    live(&world);
    check_end(&world, "False", "TooManyFailures");
    const char *message = tree_text(succeeded(&world), "message", "");
    CHECK(strstr(message, "more than maxFailedTrials 2; the last one, s-00") &&
          strstr(message, "RankFailed: rank 0 ended with 7"));
    CHECK(json_object_size(world.made) < 30);
    CHECK_INT(tree_integer(world.sweep, "status.trials.running", -1), 0);
    close_world(&world);
}

static void test_a_metric_that_never_appears(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 3");
    world.is_silent = true;
    live(&world);
    check_end(&world, "False", "ObjectiveMissing");
    const char *message = tree_text(succeeded(&world), "message", "");
    if (!strstr(message, "no trial reported a value of accuracy; the last one, s-000") ||
        !strstr(message, "no metric accuracy after 20 reports; there are: acc, loss")) {
        printf("# %s\n", message);
        test_failures++;
    }
    close_world(&world);
}

static void test_the_deadline(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE
               "maxTrials: 1000, maxConcurrentTrials: 4, activeDeadlineSeconds: 60");
    live(&world);
    check_end(&world, "True", "Completed");
    CHECK(
        text_starts(tree_text(succeeded(&world), "message", ""), "the deadline came; the best of"));
    CHECK(world.now_ms - start_ms < 70000 && world.stops > 0);
    CHECK(json_object_size(world.made) < 100);
    close_world(&world);
    open_world(&world, OBJECTIVE RANGE "maxTrials: 10, activeDeadlineSeconds: 2");
    live(&world);
    check_end(&world, "False", "DeadlineExceeded");
    close_world(&world);
}

/* ---- events on the way ---- */

/* Resumed and judged in one pass it would get two writes, of which either may come last. */
static void test_one_that_is_woken_is_judged_later(void) {
    struct world world;
    open_world(
        &world, OBJECTIVE RANGE
        "maxTrials: 10, maxConcurrentTrials: 8, earlyStopping: {bandit: {slackAmount: '0'}}");
    look(&world);
    turn(&world);
    const char *name;
    json_t *trial;
    json_object_foreach(world.trials, name, trial) {
        json_object_set_new(json_object_get(trial, "spec"), "suspend", json_true());
    }
    AUTO(tree_freep) json_t *woken = plan(&world);
    json_t *apply = json_object_get(woken, "apply");
    CHECK_INT(json_array_size(apply), json_object_size(world.trials));
    for (size_t i = 0; i < json_array_size(apply); i++) {
        CHECK(!tree_text(json_array_get(apply, i), "spec.stop", NULL));
    }
    json_object_foreach(world.trials, name, trial) {
        json_object_set_new(json_object_get(trial, "spec"), "suspend", json_false());
    }
    AUTO(tree_freep) json_t *judged = plan(&world);
    CHECK(json_array_size(json_object_get(judged, "apply")) >= 1);
    close_world(&world);
}

static void test_suspended_and_woken(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 10, maxConcurrentTrials: 3");
    look(&world);
    turn(&world);
    json_object_set_new(json_object_get(world.sweep, "spec"), "suspend", json_true());
    look(&world);
    look(&world);
    const char *name;
    json_t *trial;
    json_object_foreach(world.trials, name, trial) {
        CHECK(has_ended(trial) || tree_bool(trial, "spec.suspend", false));
    }
    CHECK_INT(json_object_size(world.trials), 3);
    CHECK_STR(tree_text(succeeded(&world), "reason", ""), "Suspended");
    json_object_set_new(json_object_get(world.sweep, "spec"), "suspend", json_false());
    live(&world);
    check_end(&world, "True", "Completed");
    check_made_once(&world, 10);
    close_world(&world);
}

/* Deleted trials count as ended, and do not come again; the best one remains. */
static void test_trials_are_deleted(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 12, maxConcurrentTrials: 3");
    for (int i = 0; i < 3; i++) {
        look(&world);
        turn(&world);
    }
    json_object_del(world.trials, "s-0001");
    while (!tree_get(world.sweep, "status.best")) {
        look(&world);
        turn(&world);
    }
    look(&world);
    AUTO(text_freep) char *best = x_strdup(tree_text(world.sweep, "status.best.trial", ""));
    AUTO(text_freep) char *value = x_strdup(tree_text(world.sweep, "status.best.value", ""));
    json_object_del(world.trials, best);
    live(&world);
    check_end(&world, "True", "Completed");
    check_made_once(&world, 12);
    CHECK_INT(tree_integer(world.sweep, "status.trials.deleted", 0), 2);
    CHECK_STR(tree_text(world.sweep, "status.progress", ""), "12/12");
    CHECK(strtod(tree_text(world.sweep, "status.best.value", ""), NULL) >= strtod(value, NULL));
    close_world(&world);
}

static void test_the_spec_is_changed(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 12, maxConcurrentTrials: 3");
    look(&world);
    json_t *spec = json_object_get(world.sweep, "spec");
    json_t *algorithm = json_object_get(spec, "algorithm");
    json_object_set_new(spec, "maxTrials", json_integer(14)); /* may change */
    json_object_set_new(algorithm, "seed", json_integer(9));
    json_object_set_new(json_object_get(world.sweep, "metadata"), "generation", json_integer(2));
    look(&world);
    look(&world);
    const json_t *stalled = object_condition(json_object_get(world.sweep, "status"), "Stalled");
    CHECK_STR(tree_text(stalled, "reason", ""), "SpecChanged");
    CHECK_INT(json_object_size(world.trials), 3);
    json_object_set_new(algorithm, "seed", json_integer(0));
    live(&world);
    check_end(&world, "True", "Completed");
    check_made_once(&world, 14);
    close_world(&world);
}

static void check_stalled(const char *why, const char *reason, const char *says) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 12");
    json_object_set_new(world.write_failures, "DistTrain s-0000",
                        json_pack("{s:s, s:s}", "why", why, "text", "because"));
    AUTO(tree_freep) json_t *result = plan(&world);
    const json_t *condition = object_condition(json_object_get(result, "status"), "Stalled");
    CHECK_STR(tree_text(condition, "reason", ""), reason);
    CHECK(strstr(tree_text(condition, "message", ""), says) != NULL);
    close_world(&world);
}

/* The first `count` names of the first trial are taken. */
static json_t *plan_with_taken(int count) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 12");
    for (int i = 0; i < count; i++) {
        AUTO(text_freep) char *name = owned_next_name("DistTrain s-0000", i);
        json_object_set_new(world.write_failures, name,
                            json_pack("{s:s, s:s}", "why", "Taken", "text", "because"));
    }
    json_t *result = plan(&world);
    close_world(&world);
    return result;
}

static void test_names_are_taken(void) {
    AUTO(tree_freep) json_t *next = plan_with_taken(3);
    CHECK_STR(tree_text(next, "create[0].metadata.name", ""), "s-0000-d");
    CHECK_STR(tree_text(next, "create[1].metadata.name", ""), "s-0001");
    CHECK(!object_condition(json_object_get(next, "status"), "Stalled"));
    AUTO(tree_freep) json_t *all = plan_with_taken(OWNED_NAMES_MAX);
    const json_t *stalled = object_condition(json_object_get(all, "status"), "Stalled");
    CHECK_STR(tree_text(stalled, "reason", ""), "NameTaken");
    CHECK(strstr(tree_text(stalled, "message", ""),
                 "DistTrain s-0000-j: because; it is not this sweep's; delete it"));
    check_stalled("Refused", "ObjectRefused", "DistTrain s-0000: because");
}

static void test_what_does_not_begin(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 12");
    struct sweep_observed observed = {
        .job.object = world.sweep, .train = train, .warm_missing = "earlier"};
    struct error err = {0};
    struct plan_result result = {0};
    CHECK_OK(sweep_decide(&observed, start_ms, &result, &err), &err);
    AUTO(tree_freep) json_t *cold = plan_result_json(&result);
    CHECK_INT(json_array_size(json_object_get(cold, "create")), 0);
    CHECK_STR(tree_text(object_condition(json_object_get(cold, "status"), "Stalled"), "reason", ""),
              "WarmStartMissing");
    observed.warm_missing = NULL;
    json_object_set_new(tree_get(world.sweep, "spec.trial"), "workers", json_integer(0));
    CHECK_OK(sweep_decide(&observed, start_ms, &result, &err), &err);
    AUTO(tree_freep) json_t *wrong = plan_result_json(&result);
    const json_t *condition = object_condition(json_object_get(wrong, "status"), "Succeeded");
    CHECK_STR(tree_text(condition, "reason", ""), "SpecInvalid");
    CHECK(text_starts(tree_text(condition, "message", ""),
                      "spec.trial.workers: is 0, at least 1 is needed (with X="));
    close_world(&world);
}

/* The order of 65,536 points is not made while there is no room for a trial. */
static void test_a_pass_without_room(void) {
    struct world world;
    struct sweep_spec spec;
    struct error err = {0};
    open_world(&world, OBJECTIVE "parameters: [{name: X, quniform: {min: \"0\", max: \"15\", q: "
                                 "\"1\"}}, {name: A, quniform: {min: \"0\", max: \"15\", q: "
                                 "\"1\"}}, {name: B, quniform: {min: \"0\", max: \"15\", q: "
                                 "\"1\"}}, {name: C, quniform: {min: \"0\", max: \"15\", q: "
                                 "\"1\"}}], maxTrials: 40, maxConcurrentTrials: 2");
    CHECK_OK(sweep_spec_read(world.sweep, &spec, &err), &err);
    CHECK_INT(space_size(&spec.space), SPACE_ORDER_MAX);
    for (int i = 0; i < 3; i++) {
        look(&world);
    }
    CHECK_INT((int64_t)json_object_size(world.trials), 2);
    clock_t start = clock();
    for (int i = 0; i < 5; i++) {
        json_decref(plan(&world));
    }
    clock_t passes = clock() - start;
    start = clock();
    for (int i = 0; i < 5; i++) {
        free(space_order(&spec.space, SPACE_ORDER_MAX, 1));
    }
    CHECK(passes < (clock() - start) / 2);
    close_world(&world);
}

int main(void) {
    struct error err = {0};
    CHECK_OK(kinds_schema(kinds_find("DistTrain"), &train, &err), &err);
    TEST(test_a_quiet_life);
    TEST(test_killed_between_any_two_writes);
    TEST(test_unpromising_ones_are_stopped);
    TEST(test_a_grid_ends_with_its_points);
    TEST(test_bayesian_makes_one_a_look);
    TEST(test_values_are_told_whole);
    TEST(test_too_many_failures);
    TEST(test_a_metric_that_never_appears);
    TEST(test_the_deadline);
    TEST(test_one_that_is_woken_is_judged_later);
    TEST(test_suspended_and_woken);
    TEST(test_trials_are_deleted);
    TEST(test_the_spec_is_changed);
    TEST(test_names_are_taken);
    TEST(test_what_does_not_begin);
    TEST(test_a_pass_without_room);
    schema_free(train);
    return TEST_END() || world_failures() > 0;
}
