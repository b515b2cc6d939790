// SPDX-License-Identifier: Apache-2.0
/* `model gradients`: the loss and the gradient of every weight, as in a step of training. */
#include "agent/commands/model.h"
#include "agent/commands/value_file.h"
#include "agent/engine/device.h"
#include "agent/engine/model.h"
#include "agent/engine/training.h"
#include "agent/engine/training_graph.h"
#include "lib/file.h"
#include "lib/options.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gradients_options {
    const char *model, *input, *target, *folder, *loss, *smoothing, *device;
    struct option_list keep, freeze, weights;
    int64_t threads, ignored, blank;
    float class_weights[ARRAY_LEN(((struct option_list *)NULL)->values)];
};

/* Released at the end, also after an error. */
struct once {
    struct model *model;
    struct graph network; /* of the model, in the form of inference (forms_normalize) */
    struct device *device;
    struct training_graph graph;
    struct training *training;
    struct tensor *inputs, *outputs;
    void **memory; /* per output that is a gradient */
};

static void once_release(struct once *once) {
    training_free(once->training);
    for (size_t i = 0; once->memory && i < once->graph.graph.output_count; i++) {
        if (once->memory[i]) {
            once->device->ops->free(once->device, once->memory[i]);
        }
    }
    for (size_t i = 0; once->inputs && i < once->graph.graph.input_count; i++) {
        tensor_release(&once->inputs[i]);
    }
    free(once->memory);
    free(once->inputs);
    free(once->outputs);
    training_graph_release(&once->graph);
    graph_release(&once->network);
    device_close(once->device);
    model_free(once->model);
}

/* A number in text, from low to below high. */
static int read_number(const char *option, const char *text, double high, float *ret_number,
                       struct error *err) {
    char *end = NULL;
    float number = strtof(text, &end);
    if (end == text || *end || !(number >= 0 && (double)number < high)) {
        return error_set(err, ERROR_INVALID, "--%s %.64s: expected a number from 0 to below %g",
                         option, text, high);
    }
    *ret_number = number;
    return 0;
}

static int read_loss(const struct gradients_options *asked, enum training_loss *ret_loss,
                     struct error *err) {
    static const char *const losses[] = {"cross-entropy", "mean-squared", "binary-cross-entropy",
                                         "huber", "ctc"};
    static_assert(ARRAY_LEN(losses) == TRAINING_LOSS_COUNT, "one name per loss");
    size_t loss = 0;
    while (loss < ARRAY_LEN(losses) && strcmp(asked->loss, losses[loss]) != 0) {
        loss++;
    }
    if (loss == ARRAY_LEN(losses)) {
        return error_set(err, ERROR_INVALID,
                         "--loss %.64s: cross-entropy, mean-squared, binary-cross-entropy, huber "
                         "or ctc is expected",
                         asked->loss);
    }
    *ret_loss = (enum training_loss)loss;
    return 0;
}

static int read_options(struct gradients_options *asked, struct training_options *ret_options,
                        struct error *err) {
    struct training_options options = {
        .has_ignored = true,
        .ignored = asked->ignored,
        .blank = asked->blank,
        .class_weights = asked->class_weights,
        .class_weight_count = asked->weights.count,
        .freeze = asked->freeze.values,
        .freeze_count = asked->freeze.count,
        .keep = asked->keep.values,
        .keep_count = asked->keep.count,
    };
    if (read_loss(asked, &options.loss, err) < 0 ||
        read_number("smoothing", asked->smoothing, 1, &options.smoothing, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < asked->weights.count; i++) {
        if (read_number("class-weight", asked->weights.values[i], 1e6, &asked->class_weights[i],
                        err) < 0) {
            return -1;
        }
    }
    *ret_options = options;
    return 0;
}

/* The weights' numbers, borrowed from the model. */
static void fill_variables(struct once *once) {
    struct training_graph *graph = &once->graph;
    for (size_t i = 0; i < graph->variable_count; i++) {
        struct tensor *input = &once->inputs[graph->first_variable + i];
        *input = once->network.values[graph->variables[i]].constant;
        input->owned = false;
    }
}

/* By how much the samples count: for classes the places that do, by their weights. */
static double count_places(const struct once *once, const struct gradients_options *asked) {
    const struct tensor *target = &once->inputs[once->graph.target];
    bool is_ctc = strcmp(asked->loss, "ctc") == 0;
    double count = 0;
    if (target->type != TENSOR_INT64 || is_ctc) {
        return (double)once->inputs[0].shape.dims[0];
    }
    for (int64_t i = 0; i < shape_count(&target->shape); i++) {
        int64_t label = ((const int64_t *)target->data)[i];
        bool has_weight = label >= 0 && label < (int64_t)asked->weights.count;
        count += label == asked->ignored ? 0 : has_weight ? (double)asked->class_weights[label] : 1;
    }
    return count;
}

static int fill_inputs(struct once *once, const struct gradients_options *asked,
                       struct error *err) {
    struct training_graph *graph = &once->graph;
    const struct shape one = {0};
    once->inputs = x_calloc(graph->graph.input_count + 1, sizeof *once->inputs);
    if (graph->first_variable != 1) {
        return error_set(err, ERROR_UNSUPPORTED, "the network has %zu inputs: one is expected",
                         graph->first_variable);
    }
    fill_variables(once);
    struct tensor *scale = &once->inputs[graph->scale];
    if (tensor_proto_load(asked->input, &once->inputs[0], err) < 0 ||
        tensor_proto_load(asked->target, &once->inputs[graph->target], err) < 0 ||
        tensor_init(scale, TENSOR_FLOAT32, &one, err) < 0) {
        return -1;
    }
    const struct shape *shape = &once->inputs[0].shape;
    if (shape->rank < 1 || shape->dims[0] < 1) {
        return error_set(err, ERROR_INVALID, "--input %s holds no samples", asked->input);
    }
    double count = count_places(once, asked);
    *(float *)scale->data = (float)(count > 0 ? 1 / count : 0);
    if (training_place_samples(&once->graph, &once->inputs[0], err) < 0) {
        return -1;
    }
    if (graph->keys) { /* for dropout: the index of the sample */
        struct tensor *keys = &once->inputs[graph->keys];
        const struct shape each = {1, {shape->dims[0]}};
        if (tensor_init(keys, TENSOR_INT64, &each, err) < 0) {
            return -1;
        }
        for (int64_t i = 0; i < shape->dims[0]; i++) {
            ((int64_t *)keys->data)[i] = i;
        }
    }
    return 0;
}

/* Gradients are made in memory that we allocate, as in the trainer. */
static int open_training(struct once *once, struct error *err) {
    struct training_graph *graph = &once->graph;
    size_t count = graph->graph.output_count;
    bool *is_bound = x_calloc(count + 1, sizeof *is_bound);
    for (size_t i = 0; i < graph->variable_count; i++) {
        is_bound[graph->first_gradient + i] = true;
    }
    int result =
        training_open(once->device, &graph->graph, once->inputs, is_bound, &once->training, err);
    once->memory = x_calloc(count + 1, sizeof *once->memory);
    for (size_t i = 0; result == 0 && i < count; i++) {
        struct tensor tensor = training_output(once->training, i);
        size_t size = (size_t)shape_count(&tensor.shape) * tensor_type_size(tensor.type);
        if (is_bound[i]) {
            result = once->device->ops->alloc(once->device, size, &once->memory[i], err);
            training_bind(once->training, i, once->memory[i]);
        }
    }
    free(is_bound);
    return result;
}

static int save_one(const struct once *once, const char *folder, const char *name, size_t output,
                    struct error *err) {
    AUTO(text_freep) char *file = value_file_name(name);
    AUTO(text_freep) char *path = file_join(folder, file);
    const struct tensor *made = &once->outputs[output];
    if (!once->memory[output]) {
        return tensor_proto_save(path, name, made, err);
    }
    struct tensor copy = {0};
    int result = tensor_init(&copy, made->type, &made->shape, err);
    size_t size = (size_t)shape_count(&made->shape) * tensor_type_size(made->type);
    result = result < 0 ? -1
                        : once->device->ops->copy(once->device, COPY_TO_HOST, copy.data, made->data,
                                                  size, err);
    result = result < 0 ? -1 : tensor_proto_save(path, name, &copy, err);
    tensor_release(&copy);
    return result;
}

/* Two weights must not get the same file name. */
static int check_names(const struct training_graph *graph, struct error *err) {
    const struct value *values = graph->graph.values;
    for (size_t i = 0; i < graph->variable_count; i++) {
        AUTO(text_freep) char *name = value_file_name(values[graph->variables[i]].name);
        for (size_t k = i + 1; k < graph->variable_count; k++) {
            AUTO(text_freep) char *other = value_file_name(values[graph->variables[k]].name);
            if (strcmp(name, other) == 0) {
                return error_set(err, ERROR_UNSUPPORTED,
                                 "two weights would be written to one file, %.64s", name);
            }
        }
    }
    return 0;
}

static int save(const struct once *once, const struct gradients_options *asked, struct error *err) {
    const struct training_graph *graph = &once->graph;
    const struct value *values = graph->graph.values;
    AUTO(text_freep) char *gradients = file_join(asked->folder, "gradients");
    AUTO(text_freep) char *kept = file_join(asked->folder, "values");
    int result = check_names(graph, err) < 0 ? -1 : file_make_folders(gradients, err);
    result = result < 0 || asked->keep.count == 0 ? result : file_make_folders(kept, err);
    for (size_t i = 0; result == 0 && i < graph->variable_count; i++) {
        result = save_one(once, gradients, values[graph->variables[i]].name,
                          graph->first_gradient + i, err);
    }
    for (size_t i = 0; result == 0 && i < asked->keep.count; i++) {
        result = save_one(once, kept, asked->keep.values[i], graph->first_kept + i, err);
    }
    return result;
}

static int run(struct once *once, struct gradients_options *asked, struct error *err) {
    struct training_options options;
    if (read_options(asked, &options, err) < 0 || model_open(asked->model, &once->model, err) < 0 ||
        device_open(asked->device, (int)asked->threads, &once->device, err) < 0) {
        return -1;
    }
    struct forms forms;
    if (forms_normalize(&once->model->graph, &once->network, &forms, err) < 0 ||
        training_graph_build(&once->network, &options, &once->graph, err) < 0) {
        return error_context(err, "model %s", asked->model);
    }
    once->outputs = x_calloc(once->graph.graph.output_count + 1, sizeof *once->outputs);
    if (fill_inputs(once, asked, err) < 0 || open_training(once, err) < 0 ||
        training_run(once->training, once->inputs, once->outputs, NULL, err) < 0 ||
        save(once, asked, err) < 0) {
        return -1;
    }
    if (once->graph.correct) {
        printf("correct %.0f of %lld\n",
               (double)*(const float *)once->outputs[once->graph.correct].data,
               (long long)once->inputs[0].shape.dims[0]);
    }
    printf("loss %.9g\n", (double)*(const float *)once->outputs[0].data);
    return 0;
}

int model_gradients_command(int argc, char **argv, struct error *err) {
    struct gradients_options asked = {
        .folder = ".", .loss = "cross-entropy", .smoothing = "0", .ignored = -100};
    struct option_list list = {0};
    const struct option options[] = {
        {"input", 'i', OPTION_TEXT, "FILE.pb", "The samples, a TensorProto file.", &asked.input},
        {"target", 0, OPTION_TEXT, "FILE.pb", "Their labels (int64), or the expected output.",
         &asked.target},
        {"loss", 0, OPTION_TEXT, "NAME",
         "The loss: cross-entropy (default), mean-squared, binary-cross-entropy, huber or ctc.",
         &asked.loss},
        {"ignore-label", 0, OPTION_INTEGER, "N",
         "For cross-entropy and ctc: a label whose places do not count (default: -100).",
         &asked.ignored},
        {"class-weight", 0, OPTION_LIST, "NUMBER",
         "For cross-entropy: by how much a class counts; once for each class, in their order.",
         &asked.weights},
        {"blank-label", 0, OPTION_INTEGER, "N", "For ctc: the class of blanks (default: 0).",
         &asked.blank},
        {"smoothing", 0, OPTION_TEXT, "NUMBER", "Label smoothing, from 0 to below 1 (default: 0).",
         &asked.smoothing},
        {"freeze", 0, OPTION_LIST, "PATTERN", "Weights that are not trained: \"conv1*\".",
         &asked.freeze},
        {"keep", 'k', OPTION_LIST, "VALUE", "Also write this value of the network.", &asked.keep},
        {"output-dir", 'o', OPTION_TEXT, "DIR",
         "The folder for gradients/ and values/ (default: here).", &asked.folder},
        {"device", 0, OPTION_TEXT, "NAME", "The device: cpu (default) or reference.",
         &asked.device},
        {"threads", 't', OPTION_INTEGER, "N", "CPU threads (default: all)", &asked.threads},
        {.name = NULL}};
    static const struct command_help help = {
        .usage = "windlass-agent model gradients MODEL.onnx --input FILE.pb --target FILE.pb "
                 "--output-dir DIR",
        .about =
            "Computes the loss, averaged over the samples, and its gradient for every weight,\n"
            "as in one step of training, and writes DIR/gradients/NAME.pb. Batch normalization\n"
            "uses the batch's statistics. The last line is the loss.",
        .examples = "windlass-agent model gradients cnn.onnx -i x.pb --target labels.pb -o out",
        .words_min = 1,
        .words_max = 1};
    int read = options_read(argc, argv, &help, options, &list, err);
    if (read != 0) {
        return MIN(read, 0);
    }
    if (!asked.input || !asked.target) {
        return error_set(err, ERROR_INVALID, "--input FILE.pb and --target FILE.pb are needed");
    }
    asked.model = list.values[0];
    struct once once = {0};
    int result = run(&once, &asked, err);
    once_release(&once);
    return result;
}
