// SPDX-License-Identifier: Apache-2.0
/* The rules between the fields of a DistTrain. crds/disttrain.yaml has each as CEL with the same
 * message, except those about the paths of a trainer's data, which are too many for CEL, and about
 * decimals, which CEL does not see (operator/schema.h); of these the schema has the bounds. A
 * trainer's fields and their bounds are those that agent/train reads. The agent itself checks
 * values that depend on the data or the model (its channels, the minimum side of a ResNet). */
#include "operator/kinds/disttrain/spec.h"

#include "lib/text/pattern.h"
#include "operator/kinds/disttrain/own_names.h"
#include "operator/kinds/job/after/after_reference.h"
#include "operator/kinds/job/own_variables.h"
#include "operator/kinds/job/parameters/parameters.h"
#include "operator/kinds/job/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METRIC_GROUPS_MIN = 2 /* name and value (agent/launch/rank/metric_line.h) */ };

static bool has(const json_t *spec, const char *path) {
    return tree_get(spec, path) != NULL;
}

/* ---- trainer or command ---- */

static int check_which(const json_t *spec, struct error *err) {
    static const struct {
        const char *field, *sentence;
    } of_command[] = {
        {"prepare", "is for command; a trainer needs nothing to be prepared"},
        {"inputs", "is for command; a trainer's data are in trainer.data"},
        {"outputs", "is for command; a trainer's output is trainer.output"},
    };
    if (has(spec, "trainer") == has(spec, "command")) {
        return error_set(err, ERROR_INVALID,
                         "spec: exactly one of trainer and command must be given");
    }
    if (has(spec, "command") && has(spec, "signingKey") && !has(spec, "outputs")) {
        return job_refuse(err, "signingKey",
                          "signs the results in outputs; give the command outputs");
    }
    if (has(spec, "command")) {
        return has(spec, "image")
                   ? 0
                   : job_refuse(err, "image", "must be given with command, whose program is in it");
    }
    if (strcmp(tree_text(spec, "launcher", ""), "MPI") != 0) {
        return job_refuse(err, "launcher",
                          "is for command; a trainer's processes are started by MPI; remove it");
    }
    for (size_t i = 0; i < ARRAY_LEN(of_command); i++) {
        if (has(spec, of_command[i].field)) {
            return job_refuse(err, of_command[i].field, of_command[i].sentence);
        }
    }
    return 0;
}

static int check_gang(const json_t *spec, struct error *err) {
    const char *gang = tree_text(spec, "gang", "");
    if (tree_integer(spec, "minWorkers", -1) > tree_integer(spec, "workers", -1)) {
        return job_refuse(err, "minWorkers", "is more than workers; lower it or raise workers");
    }
    if (strcmp(gang, "Kueue") == 0 && !has(spec, "queue")) {
        return job_refuse(err, "queue",
                          "must be given with gang: Kueue, whose queue lets the job start");
    }
    if (has(spec, "queue") && strcmp(gang, "Kueue") != 0 && strcmp(gang, "Volcano") != 0) {
        return job_refuse(err, "queue", "belongs to gang: Kueue or Volcano");
    }
    int64_t gpus = tree_integer(spec, "gpus", 0), slots = tree_integer(spec, "slotsPerWorker", -1);
    if (has(spec, "trainer") && gpus > 0 && slots != 1 && slots != gpus) {
        return job_refuse(err, "slotsPerWorker",
                          "is not gpus; a trainer has one rank for each GPU: leave it out");
    }
    return job_asks_for_gpus(json_object_get(spec, "resources"))
               ? job_refuse(err, "resources",
                            "nvidia.com/gpu is set by gpus; take it out of resources")
               : 0;
}

/* ---- inputs, outputs, variables ---- */

static int check_folders(const json_t *spec, const char *list, bool is_written, struct error *err) {
    const json_t *folders = json_object_get(spec, list);
    for (size_t i = 0; i < json_array_size(folders); i++) {
        const char *path = tree_text(json_array_get(folders, i), "path", "");
        const json_t *place = job_place(spec, path);
        if (job_has_parent_part(path)) {
            return error_set(
                err, ERROR_INVALID,
                "spec.%s[%zu].path: a path may not contain .. (it stays in its volume)", list, i);
        }
        bool is_in_store = strstr(path, "://") != NULL; /* only of another job (spec.after) */
        if (is_in_store || (!place && (is_written || !after_reference_begins(path)))) {
            return job_refuse(
                err, list, "one is not in a volume of spec.volumes (a path is VOLUME/path/in/it)");
        }
        char field[32];
        snprintf(field, sizeof field, "%s[%zu].path", list, i);
        if (own_variables_check_path(field, path, err) < 0) {
            return -1;
        }
        if (is_written && json_object_get(place, "emptyDir")) {
            return job_refuse(
                err, list,
                "one is in an emptyDir, which is deleted with its pod; use a volume that is kept");
        }
        if (is_written && tree_bool(place, "readOnly", false)) {
            return job_refuse(err, list,
                              "one is in a volume with readOnly: true; outputs need one that can "
                              "be written");
        }
    }
    return 0;
}

static int check_secrets(const json_t *spec, struct error *err) {
    const json_t *secrets = json_object_get(spec, "secrets");
    for (size_t i = 0; i < json_array_size(secrets); i++) {
        const char *name = tree_text(json_array_get(secrets, i), "name", "");
        if (text_starts(name, "WINDLASS_") || strcmp(name, "POD_IP") == 0 ||
            json_object_get(json_object_get(spec, "environment"), name)) {
            return job_refuse(err, "secrets",
                              "has a variable that is reserved (POD_IP, WINDLASS_...) or also in "
                              "environment; give it another name");
        }
        if (tree_find(json_object_get(spec, "volumes"), "name", name)) {
            return job_refuse(err, "secrets",
                              "has a variable named as a volume, which holds that volume's folder; "
                              "give it another name");
        }
    }
    return 0;
}

/* ---- metrics ---- */

static bool begins_with_an_output(const json_t *spec, const char *path) {
    const json_t *outputs = json_object_get(spec, "outputs");
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const char *id = tree_text(json_array_get(outputs, i), "id", "");
        if (*id && text_starts(path, id) && path[strlen(id)] == '/') {
            return true;
        }
    }
    return false;
}

/* CEL cannot check a pattern, because its regular expressions have another syntax. */
static int check_metrics(const json_t *spec, struct error *err) {
    const char *pattern = tree_text(spec, "metrics.pattern", NULL);
    const char *file = tree_text(spec, "metrics.file", NULL);
    struct pattern *tried = NULL;
    struct error why = {0};
    if (has(spec, "trainer") && (pattern || file)) {
        return job_refuse(err, pattern ? "metrics.pattern" : "metrics.file",
                          "is for command; a trainer reports its metrics itself");
    }
    if (pattern && pattern_new(pattern, METRIC_GROUPS_MIN, &tried, &why) < 0) {
        return job_refuse(err, "metrics.pattern", why.text);
    }
    pattern_free(tried);
    if (file && job_has_parent_part(file)) {
        return job_refuse(err, "metrics.file",
                          "a path may not contain .. (it stays in its output)");
    }
    return !file || begins_with_an_output(spec, file)
               ? 0
               : job_refuse(err, "metrics.file",
                            "does not begin with the id of one of outputs (OUTPUT/path/in/it)");
}

/* ---- trainer ---- */

static int check_table(const json_t *table, const char *field, struct error *err) {
    bool has_targets = json_object_get(table, "targets") != NULL;
    const char *format = tree_text(table, "format", "");
    bool is_named =
        strcmp(format, "JSONLines") == 0 || strcmp(format, "Parquet") == 0 || has_targets;
    if (table && has_targets == (json_object_get(table, "label") != NULL)) {
        return job_refuse(err, field, "exactly one of label and targets must be given");
    }
    return table && is_named && !json_object_get(table, "columns")
               ? job_refuse(err, field, "columns must be given with JSONLines, Parquet or targets")
               : 0;
}

static int check_text(const json_t *text, const char *field, struct error *err) {
    const json_t *labels = json_object_get(text, "labels");
    if (text && !labels == !json_object_get(text, "label")) {
        return job_refuse(err, field, "exactly one of label and labels must be given");
    }
    return labels && json_array_size(json_object_get(text, "columns")) > 1
               ? job_refuse(err, field, "labels belongs to one column of texts")
               : 0;
}

static int check_tensors(const json_t *tensors, const char *field, struct error *err) {
    bool has_inputs = json_object_get(tensors, "inputs") != NULL;
    bool has_outputs = json_object_get(tensors, "outputs") != NULL;
    if (tensors && has_inputs == (json_object_get(tensors, "samples") != NULL)) {
        return job_refuse(err, field, "exactly one of samples and inputs must be given");
    }
    return tensors && has_outputs == (json_object_get(tensors, "labels") != NULL)
               ? job_refuse(err, field, "exactly one of labels and outputs must be given")
               : 0;
}

static int check_source(const json_t *spec, const char *which, struct error *err) {
    static const char *const kinds[] = {"idx",        "cifar", "folder", "masks",    "tensors",
                                        "webdataset", "table", "text",   "synthetic"};
    static const char *const paths[] = {"idx.images",
                                        "idx.labels",
                                        "cifar.path",
                                        "folder.path",
                                        "masks.images",
                                        "masks.masks",
                                        "tensors.samples",
                                        "tensors.labels",
                                        "webdataset.path",
                                        "table.path",
                                        "text.path",
                                        "text.tokenizer",
                                        "tensors.inputs[0].path",
                                        "tensors.inputs[1].path",
                                        "tensors.inputs[2].path",
                                        "tensors.inputs[3].path",
                                        "tensors.inputs[4].path",
                                        "tensors.inputs[5].path",
                                        "tensors.inputs[6].path",
                                        "tensors.inputs[7].path",
                                        "tensors.outputs[0].path",
                                        "tensors.outputs[1].path",
                                        "tensors.outputs[2].path",
                                        "tensors.outputs[3].path",
                                        "tensors.outputs[4].path",
                                        "tensors.outputs[5].path",
                                        "tensors.outputs[6].path",
                                        "tensors.outputs[7].path"};
    AUTO(text_freep) char *field = x_printf("trainer.data.%s", which);
    const json_t *source = tree_get(spec, field);
    if (source && !job_only_one(source, kinds, ARRAY_LEN(kinds))) {
        return job_refuse(err, field,
                          "exactly one of idx, cifar, folder, masks, tensors, webdataset, table, "
                          "text and synthetic must be given");
    }
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        AUTO(text_freep) char *at = x_printf("%s.%s", field, paths[i]);
        const char *path = tree_text(spec, at, NULL);
        if (path && job_check_place(spec, at, path, err) < 0) {
            return -1;
        }
    }
    const json_t *cifar = json_object_get(source, "cifar");
    int64_t classes = tree_integer(cifar, "classes", -1);
    AUTO(text_freep) char *in_table = x_printf("%s.table", field);
    AUTO(text_freep) char *in_text = x_printf("%s.text", field);
    AUTO(text_freep) char *in_tensors = x_printf("%s.tensors", field);
    if (check_table(json_object_get(source, "table"), in_table, err) < 0 ||
        check_text(json_object_get(source, "text"), in_text, err) < 0 ||
        check_tensors(json_object_get(source, "tensors"), in_tensors, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *at = x_printf("%s.cifar.classes", field);
    return !cifar || classes == 10 || classes == 100 ? 0 : job_refuse(err, at, "must be 10 or 100");
}

/* A decimal is a text here; the schema checks its form. */
static double number(const json_t *json) {
    return strtod(json_string_value(json) ? json_string_value(json) : "0", NULL);
}

/* The agent's bounds (agent/train/optimizer/optimizer.c, rate.c, augment.c). */
static int check_numbers(const json_t *spec, struct error *err) {
    static const struct {
        const char *field; /* a number, or a list of numbers */
        double least, most;
        const char *sentence;
    } rows[] = {
        {"trainer.labelSmoothing", 0, 0.999, "must be from 0 to 0.999"},
        {"trainer.optimizer.learningRate", 1e-12, 1e6, "must be from 1e-12 to 1e6"},
        {"trainer.optimizer.momentum", 0, 0.9999, "must be from 0 to 0.9999"},
        {"trainer.optimizer.weightDecay", 0, 1, "must be from 0 to 1"},
        {"trainer.optimizer.beta1", 0, 0.9999, "must be from 0 to 0.9999"},
        {"trainer.optimizer.beta2", 0, 0.999999, "must be from 0 to 0.999999"},
        {"trainer.optimizer.epsilon", 1e-12, 1, "must be from 1e-12 to 1"},
        {"trainer.optimizer.clipNorm", 1e-12, 1e6, "must be from 1e-12 to 1e6"},
        {"trainer.optimizer.clipValue", 1e-12, 1e6, "must be from 1e-12 to 1e6"},
        {"trainer.ema.decay", 0, 0.9999999, "must be from 0 to 0.9999999"},
        {"trainer.schedule.stepFactor", 0, 1, "must be from 0 to 1"},
        {"trainer.schedule.endFactor", 0, 1, "must be from 0 to 1"},
        {"trainer.data.normalize.mean", -1e6, 1e6, "must be from -1e6 to 1e6"},
        {"trainer.data.normalize.deviation", 1e-6, 1e6, "must be from 1e-6 to 1e6"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const json_t *given = tree_get(spec, rows[i].field);
        size_t count = json_is_array(given) ? json_array_size(given) : (size_t)(given != NULL);
        for (size_t k = 0; k < count; k++) {
            double value = number(json_is_array(given) ? json_array_get(given, k) : given);
            AUTO(text_freep)
            char *field = json_is_array(given) ? x_printf("%s[%zu]", rows[i].field, k)
                                               : x_strdup(rows[i].field);
            if (!(value >= rows[i].least && value <= rows[i].most)) {
                return job_refuse(err, field, rows[i].sentence);
            }
        }
    }
    return 0;
}

/* field: `trainer`, or one of its losses. */
static int check_loss(const json_t *spec, const char *field, struct error *err) {
    static const struct {
        const char *field, *loss, *sentence;
    } rows[] = {
        {"classWeights", "CrossEntropy", "belongs to loss: CrossEntropy"},
        {"blankLabel", "CTC", "belongs to loss: CTC"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *at = x_printf("%s.%s", field, rows[i].field);
        AUTO(text_freep) char *loss = x_printf("%s.loss", field);
        if (tree_get(spec, at) && strcmp(tree_text(spec, loss, ""), rows[i].loss) != 0) {
            return job_refuse(err, at, rows[i].sentence);
        }
    }
    return 0;
}

/* The same of each loss of several, and their numbers. */
static int check_losses(const json_t *spec, struct error *err) {
    static const char *const alone[] = {"trainer.classWeights", "trainer.blankLabel"};
    const json_t *losses = tree_get(spec, "trainer.losses");
    bool excludes = strcmp(tree_text(spec, "trainer.loss", ""), "CrossEntropy") != 0 ||
                    strcmp(tree_text(spec, "trainer.labelSmoothing", ""), "0") != 0;
    for (size_t i = 0; i < ARRAY_LEN(alone); i++) {
        excludes |= tree_get(spec, alone[i]) != NULL;
    }
    if (losses && excludes) {
        return job_refuse(err, "trainer.losses",
                          "excludes loss, labelSmoothing, classWeights and blankLabel; each of "
                          "losses has its own");
    }
    for (size_t i = 0; i < json_array_size(losses); i++) {
        const json_t *loss = json_array_get(losses, i);
        AUTO(text_freep) char *field = x_printf("trainer.losses[%zu]", i);
        AUTO(text_freep) char *weight = x_printf("%s.weight", field);
        AUTO(text_freep) char *smoothing = x_printf("%s.labelSmoothing", field);
        double factor = number(json_object_get(loss, "weight"));
        if (check_loss(spec, field, err) < 0) {
            return -1;
        }
        if (!(factor >= 1e-6 && factor <= 1e6)) {
            return job_refuse(err, weight, "must be from 1e-6 to 1e6");
        }
        if (!(number(json_object_get(loss, "labelSmoothing")) <= 0.999)) {
            return job_refuse(err, smoothing, "must be from 0 to 0.999");
        }
    }
    return check_loss(spec, "trainer", err);
}

static int check_schedule(const json_t *spec, struct error *err) {
    const json_t *schedule = tree_get(spec, "trainer.schedule");
    const json_t *falls = json_object_get(schedule, "stepEpochs");
    bool is_step = strcmp(tree_text(schedule, "kind", ""), "Step") == 0;
    int64_t warmup = tree_integer(schedule, "warmupEpochs", 0);
    if (is_step && !falls) {
        return job_refuse(err, "trainer.schedule.stepEpochs",
                          "must be given with kind: Step, whose epochs these are");
    }
    if (falls && !is_step) {
        return job_refuse(err, "trainer.schedule.stepEpochs", "belongs to kind: Step");
    }
    const char *kind = tree_text(schedule, "kind", "");
    bool is_restarted = strcmp(kind, "CosineRestarts") == 0;
    bool has_period = json_object_get(schedule, "restartEpochs") != NULL;
    if (is_restarted != has_period) {
        return job_refuse(err, "trainer.schedule.restartEpochs",
                          is_restarted
                              ? "must be given with kind: CosineRestarts, whose first period it is"
                              : "belongs to kind: CosineRestarts");
    }
    if (strcmp(kind, "OneCycle") == 0 && warmup > 0) {
        return job_refuse(err, "trainer.schedule.warmupEpochs",
                          "is not for kind: OneCycle, whose rate rises at first");
    }
    for (size_t i = 1; i < json_array_size(falls); i++) {
        if (json_integer_value(json_array_get(falls, i)) <=
            json_integer_value(json_array_get(falls, i - 1))) {
            return job_refuse(err, "trainer.schedule.stepEpochs", "must rise");
        }
    }
    return warmup == 0 || warmup < tree_integer(spec, "trainer.epochs", 1)
               ? 0
               : job_refuse(err, "trainer.schedule.warmupEpochs", "must be less than epochs");
}

static int check_optimizer(const json_t *optimizer, struct error *err) {
    const char *kind = tree_text(optimizer, "kind", "");
    bool is_sgd = strcmp(kind, "SGD") == 0, has_ratio = *kind == 'L'; /* LAMB, LARS */
    const json_t *rates = json_object_get(optimizer, "layerRates");
    if (tree_bool(optimizer, "nesterov", false) &&
        !(is_sgd && number(json_object_get(optimizer, "momentum")) > 0)) {
        return job_refuse(err, "trainer.optimizer.nesterov", "is for SGD with a momentum");
    }
    if (tree_bool(optimizer, "decoupledWeightDecay", false) && has_ratio) {
        return job_refuse(err, "trainer.optimizer.decoupledWeightDecay",
                          "is not for LAMB and LARS, whose ratios have the decay in them");
    }
    if (!tree_bool(optimizer, "decoupledWeightDecay", true) && strcmp(kind, "AdamW") == 0) {
        return job_refuse(err, "trainer.optimizer.decoupledWeightDecay",
                          "is what AdamW is; for the other form choose kind: Adam");
    }
    for (size_t i = 0; i < json_array_size(rates); i++) {
        AUTO(text_freep) char *field = x_printf("trainer.optimizer.layerRates[%zu].factor", i);
        double factor = number(json_object_get(json_array_get(rates, i), "factor"));
        if (!(factor >= 0 && factor <= 1000)) {
            return job_refuse(err, field, "must be from 0 to 1000");
        }
    }
    return json_object_get(optimizer, "clipValue") && json_object_get(optimizer, "clipNorm")
               ? job_refuse(err, "trainer.optimizer.clipValue",
                            "excludes clipNorm; give one of them")
               : 0;
}

static int check_settings(const json_t *spec, struct error *err) {
    if (check_numbers(spec, err) < 0 || check_losses(spec, err) < 0 ||
        check_schedule(spec, err) < 0 ||
        check_optimizer(tree_get(spec, "trainer.optimizer"), err) < 0) {
        return -1;
    }
    const json_t *augment = tree_get(spec, "trainer.data.augment");
    bool is_resized = strcmp(tree_text(augment, "crop", ""), "RandomResized") == 0;
    return is_resized && !json_object_get(augment, "size")
               ? job_refuse(err, "trainer.data.augment.size",
                            "must be given with crop: RandomResized")
               : 0;
}

static int check_bad_samples(const json_t *data, struct error *err) {
    bool skips = strcmp(tree_text(data, "onBadSample", ""), "Skip") == 0;
    return json_object_get(data, "maxBadSamples") && !skips
               ? job_refuse(err, "trainer.data.maxBadSamples", "belongs to onBadSample: Skip")
               : 0;
}

static int check_trainer(const json_t *spec, struct error *err) {
    const json_t *model = tree_get(spec, "trainer.model");
    if (!has(spec, "trainer")) {
        return 0;
    }
    const char *path = tree_text(model, "path", NULL);
    if (!json_object_get(model, "new") == !path) {
        return job_refuse(err, "trainer.model", "exactly one of new and path must be given");
    }
    if (!path && (!json_object_get(model, "classes") || !json_object_get(model, "shape"))) {
        return job_refuse(err, "trainer.model", "new needs classes and shape");
    }
    if (!path && json_object_get(model, "freeze")) {
        return job_refuse(err, "trainer.model.freeze",
                          "belongs to path; a new model has nothing to keep");
    }
    if (path && job_check_place(spec, "trainer.model.path", path, err) < 0) {
        return -1;
    }
    const char *output = tree_text(spec, "trainer.output.path", "");
    return check_settings(spec, err) < 0 ||
                   check_bad_samples(tree_get(spec, "trainer.data"), err) < 0 ||
                   check_source(spec, "train", err) < 0 || check_source(spec, "test", err) < 0 ||
                   job_check_place(spec, "trainer.output.path", output, err) < 0
               ? -1
               : job_check_written(spec, "trainer.output.path", "outputs need one", err);
}

static int check_logs(const json_t *spec, struct error *err) {
    const char *path = tree_text(spec, "logs.path", NULL);
    if (path && job_is_stored(path)) {
        return job_refuse(err, "logs.path",
                          "is in a store, where ranks cannot write files as they go; mount the "
                          "container as a volume (blobfuse) and give VOLUME/path/in/it");
    }
    if (path && !job_place(spec, path)) {
        return job_refuse(err, "logs.path",
                          "is not in a volume of spec.volumes (a path is VOLUME/path/in/it)");
    }
    return path && job_check_place(spec, "logs.path", path, err) < 0
               ? -1
               : job_check_written(spec, "logs.path", "logs need one", err);
}

/* Two pods with the host's IPC namespace on one node would use the same names for MPI's shared
 * memory. */
static int check_template(const json_t *spec, struct error *err) {
    if (tree_bool(spec, "template.spec.hostIPC", false)) {
        return job_refuse(err, "template.spec.hostIPC",
                          "two workers on one node would take each other's shared memory; take it "
                          "out");
    }
    return template_check(spec, err);
}

static int check_all(const json_t *object, struct error *err) {
    static int (*const rules[])(const json_t *spec, struct error *err) = {
        check_which,   check_gang,    job_check_volumes, check_secrets,
        check_metrics, check_trainer, check_logs,        check_template};
    const json_t *spec = json_object_get(object, "spec");
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (rules[i](spec, err) < 0) {
            return -1;
        }
    }
    return check_folders(spec, "inputs", false, err) < 0 ||
                   check_folders(spec, "outputs", true, err) < 0
               ? -1
           : job_check_environment(spec, "environment", err) < 0 || own_names_check(spec, err) < 0
               ? -1
               : after_reference_check(object, err);
}

int disttrain_check(const json_t *object, struct error *err) {
    if (parameters_check(object, err) < 0) {
        return -1;
    }
    AUTO(tree_freep) json_t *filled = parameters_fill(object);
    return check_all(filled ? filled : object, err);
}

int disttrain_check_change(const json_t *before, const json_t *after, struct error *err) {
    int64_t had = tree_integer(before, "gpus", 0), has = tree_integer(after, "spec.gpus", 0);
    if ((had > 0) != (has > 0)) {
        return error_set(err, ERROR_INVALID,
                         "spec.gpus: cannot change from or to 0 while the job exists");
    }
    if (had != has && json_object_get(before, "trainer")) {
        return error_set(err, ERROR_INVALID,
                         "spec.gpus: is the number of a trainer's ranks for each worker");
    }
    return disttrain_check(after, err);
}
