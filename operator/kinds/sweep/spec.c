// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/spec.h"

#include "operator/kinds/job/spec.h"
#include "operator/kinds/sweep/stopping/stopping_asha.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const sweep_algorithms[] = {"Random", "Grid", "Bayesian", "PopulationBased"};
static_assert(ARRAY_LEN(sweep_algorithms) == ALGORITHM_COUNT, "one name per algorithm");

/* The fields that may change while it runs; the rule at the root of the definition has all others.
 */
const char *const sweep_mutable_fields[] = {"suspend",
                                            "maxTrials",
                                            "maxConcurrentTrials",
                                            "maxFailedTrials",
                                            "maxAlikeFailures",
                                            "activeDeadlineSeconds",
                                            NULL};

static double number(const json_t *json, const char *name) {
    return strtod(tree_text(json, name, "0"), NULL);
}

static struct rule read_halving(const json_t *asha, const json_t *hyperband) {
    const json_t *from = asha ? asha : hyperband;
    struct rule rule = {
        .kind = RULE_ASHA,
        .min_reports = MAX(job_bounded(from, "minReports", 0, 1000000), 1),
        .max_reports = MAX(job_bounded(from, "maxReports", 0, 1000000), 1),
        .factor = (int)MAX(job_bounded(from, "reductionFactor", 0, 16), 2),
        .brackets = (int)MAX(job_bounded(from, "brackets", 0, 8), 1),
    };
    rule.brackets = asha ? rule.brackets : stopping_asha_brackets(&rule);
    return rule;
}

static struct rule read_rule(const json_t *stopping) {
    const json_t *asha = json_object_get(stopping, "asha");
    const json_t *hyperband = json_object_get(stopping, "hyperband");
    if (asha || hyperband) {
        return read_halving(asha, hyperband);
    }
    const json_t *bandit = json_object_get(stopping, "bandit");
    const json_t *truncation = json_object_get(stopping, "truncation");
    return (struct rule){
        .kind = bandit                                ? RULE_BANDIT
                : truncation                          ? RULE_TRUNCATION
                : json_object_get(stopping, "median") ? RULE_MEDIAN
                                                      : RULE_NONE,
        .slack_factor = number(bandit, "slackFactor"),
        .slack_amount = number(bandit, "slackAmount"),
        .percentage = job_bounded(truncation, "percentage", 0, 99),
        .excludes_finished = tree_bool(truncation, "excludeFinished", false),
    };
}

static enum search read_search(const json_t *algorithm, enum algorithm kind) {
    bool is_sobol = strcmp(tree_text(algorithm, "rule", ""), "Sobol") == 0;
    return kind == ALGORITHM_GRID ? SEARCH_GRID : is_sobol ? SEARCH_SOBOL : SEARCH_RANDOM;
}

static void read_also(const json_t *objective, struct sweep_spec *spec) {
    const json_t *list = json_object_get(objective, "also");
    spec->also_count = MIN(json_array_size(list), (size_t)FRONT_ALSO_MAX);
    for (size_t i = 0; i < spec->also_count; i++) {
        const json_t *one = json_array_get(list, i);
        spec->also[i] =
            (struct front_objective){tree_text(one, "metric", ""),
                                     (enum goal)tree_choice(one, "goal", goal_names, GOAL_COUNT)};
    }
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
        .population = {MAX(job_bounded(algorithm, "population.size", 0, SWEEP_RUNNING_MAX), 2),
                       job_bounded(algorithm, "population.percentage", 0, 50)},
        .rule = read_rule(stopping),
        .evaluation_interval = MAX(tree_integer(stopping, "evaluationInterval", 0), 1),
        .delay_evaluation = MAX(tree_integer(stopping, "delayEvaluation", 0), 0),
        .max_trials = MAX(job_bounded(json, "maxTrials", 0, SWEEP_TRIALS_MAX), 1),
        .max_running = MAX(job_bounded(json, "maxConcurrentTrials", 0, SWEEP_RUNNING_MAX), 1),
        .max_failed = job_bounded(json, "maxFailedTrials", 0, SWEEP_TRIALS_MAX),
        .max_alike = job_bounded(json, "maxAlikeFailures", 0, SWEEP_TRIALS_MAX),
        .active_deadline_seconds = MAX(tree_integer(json, "activeDeadlineSeconds", 0), 0),
        .suspend = tree_bool(json, "suspend", false),
        .trial = json_object_get(json, "trial"),
        .warm_start = json_object_get(json, "warmStart"),
        .registered = json_object_get(json, "register"),
    };
    read_also(json_object_get(json, "objective"), ret_spec);
    job_hash(json, sweep_mutable_fields, ret_spec->hash);
    return 0;
}

int64_t sweep_trials(const struct sweep_spec *spec) {
    int64_t size = space_size(&spec->space);
    bool has_end = size > 0 && spec->algorithm != ALGORITHM_POPULATION;
    return has_end ? MIN(size, spec->max_trials) : spec->max_trials;
}
