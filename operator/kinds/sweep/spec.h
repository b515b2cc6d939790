/* spec.h: a Sweep's JSON -> struct, and the rules between its fields (rules.c). The only parser of
 * the kind. Types, bounds and defaults come from crds/sweep.yaml (schema.h). That file has the same
 * rules as CEL with the same messages, except those about spec.trial, which a cluster accepts
 * unchecked (trial.h). */
#pragma once

#include "operator/kinds/sweep/front.h"
#include "operator/kinds/sweep/search/population.h"
#include "operator/kinds/sweep/search/space_points.h"
#include "operator/kinds/sweep/stopping/stopping.h"

enum {
    SWEEP_TRIALS_MAX = 10000,
    SWEEP_RUNNING_MAX = 1000,
    SWEEP_PREFIX_MAX = 38, /* of a trial's name: a DistTrain's 45, less "-0000-b" */
};

enum algorithm {
    ALGORITHM_RANDOM,
    ALGORITHM_GRID,
    ALGORITHM_BAYESIAN,
    ALGORITHM_POPULATION,
    ALGORITHM_COUNT
};
extern const char *const sweep_algorithms[]; /* spec.algorithm.kind by enum algorithm */

/* Texts and trees are borrowed from the object. */
struct sweep_spec {
    const json_t *object;
    const char *name, *namespace, *uid; /* uid: "" when it is not stored yet */
    const char *metric;
    enum goal goal;
    struct front_objective also[FRONT_ALSO_MAX]; /* spec.objective.also */
    size_t also_count;
    struct space space;
    enum algorithm algorithm;
    enum search search; /* of Random and Grid, and of the first trials of Bayesian */
    uint64_t seed;
    struct population population; /* of PopulationBased */
    struct rule rule;
    int64_t evaluation_interval, delay_evaluation;
    int64_t max_trials, max_running, max_failed;
    int64_t max_alike;               /* failures; 0: any number */
    int64_t active_deadline_seconds; /* 0: none */
    bool suspend;
    const json_t *trial, *warm_start, *registered; /* the last two: NULL where not given */
    char hash[65]; /* of all fields but those that may change once it has begun: status.specHash */
};

/* Checks only the rules between fields, for an object that passed schema_check. ERROR_INVALID and
 * "spec.parameters[1].uniform: min must be below max". */
NODISCARD int sweep_check(const json_t *object, struct error *err);
/* The same, and returns the space that it read, which needs no release. */
NODISCARD int sweep_check_space(const json_t *object, struct space *ret_space, struct error *err);

/* Reads an object with defaults filled in, and checks the rules. The result needs no release. */
NODISCARD int sweep_spec_read(const json_t *object, struct sweep_spec *ret_spec, struct error *err);

/* The maximum number of trials: maxTrials, or the number of points in the space if that is smaller
 * (in a population trials continue with the same point). */
int64_t sweep_trials(const struct sweep_spec *spec);

/* The fields that may change once a Sweep has begun; ends with NULL. */
extern const char *const sweep_mutable_fields[];
