// SPDX-License-Identifier: Apache-2.0
/* Experiment of Katib (kubeflow.org/v1beta1): a Sweep, whose trial is made as the job in
 * trialTemplate is. */
#include "operator/kinds/import/import_katib.h"
#include "operator/kinds/import/import_kubeflow.h"
#include "operator/kinds/import/import_policy.h"

#include <stdlib.h>
#include <string.h>

/* ---- the objective, the algorithm and its end ---- */

static void take_objective(struct import *import, const json_t *objective) {
    static const struct import_field fields[] = {
        {"type", NULL},
        {"objectiveMetricName", NULL},
        {"goal", "a sweep ends with maxTrials, not with a value"},
        {"additionalMetricNames", "trial.metrics.also keeps them, with a goal for each"},
        {"metricStrategies", "the best value a trial reported counts"},
        {0},
    };
    bool is_up = strcmp(tree_text(objective, "type", ""), "maximize") == 0;
    json_object_set_new(import->spec, "objective",
                        json_pack("{s:s, s:s}", "metric",
                                  tree_text(objective, "objectiveMetricName", ""), "goal",
                                  is_up ? "Maximize" : "Minimize"));
    import_report(import, objective, "objective.", fields);
}

/* The value of a setting, {name, value}; NULL: it is not there. */
static const char *setting(const json_t *part, const char *name) {
    return tree_text(tree_find(json_object_get(part, "algorithmSettings"), "name", name), "value",
                     NULL);
}

/* Leaves out the settings but that one and that one. */
static void report_settings(struct import *import, const json_t *part, const char *where,
                            const char *first, const char *second) {
    const json_t *settings = json_object_get(part, "algorithmSettings");
    for (size_t i = 0; i < json_array_size(settings); i++) {
        const char *name = tree_text(json_array_get(settings, i), "name", "");
        if (strcmp(name, first) != 0 && strcmp(name, second) != 0) {
            import_leave_out(import, "%s.algorithmSettings: %.60s", where, name);
        }
    }
}

static int take_algorithm(struct import *import, const json_t *spec, struct error *err) {
    static const char *const rows[][3] = {
        {"random", "Random", NULL},
        {"grid", "Grid", NULL},
        {"sobol", "Random", "Sobol"},
        {"hyperband", "Random", NULL},
        {"bayesianoptimization", "Bayesian", NULL},
        {"tpe", "Bayesian", NULL},
        {"multivariate-tpe", "Bayesian", NULL},
        {"cmaes", "Bayesian", NULL},
        {"pbt", "PopulationBased", NULL},
    };
    const json_t *algorithm = json_object_get(spec, "algorithm");
    const char *name = tree_text(algorithm, "algorithmName", "random");
    size_t i = 0;
    while (i < ARRAY_LEN(rows) && strcmp(rows[i][0], name) != 0) {
        i++;
    }
    if (i == ARRAY_LEN(rows) || json_object_get(spec, "nasConfig")) {
        return error_set(err, ERROR_INVALID,
                         "spec.algorithm.algorithmName: %.60s has no counterpart: a search of "
                         "architectures is none of a Sweep's",
                         name);
    }
    json_t *made = json_pack("{s:s, s:s*}", "kind", rows[i][1], "rule", rows[i][2]);
    json_object_set_new(import->spec, "algorithm", made);
    if (strcmp(rows[i][1], "Bayesian") == 0 && strcmp(name, "bayesianoptimization") != 0) {
        import_note(import, "algorithm", "was %.40s: another way of learning from results", name);
    }
    if (strcmp(name, "pbt") == 0) {
        const char *size = setting(algorithm, "n_population");
        long count = size ? strtol(size, NULL, 10) : 0;
        json_object_set_new(made, "population",
                            json_pack("{s:i}", "size", (int)(count < 2 ? 10 : MIN(count, 1000))));
        import_note(import, "algorithm",
                    "a trial goes on from the files of another: see docs/sweep.md");
    }
    const char *seed = setting(algorithm, "random_state");
    if (seed && strtol(seed, NULL, 10) > 0) {
        json_object_set_new(made, "seed", json_integer(strtol(seed, NULL, 10)));
    }
    if (strcmp(name, "hyperband") == 0) {
        import_leave_out(import, "algorithm.algorithmName: hyperband: see earlyStopping.hyperband, "
                                 "which wants maxReports");
    }
    report_settings(import, algorithm, "algorithm", "random_state", "n_population");
    return 0;
}

static void take_stopping(struct import *import, const json_t *stopping) {
    const char *name = tree_text(stopping, "algorithmName", NULL);
    const char *start = setting(stopping, "start_step");
    long step = start ? strtol(start, NULL, 10) : 0;
    if (!name) {
        return;
    }
    if (strcmp(name, "medianstop") != 0) {
        import_leave_out(import, "earlyStopping.algorithmName: %.60s", name);
        return;
    }
    json_t *made = json_pack("{s:{}}", "median");
    if (step > 1 && step <= 1000000) {
        json_object_set_new(made, "delayEvaluation", json_integer(step - 1));
    }
    json_object_set_new(import->spec, "earlyStopping", made);
    report_settings(import, stopping, "earlyStopping", "start_step", "");
}

/* ---- the trial ---- */

/* Texts of the trial with ${trialParameters.X} as $(PARAMETER), and the trial's name as
 * ${WINDLASS_JOB}: letters may follow; owned. */
static char *fill_in(struct import *import, const json_t *parameters, const char *text) {
    char *made = x_strdup("");
    for (const char *at = text; *at;) {
        const char *found = strstr(at, "${trialParameters."),
                   *end = found ? strchr(found, '}') : NULL;
        AUTO(text_freep) char *before = made;
        if (!end) {
            made = x_printf("%s%s", before, at);
            break;
        }
        const char *start = found + strlen("${trialParameters.");
        AUTO(text_freep) char *name = x_strndup(start, (size_t)(end - start));
        const char *reference = tree_text(tree_find(parameters, "name", name), "reference", name);
        AUTO(text_freep) char *own = katib_parameter_name(reference);
        if (text_starts(reference, "${trialSpec.Name}")) {
            made = x_printf("%s%.*s${WINDLASS_JOB}", before, (int)(found - at), at);
        } else if (text_starts(reference, "${")) {
            import_leave_out(import, "trialParameters: %.60s is %.100s", name, reference);
            made = x_printf("%s%.*s", before, (int)(found - at), at);
        } else {
            made = x_printf("%s%.*s$(%s)", before, (int)(found - at), at, own);
        }
        at = end + 1;
    }
    return made;
}

static void fill_in_all(struct import *import, const json_t *parameters, json_t *value) {
    const char *name;
    json_t *member;
    size_t i;
    void *next;
    json_object_foreach_safe(value, next, name, member) {
        if (json_is_string(member)) {
            AUTO(text_freep) char *text = fill_in(import, parameters, json_string_value(member));
            json_object_set_new(value, name, json_string(text));
        } else {
            fill_in_all(import, parameters, member);
        }
    }
    json_array_foreach(value, i, member) {
        if (json_is_string(member)) {
            AUTO(text_freep) char *text = fill_in(import, parameters, json_string_value(member));
            json_array_set_new(value, i, json_string(text));
        } else {
            fill_in_all(import, parameters, member);
        }
    }
}

/* The trial's own notes and what it left out, as the sweep's. */
static void take_notes(struct import *import, const struct import *trial) {
    const char *field;
    json_t *lines;
    json_object_foreach(trial->notes, field, lines) {
        AUTO(text_freep) char *path = x_printf("trial.%s", field);
        json_object_set(import->notes, path, lines);
    }
    json_array_extend(import->left_out, trial->left_out);
}

/* The folder from which another trial of a population goes on. */
static void add_checkpoint(struct import *trial) {
    AUTO(text_freep) char *claim = x_printf("%s-checkpoints", trial->name);
    json_t *volumes = tree_ensure_list(trial->spec, "volumes");
    json_array_append_new(volumes, json_pack("{s:s, s:{s:s}}", "name", "checkpoints",
                                             "persistentVolumeClaim", "claimName", claim));
    json_object_set_new(trial->spec, "outputs",
                        json_pack("[{s:s, s:s}]", "id", "CHECKPOINT", "path", "checkpoints"));
    import_note(trial, "outputs",
                "the program keeps its checkpoint in $WINDLASS_OUTPUT_CHECKPOINT, where it finds "
                "the one that it goes on from; make a claim %s",
                claim);
}

static const char own_rules[] = "a trial ends as its program does, and stays as its job does";

static const struct import_field of_template[] = {
    {"trialSpec", NULL},
    {"trialParameters", NULL},
    {"primaryContainerName", "the container with the program is the only one"},
    {"primaryPodLabels", "the output of the first worker has the metrics"},
    {"successCondition", own_rules},
    {"failureCondition", own_rules},
    {"retain", own_rules},
    {0},
};

static int take_trial(struct import *import, const json_t *template, struct error *err) {
    const json_t *given = json_object_get(template, "trialSpec");
    const json_t *parameters = json_object_get(template, "trialParameters");
    const char *kind = tree_text(given, "kind", "");
    if (!given) {
        return error_set(err, ERROR_INVALID,
                         "spec.trialTemplate.trialSpec: missing; put the template of the ConfigMap "
                         "in its place");
    }
    bool is_job = strcmp(kind, "Job") == 0;
    AUTO(tree_freep) json_t *object = json_deep_copy(given);
    AUTO(import_release) struct import trial;
    import_init(&trial, import->name);
    trial.documents = import->documents;
    trial.prefix = "trialSpec.";
    fill_in_all(import, parameters, object);
    if ((is_job ? import_single(&trial, object, err) : import->fill_trial(&trial, object, err)) <
        0) {
        return error_context(err, "spec.trialTemplate.trialSpec");
    }
    if (json_object_get(json_object_get(import->spec, "algorithm"), "population")) {
        add_checkpoint(&trial);
    }
    static const char *const of_trial[] = {"gang", "queue"};
    for (size_t i = 0; i < ARRAY_LEN(of_trial); i++) {
        import_set(&trial, of_trial[i], json_object_get(import->spec, of_trial[i]));
        json_object_del(import->spec, of_trial[i]);
    }
    take_notes(import, &trial);
    import_report(import, template, "trialTemplate.", of_template);
    json_object_set(import->spec, "trial", trial.spec);
    return 0;
}

/* ---- the experiment ---- */

static void take_collector(struct import *import, const json_t *collector) {
    const char *kind = tree_text(collector, "collector.kind", "StdOut");
    if (strcmp(kind, "StdOut") != 0 || tree_get(collector, "source.filter")) {
        import_leave_out(import,
                         "metricsCollectorSpec: %.40s: metrics are NAME=VALUE in a line of output; "
                         "trial.metrics.pattern and .file say otherwise",
                         kind);
    }
}

static void take_count(struct import *import, const json_t *spec, const char *from, const char *to,
                       int64_t most) {
    int64_t count = import_integer(import, spec, from, -1);
    if (count >= 0) {
        json_object_set_new(import->spec, to, json_integer(MIN(count, most)));
    }
}

static const struct import_field of_spec[] = {
    {"objective", NULL},
    {"algorithm", NULL},
    {"earlyStopping", NULL},
    {"parameters", NULL},
    {"trialTemplate", NULL},
    {"metricsCollectorSpec", NULL},
    {"parallelTrialCount", NULL},
    {"maxTrialCount", NULL},
    {"maxFailedTrialCount", NULL},
    {"resumePolicy", "suspend and resume go on with the same trials"},
    {0},
};

int import_katib(struct import *import, const json_t *object, struct error *err) {
    const json_t *spec = json_object_get(object, "spec");
    import_metadata(import, object);
    take_objective(import, json_object_get(spec, "objective"));
    if (take_algorithm(import, spec, err) < 0 || katib_parameters(import, spec, err) < 0 ||
        take_trial(import, json_object_get(spec, "trialTemplate"), err) < 0) {
        return -1;
    }
    take_stopping(import, json_object_get(spec, "earlyStopping"));
    take_collector(import, json_object_get(spec, "metricsCollectorSpec"));
    if (!json_object_get(spec, "maxTrialCount")) {
        json_object_set_new(import->spec, "maxTrials", json_integer(100));
        import_note(import, "maxTrials", "the experiment had no limit");
    }
    take_count(import, spec, "maxTrialCount", "maxTrials", 10000);
    take_count(import, spec, "parallelTrialCount", "maxConcurrentTrials", 1000);
    take_count(import, spec, "maxFailedTrialCount", "maxFailedTrials", 10000);
    import_report(import, spec, "spec.", of_spec);
    return 0;
}
