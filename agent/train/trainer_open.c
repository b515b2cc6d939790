// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_state.h"
#include "agent/train/trainer_variables.h"

#include "agent/engine/aliases.h"
#include "agent/engine/networks.h"
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

enum { FREEZE_MAX = 64 };

static const double memory_share = 0.25; /* of the machine's or the container's, for data */

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
    if (fields_integer(spec, "classes", (int64_t[]){1, NETWORKS_CLASSES_MAX},
                       trainer->train->classes, &options.classes, err) < 0 ||
        fields_flag(spec, "smooth", &options.is_smooth, err) < 0) {
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
    struct error cause = {0};
    if (local_file_open(path, &file, err) < 0) {
        return -1;
    }
    /* The model is in memory: the copy can be removed. */
    if (model_open(file.path, &trainer->model, &cause) < 0) {
        *err = cause;
        return error_context(err, "model.path");
    }
    trainer->opset = trainer->model->opset;
    aliases_resolve(&trainer->model->graph, &trainer->made);
    trainer->network = &trainer->made;
    return 0;
}

/* Checks that the network's only input takes a batch of augmented samples, and that its output
 * matches the classes. */
static int check_shapes(const struct trainer *trainer, struct error *err) {
    const struct graph *network = trainer->network;
    const struct shape *wanted = &network->values[network->inputs[0]].shape;
    const struct shape *sample = &trainer->augment.shape;
    char theirs[128], ours[128];
    bool fits = network->input_count == 1 && wanted->rank == sample->rank + 1;
    for (int i = 0; fits && i < sample->rank; i++) {
        fits = wanted->dims[i + 1] < 0 || wanted->dims[i + 1] == sample->dims[i];
    }
    if (!fits) {
        shape_format(wanted, theirs);
        shape_format(sample, ours);
        return error_set(err, ERROR_INVALID, "the network takes %s, a sample is %s", theirs, ours);
    }
    return 0;
}

static int build_graphs(struct trainer *trainer, const json_t *spec, struct error *err) {
    static const char *const losses[] = {"CrossEntropy", "MeanSquared", NULL};
    static const char *const precisions[] = {"FP32", "BF16", NULL};
    const char *freeze[FREEZE_MAX];
    const json_t *patterns = json_object_get(json_object_get(spec, "model"), "freeze");
    struct training_options *options = &trainer->options;
    double smoothing;
    int loss, precision;
    if (fields_choice(spec, "loss", losses, 0, &loss, err) < 0 ||
        fields_choice(spec, "precision", precisions, 0, &precision, err) < 0 ||
        fields_number(spec, "labelSmoothing", (double[]){0, 0.999}, 0, &smoothing, err) < 0) {
        return -1;
    }
    *options = (struct training_options){
        .loss = (enum training_loss)loss, .smoothing = (float)smoothing, .freeze = freeze};
    options->is_bfloat = precision == 1;
    if (options->is_bfloat && trainer->device->is_host) {
        trainer_say(trainer, "precision: BF16 is made for GPUs: on this processor it costs more "
                             "time than FP32, as each number is computed as that and rounded");
    }
    bool has_classes = trainer->train->classes > 0;
    if (has_classes != (options->loss == TRAINING_CROSS_ENTROPY)) {
        return error_set(err, ERROR_INVALID, "loss: %s does not fit targets that are %s",
                         losses[loss], has_classes ? "classes" : "numbers");
    }
    for (size_t i = 0; i < MIN(json_array_size(patterns), (size_t)FREEZE_MAX); i++) {
        const char *pattern = json_string_value(json_array_get(patterns, i));
        freeze[options->freeze_count++] = pattern ? pattern : "";
    }
    if (training_graph_build(trainer->network, options, &trainer->graph, err) < 0) {
        /* Another start would not change it. */
        err->kind = err->kind == ERROR_UNSUPPORTED ? ERROR_INVALID : err->kind;
        return -1;
    }
    trainer_say_variables(trainer);
    options->freeze = NULL; /* the array belongs to this function */
    options->freeze_count = 0;
    training_graph_evaluation(&trainer->graph, trainer->network, &trainer->evaluation);
    return 0;
}

/* ---- data ----------------------------------------------------------------------------------- */

/* The memory limit of the container's cgroup, or the memory of the machine. */
static int64_t memory_bytes(void) {
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t limit = cgroup_memory_bytes(NULL);
    return limit ? MIN(bytes, limit) : bytes;
}

static int open_data(struct trainer *trainer, const json_t *spec, struct error *err) {
    const json_t *data = json_object_get(spec, "data");
    const json_t *test = json_object_get(data, "test");
    int64_t room = (int64_t)((double)memory_bytes() * memory_share);
    const json_t *model = json_object_get(spec, "model");
    struct dataset_options options = {.memory_bytes = room / (test ? 2 : 1),
                                      .classes =
                                          json_integer_value(json_object_get(model, "classes")),
                                      .shape = json_object_get(model, "shape")};
    if (dataset_open(json_object_get(data, "train"), &options, &trainer->train, err) < 0) {
        return error_context(err, "data.train");
    }
    options.like = trainer->train;
    if (test && dataset_open(test, &options, &trainer->test, err) < 0) {
        return error_context(err, "data.test");
    }
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
    const struct graph *network = trainer->network;
    size_t variables = graph->variable_count, statistics = 2 * graph->norm_count;
    trainer->weights = x_calloc(variables + 1, sizeof *trainer->weights);
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
        trainer->inputs[graph->first_variable + i] = trainer->evaluation_inputs[1 + i] =
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
        trainer->evaluation_inputs[1 + variables + i] =
            number_tensor(network, value, trainer->statistics[i]);
    }
    struct shape batch = {.rank = trainer->augment.shape.rank + 1};
    memcpy(batch.dims + 1, trainer->augment.shape.dims, sizeof batch.dims - sizeof *batch.dims);
    trainer->inputs[0] = trainer->evaluation_inputs[0] =
        (struct tensor){.type = TENSOR_FLOAT32, .shape = batch};
    struct tensor *target = &trainer->inputs[graph->target];
    if (trainer->train->classes) {
        *target = (struct tensor){.type = TENSOR_INT64, .shape = {1, {0}}};
    } else {
        *target = (struct tensor){.type = TENSOR_FLOAT32, .shape = {2, {0, 0}}};
        target->shape.dims[1] = trainer->train->target_count;
    }
    trainer->inputs[graph->scale] =
        (struct tensor){.type = TENSOR_FLOAT32, .data = &trainer->scale};
    return 0;
}

/* ---- the spec ------------------------------------------------------------------------------- */

static int read_times(struct trainer *trainer, const json_t *spec, struct error *err) {
    const json_t *checkpoint = json_object_get(spec, "checkpoint");
    int64_t seed, every_s, keep;
    if (fields_integer(spec, "epochs", (int64_t[]){1, EPOCHS_MAX}, 0, &trainer->epochs, err) < 0 ||
        fields_integer(spec, "batchSize", (int64_t[]){1, 1 << 20}, 0, &trainer->batch_size, err) <
            0 ||
        fields_integer(spec, "seed", (int64_t[]){0, INT64_MAX}, 42, &seed, err) < 0 ||
        fields_integer(checkpoint, "everySeconds", (int64_t[]){1, 86400}, 60, &every_s, err) < 0 ||
        fields_integer(checkpoint, "keep", (int64_t[]){1, 100}, 2, &keep, err) < 0) {
        return -1;
    }
    if (fields_flag(spec, "timeline", &trainer->has_timeline, err) < 0) {
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
    static const char *const pace[] = {"checkpoint", "fusionBufferMB", "timeline", "output"};
    json_t *settings = json_deep_copy(trainer->job->trainer);
    char hex[65];
    for (size_t i = 0; i < ARRAY_LEN(pace); i++) {
        json_object_del(settings, pace[i]);
    }
    json_object_set_new(settings, "data of this digest",
                        json_integer((json_int_t)trainer->train->digest));
    if (trainer->model) { /* frozen weights and the graph are not compared elsewhere */
        if (model_digest(trainer->model, hex, err) < 0) {
            json_decref(settings);
            return -1;
        }
        json_object_set_new(settings, "model of this digest", json_string(hex));
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
        check_shapes(trainer, err) < 0 || build_graphs(trainer, spec, err) < 0) {
        return -1;
    }
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
    free(trainer->statistics);
    free(trainer->inputs);
    free(trainer->outputs);
    free(trainer->keys);
    free(trainer->evaluation_inputs);
    free(trainer->evaluation_outputs);
    optimizer_free(trainer->optimizer);
    trainer_free_memory(trainer);
    buckets_release(&trainer->buckets);
    free(trainer->in_order);
    free(trainer->first);
    free(trainer->best_numbers);
    free(trainer->prefix);
    json_decref(trainer->spec);
    free(trainer->digest);
    metrics_log_free(trainer->metrics);
    timeline_free(trainer->timeline);
    store_free(trainer->store);
    dataset_close(trainer->train);
    dataset_close(trainer->test);
    graph_release(&trainer->evaluation);
    training_graph_release(&trainer->graph);
    graph_release(&trainer->made);
    model_free(trainer->model);
}
