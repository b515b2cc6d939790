// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/spec.h"

#include "operator/kinds/job/spec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const sweep_algorithms[] = {"Random", "Grid", "Bayesian"};
static_assert(ARRAY_LEN(sweep_algorithms) == ALGORITHM_COUNT, "one name per algorithm");

/* The fields that may change while it runs; the rule at the root of the definition has all others.
 */
const char *const sweep_mutable_fields[] = {
    "suspend", "maxTrials", "maxConcurrentTrials", "maxFailedTrials", "activeDeadlineSeconds",
    NULL};

static double number(const json_t *json, const char *name) {
    return strtod(tree_text(json, name, "0"), NULL);
}

static struct rule read_rule(const json_t *stopping) {
    const json_t *bandit = json_object_get(stopping, "bandit");
    const json_t *truncation = json_object_get(stopping, "truncation");
    return (struct rule){
        .kind = bandit                                ? RULE_BANDIT
                : truncation                          ? RULE_TRUNCATION
                : json_object_get(stopping, "median") ? RULE_MEDIAN
                                                      : RULE_NONE,
        .slack_factor = number(bandit, "slackFactor"),
        .slack_amount = number(bandit, "slackAmount"),
        .percentage = job_bounded(truncation, "percentage", 1, 99),
        .excludes_finished = tree_bool(truncation, "excludeFinished", false),
    };
}

static enum search read_search(const json_t *algorithm, enum algorithm kind) {
    bool is_sobol = strcmp(tree_text(algorithm, "rule", "Random"), "Sobol") == 0;
    return kind == ALGORITHM_GRID ? SEARCH_GRID : is_sobol ? SEARCH_SOBOL : SEARCH_RANDOM;
}

int sweep_spec_read(const json_t *object, struct sweep_spec *ret_spec, struct error *err) {
    const json_t *json = json_object_get(object, "spec");
    const json_t *algorithm = json_object_get(json, "algorithm");
    const json_t *stopping = json_object_get(json, "earlyStopping");
    struct space space;
    if (sweep_check_space(object, &space, err) < 0) {
        return -1;
    }
    enum algorithm kind =
        (enum algorithm)tree_choice(algorithm, "kind", sweep_algorithms, ALGORITHM_COUNT);
    *ret_spec = (struct sweep_spec){
        .object = object,
        .name = tree_text(object, "metadata.name", ""),
        .namespace = tree_text(object, "metadata.namespace", "default"),
        .uid = tree_text(object, "metadata.uid", ""),
        .metric = tree_text(json, "objective.metric", ""),
        .goal = (enum goal)tree_choice(json, "objective.goal", goal_names, GOAL_COUNT),
        .space = space,
        .algorithm = kind,
        .search = read_search(algorithm, kind),
        .seed = (uint64_t)tree_integer(algorithm, "seed", 0),
        .rule = read_rule(stopping),
        .evaluation_interval = MAX(tree_integer(stopping, "evaluationInterval", 1), 1),
        .delay_evaluation = MAX(tree_integer(stopping, "delayEvaluation", 0), 0),
        .max_trials = MAX(job_bounded(json, "maxTrials", 1, SWEEP_TRIALS_MAX), 1),
        .max_running = MAX(job_bounded(json, "maxConcurrentTrials", 4, SWEEP_RUNNING_MAX), 1),
        .max_failed = job_bounded(json, "maxFailedTrials", 5, SWEEP_TRIALS_MAX),
        .active_deadline_seconds = MAX(tree_integer(json, "activeDeadlineSeconds", 0), 0),
        .suspend = tree_bool(json, "suspend", false),
        .trial = json_object_get(json, "trial"),
        .warm_start = json_object_get(json, "warmStart"),
        .registered = json_object_get(json, "register"),
    };
    job_hash(json, sweep_mutable_fields, ret_spec->hash);
    return 0;
}

int64_t sweep_trials(const struct sweep_spec *spec) {
    int64_t size = space_size(&spec->space);
    bool has_end = size > 0 && spec->search != SEARCH_SOBOL;
    return has_end ? MIN(size, spec->max_trials) : spec->max_trials;
}
