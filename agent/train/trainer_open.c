// SPDX-License-Identifier: Apache-2.0
/* Reads the spec, opens data and model, builds the graphs, allocates weights. */
#include "agent/train/trainer_inputs.h"
#include "agent/train/trainer_state.h"
#include "agent/train/trainer_variables.h"

#include "agent/engine/model.h"
#include "agent/engine/training_graph.h"
#include "agent/store/local_file.h"
#include "agent/train/dataset/fields.h"
#include "agent/train/dataset/order.h"
#include "lib/cgroup.h"
#include "lib/digest.h"
#include "lib/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FREEZE_MAX = 64, CHECK_EVERY = 100 };

static const int64_t ignored_usual = -100; /* as in PyTorch */
static const double memory_share = 0.25;   /* of the machine's or the container's, for data */

/* ---- the network ---------------------------------------------------------------------------- */

static int make_model(struct trainer *trainer, const json_t *spec, struct error *err) {
    const json_t *shape = json_object_get(spec, "shape");
    const char *name = json_string_value(json_object_get(spec, "new"));
    struct network_options options = {.seed = trainer->seed};
    int kind = name ? network_kind_find(name) : -1;
    if (kind < 0) {
        return error_set(err, ERROR_INVALID,
                         "model.new: one of CNN, MLP, ResNet18, ResNet50 is "
                         "expected, or model.path");
    }
    options.classes = trainer->train->classes; /* unless the spec says more */
    options.is_smooth = json_is_true(json_object_get(spec, "smooth"));
    if (json_object_get(spec, "classes") &&
        fields_integer(spec, "classes", (int64_t[]){1, NETWORKS_CLASSES_MAX}, &options.classes,
                       err) < 0) {
        return error_context(err, "model");
    }
    for (size_t i = 0; i < 3; i++) { /* the default is the shape of the data */
        options.shape[i] =
            shape ? json_integer_value(json_array_get(shape, i)) : trainer->augment.shape.dims[i];
    }
    trainer->opset = NETWORKS_OPSET;
    trainer->network = &trainer->made;
    return network_new((enum network_kind)kind, &options, &trainer->made, err) < 0
               ? error_context(err, "model")
               : 0;
}

static int open_model(struct trainer *trainer, const char *path, struct error *err) {
    AUTO(local_file_release) struct local_file file = {0};
    AUTO(fd_closep) int fd = -1;
    AUTO(fd_closep) int folder_fd = -1;
    struct error cause = {0};
    if (local_file_open(path, &file, err) < 0 ||
        local_file_descriptors(&file, &fd, &folder_fd, err) < 0) {
        return error_context(err, "model.path");
    }
    /* The model is in memory: the copy can be removed. */
    const struct model_files files = {fd, folder_fd};
    if (model_open_files(file.path, &files, &trainer->model, &cause) < 0) {
        *err = cause;
        return error_context(err, "model.path");
    }
    trainer->opset = trainer->model->opset;
    if (forms_normalize(&trainer->model->graph, &trainer->made, &trainer->forms, err) < 0) {
        return error_context(err, "model.path");
    }
    trainer->network = &trainer->made;
    return 0;
}

/* A network that looks for missing numbers itself gets them. */
static void allow_numbers(struct trainer *trainer) {
    bool allows = false;
    for (size_t i = 0; i < trainer->network->node_count; i++) {
        const char *name = graph_operator(trainer->network, i);
        allows |= strcmp(name, "IsNaN") == 0 || strcmp(name, "IsInf") == 0;
    }
    trainer->train->takes_any_number = allows;
    if (trainer->test) {
        trainer->test->takes_any_number = allows;
    }
}

static int build_graphs(struct trainer *trainer, const json_t *spec, struct error *err) {
    static const char *const precisions[] = {"FP32", "BF16", NULL};
    const char *freeze[FREEZE_MAX];
    const json_t *patterns = json_object_get(json_object_get(spec, "model"), "freeze");
    struct training_options *options = &trainer->options;
    struct training_options further[HEADS_MAX] = {{0}};
    int precision;
    if (trainer_read_heads(trainer, spec, err) < 0 ||
        fields_choice(spec, "precision", precisions, &precision, err) < 0) {
        return -1;
    }
    *options = (struct training_options){.freeze = freeze};
    trainer_head_options(trainer, further, options);
    options->is_bfloat = precision == 1;
    options->is_synced = trainer->is_synced;
    if (options->is_bfloat && trainer->device->is_host) {
        trainer_say(trainer, "precision: BF16 is made for GPUs: on this processor it costs more "
                             "time than FP32, as each number is computed as that and rounded");
    }
    for (size_t i = 0; i < MIN(json_array_size(patterns), (size_t)FREEZE_MAX); i++) {
        const char *pattern = json_string_value(json_array_get(patterns, i));
        freeze[options->freeze_count++] = pattern ? pattern : "";
    }
    struct tensor *samples = x_calloc(trainer->network->input_count + 1, sizeof *samples);
    trainer_shape_inputs(trainer, trainer_part_samples(trainer), samples);
    int result = training_graph_build(trainer->network, options, &trainer->graph, err);
    result = result < 0 ? -1 : training_place_samples(&trainer->graph, samples, err);
    free(samples);
    if (result < 0) {
        return -1;
    }
    if (model_check_write(trainer->network, trainer->opset, err) < 0) {
        return error_context(err, "model: the trained network could not be written");
    }
    trainer_say_forms(trainer);
    trainer_say_variables(trainer);
    trainer_say_norms(trainer);
    options->freeze = NULL; /* the arrays belong to this function */
    options->freeze_count = 0;
    options->further = NULL;
    options->further_count = 0;
    training_graph_evaluation(&trainer->graph, &trainer->evaluation);
    return 0;
}

/* ---- data ----------------------------------------------------------------------------------- */

/* The memory limit of the container's cgroup, or the memory of the machine. */
static int64_t memory_bytes(void) {
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t limit = cgroup_memory_bytes(NULL);
    return limit ? MIN(bytes, limit) : bytes;
}

static void note_bad(void *context, const char *line) {
    const struct trainer *trainer = context;
    if (trainer->job->note) {
        trainer->job->note(trainer->comm->rank, line);
    }
}

static void watch_bad(struct trainer *trainer, const struct bad_samples_policy *policy) {
    trainer->bad_train =
        bad_samples_new(policy, "data.train", trainer->train->count, note_bad, trainer);
    if (trainer->test) {
        trainer->bad_test =
            bad_samples_new(policy, "data.test", trainer->test->count, note_bad, trainer);
    }
}

static void print_strays(const struct trainer *trainer, const char *what,
                         const struct dataset *dataset) {
    AUTO(text_freep) char *text = strays_text(&dataset->strays);
    if (text) {
        trainer_say(trainer, "%s: %s", what, text);
    }
}

static void print_notice(const struct trainer *trainer, const char *what,
                         const struct dataset *dataset) {
    if (dataset->notice) {
        trainer_say(trainer, "%s: %s", what, dataset->notice);
    }
}

static void print_progress(void *context, const char *line) {
    trainer_say(context, "%s", line);
}

/* A rank that is stopped here alone must not leave the others waiting: they have taken no step. */
static int opened_none(const struct trainer *trainer, const char *what, struct error *err) {
    if (err->kind == ERROR_CANCELLED && trainer->comm->size > 1) {
        err->kind = ERROR_UNAVAILABLE;
    }
    return error_context(err, "%s", what);
}

static int open_data(struct trainer *trainer, const json_t *spec, struct error *err) {
    const json_t *data = json_object_get(spec, "data");
    const json_t *test = json_object_get(data, "test");
    int64_t room = (int64_t)((double)memory_bytes() * memory_share);
    const json_t *model = json_object_get(spec, "model");
    struct dataset_options options = {.memory_bytes = room / (test ? 2 : 1),
                                      .classes =
                                          json_integer_value(json_object_get(model, "classes")),
                                      .shape = json_object_get(model, "shape"),
                                      .has_ignored = true,
                                      .ignored = ignored_usual,
                                      .sees_files = trainer->comm->rank == 0,
                                      .is_stopped = trainer->job->is_stopped,
                                      .say = print_progress,
                                      .context = trainer};
    struct bad_samples_policy policy;
    if (bad_samples_read(data, &policy, err) < 0) {
        return error_context(err, "data");
    }
    options.skips_bad = policy.skips;
    if (json_object_get(spec, "ignoreLabel") &&
        fields_integer(spec, "ignoreLabel", (int64_t[]){INT32_MIN, INT32_MAX}, &options.ignored,
                       err) < 0) {
        return -1;
    }
    if (dataset_open(json_object_get(data, "train"), &options, &trainer->train, err) < 0) {
        return opened_none(trainer, "data.train", err);
    }
    options.like = trainer->train;
    if (test && dataset_open(test, &options, &trainer->test, err) < 0) {
        return opened_none(trainer, "data.test", err);
    }
    print_strays(trainer, "data.train", trainer->train);
    print_notice(trainer, "data.train", trainer->train);
    if (trainer->test) {
        print_strays(trainer, "data.test", trainer->test);
        print_notice(trainer, "data.test", trainer->test);
    }
    watch_bad(trainer, &policy);
    return augment_read(json_object_get(data, "augment"), json_object_get(data, "normalize"),
                        trainer->train, &trainer->augment, err) < 0
               ? error_context(err, "data")
               : 0;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* A copy of a constant's elements, aligned for kernels. */
static float *copy_numbers(const struct graph *network, int value) {
    size_t bytes = (size_t)shape_count(&network->values[value].shape) * sizeof(float);
    float *copy = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!copy) {
        abort(); /* like x_malloc */
    }
    memcpy(copy, network->values[value].constant.data, bytes);
    return copy;
}

static struct tensor number_tensor(const struct graph *network, int value, float *data) {
    return (struct tensor){TENSOR_FLOAT32, network->values[value].shape, data, false};
}

static int lay_out(struct trainer *trainer, struct error *err) {
    const struct training_graph *graph = &trainer->graph;
    struct graph *network = trainer->network;
    size_t own = network->input_count;
    size_t variables = graph->variable_count, statistics = 2 * graph->norm_count;
    trainer->weights = x_calloc(variables + 1, sizeof *trainer->weights);
    trainer->results = x_calloc(variables + 1, sizeof *trainer->results);
    trainer->statistics = x_calloc(statistics + 1, sizeof *trainer->statistics);
    trainer->inputs = x_calloc(graph->graph.input_count + 1, sizeof *trainer->inputs);
    trainer->outputs = x_calloc(graph->graph.output_count + 1, sizeof *trainer->outputs);
    trainer->evaluation_inputs =
        x_calloc(trainer->evaluation.input_count + 1, sizeof *trainer->evaluation_inputs);
    trainer->evaluation_outputs =
        x_calloc(trainer->evaluation.output_count + 1, sizeof *trainer->evaluation_outputs);
    /* The network's constants are not read again: weights and statistics are inputs of both graphs,
     * and model_write gets the trained ones. Each constant is dropped after it was copied, so that
     * a model is never in memory twice. */
    for (size_t i = 0; i < variables; i++) {
        int value = graph->variables[i];
        trainer->inputs[graph->first_variable + i] = trainer->evaluation_inputs[own + i] =
            number_tensor(network, value, NULL);
        if (trainer_device_floats(trainer, trainer_variable_size(trainer, i), &trainer->weights[i],
                                  err) < 0 ||
            trainer_device_write(trainer, trainer->weights[i], network->values[value].constant.data,
                                 trainer_variable_size(trainer, i), err) < 0) {
            return -1;
        }
        graph_drop_constant(network, value);
    }
    for (size_t i = 0; i < statistics; i++) {
        int value = trainer_statistic_constant(trainer, i);
        trainer->statistics[i] = copy_numbers(network, value);
        graph_drop_constant(network, value);
        trainer->evaluation_inputs[own + variables + i] =
            number_tensor(network, value, trainer->statistics[i]);
    }
    trainer_shape_inputs(trainer, 0, trainer->inputs);
    trainer_shape_inputs(trainer, 0, trainer->evaluation_inputs);
    for (size_t i = 0; i < trainer->head_count; i++) {
        trainer->inputs[graph->losses[i].target] = trainer_head_target(trainer, i);
        trainer->inputs[graph->losses[i].scale] =
            (struct tensor){.type = TENSOR_FLOAT32, .data = &trainer->heads[i].scale};
    }
    if (graph->share) {
        trainer->inputs[graph->share] =
            (struct tensor){.type = TENSOR_FLOAT32, .data = &trainer->share};
    }
    return 0;
}

/* ---- the spec ------------------------------------------------------------------------------- */

static int read_times(struct trainer *trainer, const json_t *spec, struct error *err) {
    const json_t *checkpoint = json_object_get(spec, "checkpoint");
    int64_t seed, every_s, keep;
    if (fields_integer(spec, "epochs", (int64_t[]){1, EPOCHS_MAX}, &trainer->epochs, err) < 0 ||
        fields_integer(spec, "batchSize", (int64_t[]){1, BATCH_MAX}, &trainer->batch_size, err) <
            0 ||
        fields_integer(spec, "seed", (int64_t[]){0, INT64_MAX}, &seed, err) < 0 ||
        fields_integer(checkpoint, "everySeconds", (int64_t[]){1, INT32_MAX}, &every_s, err) < 0 ||
        fields_integer(checkpoint, "keep", (int64_t[]){1, INT32_MAX}, &keep, err) < 0) {
        return -1;
    }
    if (fields_flag(spec, "timeline", &trainer->has_timeline, err) < 0) {
        return -1;
    }
    bool wants_sync = false;
    if (json_object_get(spec, "syncBatchNorm") &&
        fields_flag(spec, "syncBatchNorm", &wants_sync, err) < 0) {
        return -1;
    }
    trainer->is_synced = wants_sync && trainer->comm->size > 1;
    trainer->parts = 1;
    if (json_object_get(spec, "gradientAccumulationSteps") &&
        fields_integer(spec, "gradientAccumulationSteps", (int64_t[]){1, BATCH_MAX},
                       &trainer->parts, err) < 0) {
        return -1;
    }
    trainer->block.check_every = CHECK_EVERY;
    if (json_object_get(spec, "checkEvery") &&
        fields_integer(spec, "checkEvery", (int64_t[]){0, INT32_MAX}, &trainer->block.check_every,
                       err) < 0) {
        return -1;
    }
    trainer->seed = (uint64_t)seed;
    trainer->save_every_ms = 1000 * every_s;
    trainer->writer.keep = (int)keep;
    return 0;
}

/* Otherwise a resumed training would start from its own result. */
static int check_places(const json_t *spec, const char *path, struct error *err) {
    AUTO(text_freep)
    char *result = x_printf("%s/" RESULT_MODEL, tree_text(spec, "output.path", ""));
    return path && strcmp(path, result) == 0
               ? error_set(err, ERROR_INVALID,
                           "model.path: %.200s is what this training writes; choose another output",
                           path)
               : 0;
}

/* The digest of everything that the result depends on; speed and intervals are not included. */
static int digest_settings(const struct trainer *trainer, char **ret_digest, struct error *err) {
    static const char *const pace[] = {"checkpoint", "fusionBufferMB", "timeline", "output",
                                       "checkEvery"};
    json_t *settings = json_deep_copy(trainer->job->trainer);
    char hex[65];
    for (size_t i = 0; i < ARRAY_LEN(pace); i++) {
        json_object_del(settings, pace[i]);
    }
    /* Until a bad sample is met, Fail makes the same steps as Skip. */
    json_object_del(json_object_get(settings, "data"), "onBadSample");
    json_object_del(json_object_get(settings, "data"), "maxBadSamples");
    json_object_set_new(settings, "data of this digest",
                        json_integer((json_int_t)trainer->train->digest));
    if (trainer->model) { /* frozen weights and the graph are not compared elsewhere */
        if (model_digest(trainer->model, hex, err) < 0) {
            json_decref(settings);
            return -1;
        }
        json_object_set_new(settings, "model of this digest", json_string(hex));
    }
    /* Earlier versions averaged these: half of such a checkpoint would have no place here. */
    if (trainer->forms.kept.count) {
        json_object_set_new(settings, "norms that keep their statistics",
                            json_integer((json_int_t)trainer->forms.kept.count));
    }
    for (size_t i = 0; i < trainer->graph.variable_count; i++) {
        const struct value *value = &trainer->network->values[trainer->graph.variables[i]];
        AUTO(text_freep) char *name = x_printf("weights of %s", value->name ? value->name : "");
        json_object_set_new(settings, name, json_integer(shape_count(&value->shape)));
    }
    AUTO(text_freep) char *text = json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(settings);
    digest_sha256(text ? text : "", text ? strlen(text) : 0, hex);
    *ret_digest = x_strdup(hex);
    return 0;
}

int trainer_open(struct trainer *trainer, struct error *err) {
    const json_t *spec = trainer->job->trainer, *model = json_object_get(spec, "model");
    const char *path = json_string_value(json_object_get(model, "path"));
    trainer->device = trainer->job->device;
    if (best_goal_read(trainer->job->metrics, &trainer->best_goal, err) < 0 ||
        check_places(spec, path, err) < 0 || read_times(trainer, spec, err) < 0 ||
        open_data(trainer, spec, err) < 0 ||
        (path ? open_model(trainer, path, err) : make_model(trainer, model, err)) < 0 ||
        trainer_match_inputs(trainer, spec, err) < 0 || build_graphs(trainer, spec, err) < 0) {
        return -1;
    }
    allow_numbers(trainer);
    trainer->epoch_steps = order_steps(trainer->train->count, trainer->batch_size);
    trainer->total_steps = trainer->epoch_steps * trainer->epochs;
    if (digest_settings(trainer, &trainer->digest, err) < 0) {
        return error_context(err, "model.path");
    }
    trainer->prefix = x_printf(".windlass/%s/", trainer->job->run);
    return lay_out(trainer, err);
}

void trainer_close(struct trainer *trainer) {
    reducer_close(trainer->reducer);
    loader_close(trainer->loader);
    for (size_t i = 0; i < PREPARED_MAX; i++) {
        training_free(trainer->prepared[i].training);
        training_free(trainer->evaluated[i].training);
        free(trainer->prepared[i].due);
    }
    for (size_t i = 0; trainer->statistics && i < 2 * trainer->graph.norm_count; i++) {
        free(trainer->statistics[i]);
    }
    for (size_t i = 0; i < trainer->head_count; i++) {
        criterion_release(&trainer->heads[i].criterion);
    }
    free(trainer->statistics);
    free(trainer->sources);
    free(trainer->inputs);
    free(trainer->outputs);
    free(trainer->keys);
    free(trainer->evaluation_inputs);
    free(trainer->evaluation_outputs);
    optimizer_free(trainer->optimizer);
    trainer_free_block(trainer);
    trainer_free_memory(trainer);
    buckets_release(&trainer->buckets);
    free(trainer->in_order);
    free(trainer->first);
    free(trainer->best_numbers);
    free(trainer->reports.all);
    free(trainer->prefix);
    json_decref(trainer->spec);
    free(trainer->digest);
    metrics_log_free(trainer->metrics);
    timeline_free(trainer->timeline);
    store_free(trainer->store);
    bad_samples_free(trainer->bad_train);
    bad_samples_free(trainer->bad_test);
    dataset_close(trainer->train);
    dataset_close(trainer->test);
    graph_release(&trainer->evaluation);
    training_graph_release(&trainer->graph);
    graph_release(&trainer->made);
    model_free(trainer->model);
}
