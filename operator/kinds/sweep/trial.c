// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/trial.h"

#include "operator/kinds/disttrain/spec.h"
#include "operator/kinds/job/owned.h"
#include "operator/kinds/sweep/trial_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 128, UID_SHOWN = 8 };

static char *name_of(const char *sweep, int64_t index, int tried) {
    AUTO(text_freep) char *prefix = owned_prefix(sweep, SWEEP_PREFIX_MAX);
    AUTO(text_freep) char *first = x_printf("%s-%04lld", prefix, (long long)index);
    return owned_next_name(first, tried);
}

bool trial_is_named(const char *sweep, int64_t index, const char *name) {
    for (int tried = 0; tried < OWNED_NAMES_MAX; tried++) {
        AUTO(text_freep) char *one = name_of(sweep, index, tried);
        if (strcmp(one, name) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- the object ---- */

static const json_t *spec_schema(const struct schema *train) {
    return tree_get(schema_root(train), "properties.spec");
}

static json_t *metrics_of(const struct sweep_spec *spec) {
    json_t *also = spec->also_count > 0 ? json_array() : NULL;
    for (size_t i = 0; i < spec->also_count; i++) {
        json_array_append_new(also, json_string(spec->also[i].metric));
    }
    return json_pack("{s:s, s:s, s:I, s:I, s:o*}", "objective", spec->metric, "goal",
                     goal_names[spec->goal], "evaluationInterval",
                     (json_int_t)spec->evaluation_interval, "delayEvaluation",
                     (json_int_t)spec->delay_evaluation, "also", also);
}

static char *folder_of(const struct sweep_spec *spec, int64_t index) {
    return x_printf("%s-%.*s/%04lld", spec->name, UID_SHOWN, spec->uid, (long long)index);
}

/* The paths are those of the template, in the folder of the parent. */
static void begin_with(json_t *filled, const char *folder) {
    const char *output = tree_text(filled, "trainer.output.path", NULL);
    json_t *outputs = json_object_get(filled, "outputs"), *prepare, *own;
    if (output) {
        json_t *model = tree_get(filled, "trainer.model");
        json_t *made =
            json_pack("{s:o, s:O*}", "path", json_sprintf("%s/%s/model.onnx", output, folder),
                      "freeze", json_object_get(model, "freeze"));
        json_object_set_new(tree_get(filled, "trainer"), "model", made);
        return;
    }
    if (!json_object_get(filled, "inputs")) {
        json_object_set_new(filled, "inputs", json_array());
    }
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *one = json_array_get(outputs, i);
        json_array_append_new(json_object_get(filled, "inputs"),
                              json_pack("{s:o, s:o}", "id",
                                        json_sprintf("PARENT_%s", tree_text(one, "id", "")), "path",
                                        json_sprintf("%s/%s", tree_text(one, "path", ""), folder)));
    }
    prepare = json_pack("[s, s]", "windlass-agent", "begin");
    own = json_object_get(filled, "prepare");
    if (json_array_size(own) > 0) {
        json_array_append_new(prepare, json_string("--"));
        json_array_extend(prepare, own);
    }
    json_object_set_new(filled, "prepare", prepare);
}

static json_t *spec_of(const struct sweep_spec *spec, const struct schema *train, int64_t index,
                       const json_t *values, int64_t parent) {
    const json_t *schema = spec_schema(train);
    AUTO(tree_freep) json_t *all = json_copy((json_t *)values);
    for (int i = 0; i < spec->space.count; i++) {
        const char *name = spec->space.at[i].name;
        if (!json_object_get(all, name)) {
            json_object_set_new(all, name, json_null()); /* not active here */
        }
    }
    json_t *filled = trial_spec_fill(spec->trial, schema, all);
    AUTO(tree_freep) json_t *metrics = metrics_of(spec);
    AUTO(text_freep) char *folder = folder_of(spec, index);
    AUTO(text_freep) char *before = folder_of(spec, MAX(parent, (int64_t)0));
    if (parent >= 0) {
        begin_with(filled, before);
    }
    trial_spec_extend(filled, &(struct trial_spec_extras){values, metrics, folder});
    if (spec->suspend) {
        json_object_set_new(filled, "suspend", json_true());
    }
    return filled;
}

static json_t *make(const struct sweep_spec *spec, const struct schema *train, int64_t index,
                    const json_t *values, int64_t parent) {
    AUTO(text_freep) char *name = name_of(spec->name, index, 0);
    json_t *made = spec_of(spec, train, index, values, parent);
    AUTO(tree_freep)
    json_t *said = json_pack("{s:I, s:O}", "index", (json_int_t)index, "values", values);
    if (parent >= 0) {
        json_object_set_new(said, "parent", json_integer(parent));
    }
    AUTO(text_freep) char *annotation = tree_canonical(said);
    json_t *metadata = owned_metadata(spec->object, name, ROLE_TRIAL);
    json_object_set_new(metadata, "annotations",
                        json_pack("{s:s, s:s*}", ANNOTATION_TRIAL, annotation, ANNOTATION_RESTART,
                                  owned_annotation(spec->object, ANNOTATION_RESTART)));
    json_t *object = json_pack("{s:s, s:s, s:o, s:o}", "apiVersion",
                               tree_text(spec->object, "apiVersion", schema_api_version(train)),
                               "kind", schema_kind(train), "metadata", metadata, "spec", made);
    return object;
}

json_t *trial_make(const struct sweep_spec *spec, const struct schema *train, int64_t index,
                   const double *units, int64_t parent) {
    AUTO(tree_freep) json_t *values = space_values(&spec->space, units);
    return make(spec, train, index, values, parent);
}

json_t *trial_of_values(const struct sweep_spec *spec, const struct schema *train, int64_t index,
                        const json_t *values) {
    return make(spec, train, index, values, -1);
}

/* -1: it is none of the Sweep's names. */
static int64_t index_of(const char *sweep, const char *name) {
    AUTO(text_freep) char *prefix = owned_prefix(sweep, SWEEP_PREFIX_MAX);
    size_t length = strlen(prefix);
    if (!text_starts(name, prefix) || name[length] != '-') {
        return -1;
    }
    int64_t index = strtoll(name + length + 1, NULL, 10);
    return index >= 0 && index < SWEEP_TRIALS_MAX && trial_is_named(sweep, index, name) ? index
                                                                                        : -1;
}

static bool read_stripped(const json_t *trial, const struct space *space, int64_t *ret_index,
                          json_t **ret_values) {
    const char *sweep = disttrain_sweep(trial);
    bool has_begun = tree_integer(trial, "status.observedGeneration", -1) >= 0;
    *ret_index = sweep && has_begun ? index_of(sweep, tree_text(trial, "metadata.name", "")) : -1;
    if (*ret_index < 0) {
        return false;
    }
    const json_t *environment = tree_get(trial, "spec.environment");
    *ret_values = json_object();
    for (int i = 0; i < space->count; i++) {
        const char *name = space->at[i].name;
        AUTO(text_freep) char *variable = x_printf(TRIAL_SPEC_VARIABLE "%s", name);
        json_t *value = json_object_get(environment, variable);
        if (json_is_string(value)) { /* otherwise it is not active there */
            json_object_set(*ret_values, name, value);
        }
    }
    return true;
}

static bool read_annotation(const json_t *trial, int64_t *ret_index, json_t **ret_values) {
    const char *sweep = disttrain_sweep(trial);
    AUTO(tree_freep) json_t *values = NULL;
    int64_t index = -1;
    if (!disttrain_trial_annotation(trial, &index, &values) || index >= SWEEP_TRIALS_MAX ||
        (sweep && !trial_is_named(sweep, index, tree_text(trial, "metadata.name", "")))) {
        return false;
    }
    *ret_index = index;
    *ret_values = TAKE(values);
    return true;
}

bool trial_read(const json_t *trial, const struct space *space, int64_t *ret_index,
                json_t **ret_values) {
    return read_annotation(trial, ret_index, ret_values) ||
           read_stripped(trial, space, ret_index, ret_values);
}

/* ---- check ---- */

/* Refuses fields that the Sweep itself sets. */
static int check_own(const json_t *trial, struct error *err) {
    static const struct {
        const char *field, *sentence;
    } rows[] = {
        {"suspend", "is set by the sweep; suspend the sweep"},
        {"stop", "is set by the sweep; take it out"},
        {"after", "belongs to the sweep: give it as spec.after"},
        {"metrics.objective", "is set by spec.objective; take it out"},
        {"metrics.goal", "is set by spec.objective; take it out"},
        {"metrics.also", "is set by spec.objective.also; take it out"},
        {"metrics.evaluationInterval", "is set by spec.earlyStopping; take it out"},
        {"metrics.delayEvaluation", "is set by spec.earlyStopping; take it out"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (tree_get(trial, rows[i].field)) {
            return error_set(err, ERROR_INVALID, "spec.trial.%s: %s", rows[i].field,
                             rows[i].sentence);
        }
    }
    return 0;
}

/* What a trial of a population leaves for the next: a trainer its model, a command its outputs. */
static int check_population(const struct sweep_spec *spec, struct error *err) {
    bool has_none = !json_object_get(spec->trial, "trainer") &&
                    json_array_size(json_object_get(spec->trial, "outputs")) == 0;
    return spec->algorithm == ALGORITHM_POPULATION && has_none
               ? error_set(
                     err, ERROR_INVALID,
                     "spec.trial.outputs: is empty, so a trial of a population leaves nothing "
                     "from which another could continue; give the folder of its checkpoint")
               : 0;
}

/* A command may read PARAM_NAME, which cannot be checked; a trainer has only its spec. */
static int check_use(const struct sweep_spec *spec, struct error *err) {
    for (int i = 0; i < spec->space.count; i++) {
        const char *name = spec->space.at[i].name;
        if (json_object_get(spec->trial, "trainer") && !trial_spec_uses(spec->trial, name)) {
            return error_set(err, ERROR_INVALID,
                             "spec.parameters[%d].name: %s is used nowhere in trial, whose trainer "
                             "would do the same with every value; write $(%s) where it belongs",
                             i, name, name);
        }
        if (spec->space.at[i].parent >= 0 && trial_spec_follows_option(spec->trial, name)) {
            return error_set(
                err, ERROR_INVALID,
                "spec.parameters[%d].name: where %s has no value, a text with $(%s) is "
                "left out, and the option before it would have none; write both as one: "
                "--option=$(%s)",
                i, name, name, name);
        }
    }
    return 0;
}

/* "spec.trainer.epochs: ..." -> "spec.trial.trainer.epochs: ... (with EPOCHS=0)". */
static int refuse(const struct error *problem, const json_t *values, struct error *err) {
    if (problem->kind != ERROR_INVALID) {
        *err = *problem;
        return -1;
    }
    char with[200] = "";
    size_t used = 0;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)values, name, value) {
        int length = snprintf(with + used, sizeof with - used, "%s%s=%.40s", used ? ", " : "", name,
                              json_string_value(value));
        used = MIN(used + (size_t)MAX(length, 0), sizeof with - 1);
    }
    const char *text = problem->text;
    bool is_of_spec = text_starts(text, "spec.") || text_starts(text, "spec:");
    return error_set(err, ERROR_INVALID, "spec.trial%s%s (with %s)", is_of_spec ? "" : ": ",
                     is_of_spec ? text + strlen("spec") : text, with);
}

static int refuse_output(struct error *err, const char *sentence) {
    return error_set(err, ERROR_INVALID, "spec.register.output: %s", sentence);
}

int trial_model_path(const json_t *registered, const json_t *trial_spec, const char **ret_path,
                     struct error *err) {
    const char *wanted = tree_text(registered, "output", NULL);
    const json_t *outputs = json_object_get(trial_spec, "outputs");
    if (json_object_get(trial_spec, "trainer")) {
        *ret_path = tree_text(trial_spec, "trainer.output.path", "");
        return wanted ? refuse_output(err, "belongs to a command; a trainer has one output: take "
                                           "it out")
                      : 0;
    }
    const json_t *output = wanted ? tree_find(outputs, "id", wanted) : json_array_get(outputs, 0);
    if (!output && wanted) {
        return refuse_output(err, "is the id of none of trial.outputs");
    }
    if (!output) {
        return error_set(err, ERROR_INVALID,
                         "spec.register: trial has no outputs, so there is nothing to register; "
                         "give trial.outputs the one that the model is in");
    }
    if (!wanted && json_array_size(outputs) > 1) {
        return refuse_output(err, "must be given, as trial.outputs has several: the id of the one "
                                  "that the model is in");
    }
    *ret_path = tree_text(output, "path", "");
    return 0;
}

static int check_register(const struct sweep_spec *spec, const json_t *made, struct error *err) {
    if (!spec->registered) {
        return 0;
    }
    AUTO(tree_freep) json_t *all = json_copy((json_t *)made);
    json_object_set(all, "register", (json_t *)spec->registered);
    const char *ignored;
    return job_check_place(all, "register.path", tree_text(all, "register.path", ""), err) < 0 ||
                   job_check_written(all, "register.path", "a registry needs one", err) < 0
               ? -1
               : trial_model_path(spec->registered, made, &ignored, err);
}

static int check_point(const struct sweep_spec *spec, const struct schema *train,
                       const double *units, struct error *err) {
    int64_t parent = spec->algorithm == ALGORITHM_POPULATION ? 0 : -1;
    AUTO(tree_freep) json_t *object = trial_make(spec, train, 0, units, parent);
    AUTO(tree_freep) json_t *values = space_values(&spec->space, units);
    struct error problem = {0};
    /* Our own owner and labels would not be valid in a manifest. */
    json_object_set_new(object, "metadata",
                        json_pack("{s:O}", "name", tree_get(object, "metadata.name")));
    schema_fill_defaults(train, object);
    json_object_set(json_object_get(object, "spec"), "after", tree_get(spec->object, "spec.after"));
    if (schema_check(train, object, &problem) < 0 || disttrain_check(object, &problem) < 0) {
        return refuse(&problem, values, err);
    }
    return check_register(spec, json_object_get(object, "spec"), err);
}

/* The points of one parameter, from the middle of all parameters. A distribution without ends has
 * only the middle. */
static int check_parameter(const struct sweep_spec *spec, const struct schema *train, int which,
                           struct error *err) {
    const struct space_parameter *parameter = &spec->space.at[which];
    double units[SPACE_PARAMETERS_MAX];
    for (int i = 0; i < spec->space.count; i++) {
        units[i] = 0.5;
    }
    int ends = parameter->expression < EXPRESSION_NORMAL ? 2 : 0;
    int points =
        parameter->choices ? MIN((int)parameter->count, POINTS_MAX / spec->space.count) : ends;
    for (int i = 0; i < points; i++) {
        units[which] = parameter->choices ? (i + 0.5) / (double)parameter->count : i;
        if (check_point(spec, train, units, err) < 0) {
            return -1;
        }
    }
    units[which] = 0.5;
    return points > 0 ? 0 : check_point(spec, train, units, err);
}

int trial_check(const json_t *object, const struct schema *train, struct error *err) {
    struct sweep_spec spec;
    if (sweep_spec_read(object, &spec, err) < 0 || check_own(spec.trial, err) < 0 ||
        check_population(&spec, err) < 0 || check_use(&spec, err) < 0) {
        return -1;
    }
    for (int i = 0; i < spec.space.count; i++) {
        if (check_parameter(&spec, train, i, err) < 0) {
            return -1;
        }
    }
    return 0;
}
