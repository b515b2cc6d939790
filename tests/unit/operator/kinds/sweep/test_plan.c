// SPDX-License-Identifier: Apache-2.0
/* Sweeps through their whole lives: the plan decides, a small world of DistTrains does what it is
 * told, loses some of its writes, in any order (a controller that is killed between any two), and
 * refuses some. */
#include "operator/kinds/sweep/plan.h"

#include "lib/curve.h"
#include "operator/object.h"
#include "operator/resource.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>

enum { REPORTS = 20, LOOKS_MAX = 20000, STEP_MS = 1000 };
static const int64_t start_ms = 1790000000000;

static struct schema *train;

struct world {
    json_t *sweep, *trials; /* trials: {NAME: DistTrain} */
    json_t *made;           /* {NAME: how often} */
    json_t *troubles;
    int64_t now_ms;
    uint64_t chance;
    int lossy;    /* of so many looks one is cut short; 0: none */
    int refusing; /* of so many creations one is refused; 0: none */
    int failing;  /* of so many trials one fails; 0: none */
    int running_most, stops;
    bool is_silent; /* trials report another metric */
};

static void open_world(struct world *world, const char *spec) {
    AUTO(text_freep)
    char *text =
        x_printf("{apiVersion: windlass.dev/v1alpha1, kind: Sweep, metadata: {name: s, uid: "
                 "01234567-0123-0123-0123-0123456789ab, generation: 1}, spec: {%s, trial: "
                 "{workers: 1, image: i, launcher: None, command: [x, $(X)]}}}",
                 spec);
    struct error err = {0};
    *world = (struct world){.trials = json_object(),
                            .made = json_object(),
                            .troubles = json_object(),
                            .now_ms = start_ms,
                            .chance = test_seed(1)};
    CHECK_OK(resource_parse("sweep.yaml", text, strlen(text), &world->sweep, &err), &err);
}

static void close_world(struct world *world) {
    json_decref(world->sweep);
    json_decref(world->trials);
    json_decref(world->made);
    json_decref(world->troubles);
}

static double x_of(const json_t *trial) {
    return strtod(
        json_string_value(json_object_get(tree_get(trial, "spec.environment"), "PARAM_X")), NULL);
}

/* The more reports the better, and the better the nearer X is to 0.7. */
static double value_after(const json_t *trial, int64_t reports) {
    return (1 - fabs(x_of(trial) - 0.7)) * (1 - exp(-(double)reports / 5));
}

static void end_trial(json_t *trial, const char *status, const char *reason, const char *message) {
    json_object_set_new(tree_part(trial, "status"), "conditions",
                        json_pack("[{s:s, s:s, s:s, s:s}]", "type", "Succeeded", "status", status,
                                  "reason", reason, "message", message));
}

static bool has_ended(const json_t *trial) {
    return object_condition(json_object_get(trial, "status"), "Succeeded") != NULL;
}

static void report(const struct world *world, json_t *trial, int64_t reports) {
    struct curve curve = {0};
    double best = -INFINITY, mean = 0;
    for (int64_t k = 1; k <= reports; k++) {
        double value = value_after(trial, k);
        best = fmax(best, value);
        mean += (value - mean) / (double)k;
        if (curve_is_due(k, 1, 0)) {
            curve_add(&curve, &(struct curve_point){k, best, mean, -1});
        }
    }
    char text[CURVE_TEXT_MAX], number[32];
    curve_write(&curve, text);
    snprintf(number, sizeof number, "%.9g", best);
    json_t *objective = world->is_silent
                            ? json_pack("{s:I, s:[s, s], s:I}", "reports", (json_int_t)0, "others",
                                        "acc", "loss", "otherReports", (json_int_t)reports)
                            : json_pack("{s:I, s:s, s:s}", "reports", (json_int_t)reports, "best",
                                        number, "at", text);
    json_object_set_new(tree_part(trial, "status"), "objective", objective);
    curve_release(&curve);
}

/* Each that runs comes some reports further; one that was told to stop has ended. */
static void turn(struct world *world) {
    const char *name;
    json_t *trial;
    int running = 0;
    json_object_foreach(world->trials, name, trial) {
        if (has_ended(trial) || tree_bool(trial, "spec.suspend", false)) {
            continue;
        }
        running++;
        int64_t reports = tree_integer(trial, "status.objective.reports", 0) +
                          tree_integer(trial, "status.objective.otherReports", 0) +
                          (int64_t)test_below(&world->chance, 5);
        if (tree_text(trial, "spec.stop", NULL)) {
            end_trial(trial, "False", "Stopped", tree_text(trial, "spec.stop", ""));
            world->stops++;
        } else if (world->failing > 0 &&
                   test_mix((uint64_t)(x_of(trial) * 1e6)) % (uint64_t)world->failing == 0) {
            end_trial(trial, "False", "RankFailed", "rank 0 ended with 7");
        } else {
            report(world, trial, MIN(reports, REPORTS));
            if (reports >= REPORTS) {
                end_trial(trial, "True", "Completed", "");
            }
        }
    }
    world->running_most = MAX(world->running_most, running);
}

/* ---- writes ---- */

static bool create(struct world *world, const json_t *made) {
    const char *name = tree_text(made, "metadata.name", "");
    AUTO(text_freep) char *key = x_printf("DistTrain %s", name);
    if (world->refusing > 0 && test_below(&world->chance, (uint64_t)world->refusing) == 0) {
        json_object_set_new(world->troubles, key,
                            json_pack("{s:s, s:s}", "why", "Denied", "text", "quota"));
        return false;
    }
    json_object_del(world->troubles, key);
    if (json_object_get(world->trials, name)) {
        return true; /* CONFLICT: it is there */
    }
    json_t *trial = json_deep_copy(made);
    json_object_set_new(json_object_get(trial, "metadata"), "uid", json_string(name));
    json_object_set_new(world->trials, name, trial);
    int64_t before = json_integer_value(json_object_get(world->made, name));
    json_object_set_new(world->made, name, json_integer(before + 1));
    return true;
}

static void apply(struct world *world, const json_t *change) {
    json_t *trial = json_object_get(world->trials, tree_text(change, "metadata.name", ""));
    if (trial &&
        strcmp(tree_text(change, "metadata.uid", "?"), tree_text(trial, "metadata.uid", "")) == 0) {
        const char *stop = tree_text(trial, "spec.stop", NULL);
        json_object_update(json_object_get(trial, "spec"), json_object_get(change, "spec"));
        CHECK(!stop || strcmp(stop, tree_text(trial, "spec.stop", "")) == 0);
    }
}

static int by_index(const void *left, const void *right) {
    int64_t a = ((const struct trial_row *)left)->index,
            b = ((const struct trial_row *)right)->index;
    return (a > b) - (a < b);
}

static json_t *plan(const struct world *world) {
    struct trial_row *rows = x_calloc(json_object_size(world->trials) + 1, sizeof *rows);
    struct sweep_spec spec;
    struct error err = {0};
    size_t count = 0;
    const char *name;
    json_t *trial;
    CHECK_OK(sweep_spec_read(world->sweep, &spec, &err), &err);
    json_object_foreach(world->trials, name, trial) {
        CHECK(trial_row_read(trial, &spec.space, spec.metric, &rows[count]));
        count++;
    }
    qsort(rows, count, sizeof *rows, by_index);
    struct sweep_observed observed = {.object = world->sweep,
                                      .train = train,
                                      .rows = rows,
                                      .count = count,
                                      .troubles = world->troubles};
    json_t *result = sweep_plan(&observed, world->now_ms);
    for (size_t i = 0; i < count; i++) {
        trial_row_release(&rows[i]);
    }
    free(rows);
    return result;
}

/* All writes of a look in some order, or only some of them. */
static void carry_out(struct world *world, const json_t *result) {
    const json_t *creates = json_object_get(result, "create"),
                 *applies = json_object_get(result, "apply");
    size_t all = json_array_size(creates) + json_array_size(applies) + 1, done = 0;
    bool is_cut = world->lossy > 0 && test_below(&world->chance, (uint64_t)world->lossy) == 0;
    size_t left = is_cut ? test_below(&world->chance, all) : all;
    AUTO(tree_freep) json_t *writes = json_array();
    json_array_extend(writes, (json_t *)creates);
    json_array_extend(writes, (json_t *)applies);
    json_array_append(writes, json_object_get(result, "status"));
    for (size_t i = all; i > 1; i--) { /* Fisher and Yates */
        size_t other = test_below(&world->chance, i);
        json_t *a = json_incref(json_array_get(writes, i - 1));
        json_array_set(writes, i - 1, json_array_get(writes, other));
        json_array_set_new(writes, other, a);
    }
    for (; done < left; done++) {
        json_t *one = json_array_get(writes, done);
        if (one == json_object_get(result, "status")) {
            json_object_set(world->sweep, "status", one);
        } else if (tree_get(one, "spec.command")) {
            create(world, one);
        } else {
            apply(world, one);
        }
    }
}

static const json_t *succeeded(const struct world *world) {
    return object_condition(json_object_get(world->sweep, "status"), "Succeeded");
}

static bool is_over(const struct world *world) {
    return strcmp(tree_text(succeeded(world), "status", "Unknown"), "Unknown") != 0;
}

static void look(struct world *world) {
    AUTO(tree_freep) json_t *result = plan(world);
    carry_out(world, result);
    world->now_ms += STEP_MS;
}

static void live(struct world *world) {
    for (int i = 0; i < LOOKS_MAX && world->sweep && !is_over(world); i++) {
        look(world);
        turn(world);
    }
    CHECK(is_over(world));
}

/* Of those that completed. */
static double best_of(const struct world *world) {
    double best = -INFINITY;
    const char *name;
    json_t *trial;
    json_object_foreach(world->trials, name, trial) {
        bool is_well = strcmp(tree_text(trial, "status.conditions[0].status", ""), "True") == 0;
        best = is_well ? fmax(best, value_after(trial, REPORTS)) : best;
    }
    return best;
}

static void check_end(const struct world *world, const char *status, const char *reason) {
    CHECK_STR(tree_text(succeeded(world), "status", ""), status);
    CHECK_STR(tree_text(succeeded(world), "reason", ""), reason);
}

static void check_made_once(const struct world *world, size_t count) {
    CHECK_INT(json_object_size(world->made), count);
    const char *name;
    json_t *times;
    json_object_foreach(world->made, name, times) {
        CHECK_INT(json_integer_value(times), 1);
    }
}

/* ---- lives ---- */

#define OBJECTIVE "objective: {metric: accuracy, goal: Maximize}, "
#define RANGE "parameters: [{name: X, uniform: {min: \"0\", max: \"1\"}}], "

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

/* With the same seed the same points, whatever was lost on the way. */
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
static void test_hopeless_ones_are_stopped(void) {
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
    CHECK(tree_bool(first, "more", false) && tree_integer(first, "again_ms", -1) == 0);
    live(&world);
    check_end(&world, "True", "Completed");
    check_made_once(&world, 25);
    double x = strtod(tree_text(world.sweep, "status.best.values.X", ""), NULL);
    CHECK(fabs(x - 0.7) < 0.01);
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
    if (!strstr(message, "no trial said a value of accuracy; the last one, s-000") ||
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

/* ---- what happens on the way ---- */

/* Woken and judged in one look it would get two words, of which either may come last. */
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

/* Deleted ones are ends, and do not come again; the best stays. */
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
    json_object_set_new(world.troubles, "DistTrain s-0000",
                        json_pack("{s:s, s:s}", "why", why, "text", "because"));
    AUTO(tree_freep) json_t *result = plan(&world);
    const json_t *condition = object_condition(json_object_get(result, "status"), "Stalled");
    CHECK_STR(tree_text(condition, "reason", ""), reason);
    CHECK(strstr(tree_text(condition, "message", ""), says) != NULL);
    close_world(&world);
}

static void test_names_are_taken(void) {
    check_stalled("Taken", "NameTaken",
                  "DistTrain s-0000: because; it is not this sweep's; delete it");
    check_stalled("Refused", "ObjectRefused", "DistTrain s-0000: because");
}

static void test_what_does_not_begin(void) {
    struct world world;
    open_world(&world, OBJECTIVE RANGE "maxTrials: 12");
    struct sweep_observed observed = {
        .object = world.sweep, .train = train, .not_yet = "spec: not yet"};
    AUTO(tree_freep) json_t *refused = sweep_plan(&observed, start_ms);
    CHECK_INT(json_array_size(json_object_get(refused, "create")), 0);
    CHECK_STR(
        tree_text(object_condition(json_object_get(refused, "status"), "Stalled"), "message", ""),
        "spec: not yet");
    observed.not_yet = NULL;
    observed.warm_missing = "earlier";
    AUTO(tree_freep) json_t *cold = sweep_plan(&observed, start_ms);
    CHECK_INT(json_array_size(json_object_get(cold, "create")), 0);
    CHECK_STR(tree_text(object_condition(json_object_get(cold, "status"), "Stalled"), "reason", ""),
              "WarmStartMissing");
    observed.warm_missing = NULL;
    json_object_set_new(tree_get(world.sweep, "spec.trial"), "workers", json_integer(0));
    AUTO(tree_freep) json_t *wrong = sweep_plan(&observed, start_ms);
    const json_t *condition = object_condition(json_object_get(wrong, "status"), "Succeeded");
    CHECK_STR(tree_text(condition, "reason", ""), "SpecInvalid");
    CHECK(text_starts(tree_text(condition, "message", ""),
                      "spec.trial.workers: is 0, at least 1 is needed (with X="));
    close_world(&world);
}

int main(void) {
    struct error err = {0};
    CHECK_OK(resource_schema("windlass.dev/v1alpha1", "DistTrain", &train, &err), &err);
    TEST(test_a_quiet_life);
    TEST(test_killed_between_any_two_writes);
    TEST(test_hopeless_ones_are_stopped);
    TEST(test_a_grid_ends_with_its_points);
    TEST(test_bayesian_makes_one_a_look);
    TEST(test_too_many_failures);
    TEST(test_a_metric_that_never_appears);
    TEST(test_the_deadline);
    TEST(test_one_that_is_woken_is_judged_later);
    TEST(test_suspended_and_woken);
    TEST(test_trials_are_deleted);
    TEST(test_the_spec_is_changed);
    TEST(test_names_are_taken);
    TEST(test_what_does_not_begin);
    schema_free(train);
    return TEST_END();
}
