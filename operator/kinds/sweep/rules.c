// SPDX-License-Identifier: Apache-2.0
/* The rules between the fields of a Sweep. crds/sweep.yaml has each as CEL with the same message,
 * except those about spec.trial, about duplicate choices, and about decimals, which CEL does not
 * see (operator/schema.h). */
#include "operator/kinds/job/after/after_reference.h"
#include "operator/kinds/job/parameters/parameters.h"
#include "operator/kinds/job/spec.h"
#include "operator/kinds/sweep/spec.h"

#include <string.h>

static int check_names(const json_t *spec, struct error *err) {
    const json_t *parameters = json_object_get(spec, "parameters");
    for (size_t i = 0; i < json_array_size(parameters); i++) {
        const char *name = tree_text(json_array_get(parameters, i), "name", "");
        AUTO(text_freep) char *field = x_printf("parameters[%zu].name", i);
        if (text_starts(name, "WINDLASS_") || text_starts(name, "AZ_") ||
            strcmp(name, "POD_IP") == 0) {
            return job_refuse(err, field,
                              "is a reserved variable (WINDLASS_..., AZ_..., POD_IP), which "
                              "$(NAME) would refer to; give it another name");
        }
        if (tree_find(tree_get(spec, "trial.volumes"), "name", name)) {
            return job_refuse(
                err, field,
                "is also a volume of trial, and $(NAME) is that volume's folder; give it "
                "another name");
        }
    }
    return 0;
}

static int check_algorithm(const json_t *spec, const struct space *space, struct error *err) {
    const char *kind = tree_text(spec, "algorithm.kind", "");
    if (tree_get(spec, "algorithm.rule") && strcmp(kind, "Random") != 0) {
        return job_refuse(err, "algorithm.rule", "belongs to kind: Random");
    }
    bool is_population = strcmp(kind, "PopulationBased") == 0;
    if (is_population != (tree_get(spec, "algorithm.population") != NULL)) {
        return job_refuse(err, "algorithm.population",
                          "belongs to kind: PopulationBased, which needs it");
    }
    if (is_population && json_object_get(spec, "earlyStopping")) {
        return job_refuse(err, "earlyStopping",
                          "a population replaces its worst trials itself; take it out");
    }
    for (int i = 0; i < space->count; i++) {
        if (strcmp(kind, "Grid") == 0 && space->at[i].expression != EXPRESSION_CHOICE) {
            return job_refuse(
                err, "algorithm.kind",
                "Grid tries every combination of choices, and a range is not a list of choices; "
                "give every parameter as choice, or use Random or Bayesian");
        }
    }
    return strcmp(kind, "Grid") == 0 && space_size(space) == 0
               ? job_refuse(err, "algorithm.kind",
                            "Grid has more than 2^40 points here; take Random or Bayesian")
               : 0;
}

static int check_also(const json_t *spec, struct error *err) {
    const char *metric = tree_text(spec, "objective.metric", "");
    bool is_twice = tree_find(tree_get(spec, "objective.also"), "metric", metric) != NULL;
    return is_twice ? job_refuse(err, "objective.also",
                                 "has objective.metric, which is the first objective; take it out")
                    : 0;
}

static int check_stopping(const json_t *spec, struct error *err) {
    static const char *const rules[] = {"bandit", "median", "truncation", "asha", "hyperband"};
    static const char *const slacks[] = {"slackFactor", "slackAmount"};
    const json_t *stopping = json_object_get(spec, "earlyStopping");
    const json_t *bandit = json_object_get(stopping, "bandit");
    if (stopping && !job_only_one(stopping, rules, ARRAY_LEN(rules))) {
        return job_refuse(
            err, "earlyStopping",
            "exactly one of bandit, median, truncation, asha and hyperband must be given");
    }
    return bandit && !job_only_one(bandit, slacks, ARRAY_LEN(slacks))
               ? job_refuse(err, "earlyStopping.bandit",
                            "exactly one of slackFactor and slackAmount must be given")
               : 0;
}

static int check_warm_start(const json_t *object, struct error *err) {
    const json_t *list = tree_get(object, "spec.warmStart");
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_equal(json_array_get(list, i), tree_get(object, "metadata.name"))) {
            return job_refuse(err, "warmStart", "names this sweep itself; name earlier ones");
        }
    }
    return 0;
}

static int check_register(const json_t *spec, struct error *err) {
    const char *path = tree_text(spec, "register.path", "");
    return job_has_parent_part(path)
               ? job_refuse(err, "register.path",
                            "a path may not contain .. (it stays in its volume)")
               : 0;
}

int sweep_check(const json_t *object, struct error *err) {
    struct space space;
    return sweep_check_space(object, &space, err);
}

int sweep_check_space(const json_t *object, struct space *ret_space, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    return after_reference_check(object, err) < 0 || parameters_check(object, err) < 0 ||
                   space_read(json_object_get(spec, "parameters"), ret_space, err) < 0 ||
                   check_names(spec, err) < 0 || check_algorithm(spec, ret_space, err) < 0 ||
                   check_also(spec, err) < 0 || check_stopping(spec, err) < 0 ||
                   check_warm_start(object, err) < 0
               ? -1
               : check_register(spec, err);
}
