// SPDX-License-Identifier: Apache-2.0
#include "agent/train/trainer_inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_BYTES = 400 };

/* A sample's tensor: 0 is the first one, 1 + i the extra i. */
static struct dataset_tensor tensor_at(const struct trainer *trainer, int source) {
    const struct dataset *train = trainer->train;
    return source > 0 ? train->extras[source - 1]
                      : (struct dataset_tensor){.name = train->name,
                                                .type = train->type,
                                                .shape = trainer->augment.shape,
                                                .needed = "the network would not see it"};
}

static enum tensor_type *result_of(struct augment *augment, int source) {
    return source > 0 ? &augment->extra_results[source - 1] : &augment->result;
}

static const struct value *input_at(const struct trainer *trainer, size_t input) {
    return &trainer->network->values[trainer->network->inputs[input]];
}

/* "a", "b", as far as there is room. */
static void add_name(char text[static NAMES_BYTES], const char *name) {
    size_t used = strlen(text);
    snprintf(text + used, NAMES_BYTES - used, "%s\"%.64s\"", used ? ", " : "", name);
}

static void list_tensors(const struct trainer *trainer, char text[static NAMES_BYTES]) {
    *text = 0;
    for (size_t i = 0; i <= trainer->train->extra_count; i++) {
        struct dataset_tensor tensor = tensor_at(trainer, (int)i);
        if (!tensor.is_target) {
            add_name(text, tensor.name ? tensor.name : "samples");
        }
    }
}

static int find_source(const struct trainer *trainer, size_t input, int *ret_source,
                       struct error *err) {
    const struct dataset *train = trainer->train;
    const char *name = input_at(trainer, input)->name;
    char names[NAMES_BYTES];
    bool is_only = trainer->network->input_count == 1 && !train->name;
    *ret_source = is_only ? 0 : dataset_find(train, name ? name : "");
    if (*ret_source >= 0) {
        return 0;
    }
    list_tensors(trainer, names);
    return error_set(err, ERROR_INVALID,
                     "the network has the input \"%.64s\", and a sample of data.train has %s: give "
                     "each input its data by its name (data.train.tensors.inputs)",
                     name ? name : "", names);
}

/* A network of tokens takes integers as they are; every other one floats. */
static int choose_type(struct trainer *trainer, size_t input, struct error *err) {
    int source = trainer->sources[input];
    enum tensor_type wanted = input_at(trainer, input)->type;
    enum tensor_type type = tensor_at(trainer, source).type;
    bool is_whole = wanted == TENSOR_INT64 || wanted == TENSOR_INT32;
    bool fits =
        is_whole ? type != TENSOR_FLOAT32 : wanted == TENSOR_FLOAT32 && type != TENSOR_INT64;
    if (!fits) {
        return error_set(err, ERROR_INVALID,
                         "the network takes %s, and the samples are %s: integers (i1, i2, i4, i8) "
                         "are for networks that begin with an embedding, floats for all others",
                         tensor_type_name(wanted), tensor_type_name(type));
    }
    *result_of(&trainer->augment, source) = wanted;
    return 0;
}

static int check_shape(const struct trainer *trainer, size_t input, struct error *err) {
    const struct shape *wanted = &input_at(trainer, input)->shape;
    struct dataset_tensor sample = tensor_at(trainer, trainer->sources[input]);
    char theirs[128], ours[128];
    bool fits = wanted->rank == sample.shape.rank + 1;
    for (int i = 0; fits && i < sample.shape.rank; i++) {
        fits = wanted->dims[i + 1] < 0 || wanted->dims[i + 1] == sample.shape.dims[i];
    }
    if (!fits) {
        shape_format(wanted, theirs);
        shape_format(&sample.shape, ours);
        return error_set(err, ERROR_INVALID, "the network takes %s, a sample is %s", theirs, ours);
    }
    return 0;
}

static int match(struct trainer *trainer, size_t input, struct error *err) {
    if (find_source(trainer, input, &trainer->sources[input], err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < input; i++) {
        if (trainer->sources[i] == trainer->sources[input]) {
            return error_set(err, ERROR_INVALID,
                             "the network's inputs \"%.64s\" and \"%.64s\" would take the same "
                             "tensor of a sample",
                             input_at(trainer, i)->name, input_at(trainer, input)->name);
        }
    }
    if (choose_type(trainer, input, err) < 0 || check_shape(trainer, input, err) < 0) {
        return trainer->network->input_count > 1
                   ? error_context(err, "input \"%.64s\"", input_at(trainer, input)->name)
                   : -1;
    }
    return 0;
}

/* A tensor that the network does not take would be ignored silently. */
static int check_taken(const struct trainer *trainer, struct error *err) {
    for (size_t i = 0; i <= trainer->train->extra_count; i++) {
        struct dataset_tensor tensor = tensor_at(trainer, (int)i);
        char names[NAMES_BYTES] = "";
        bool is_taken = false;
        for (size_t k = 0; k < trainer->network->input_count; k++) {
            is_taken |= trainer->sources[k] == (int)i;
            add_name(names, input_at(trainer, k)->name ? input_at(trainer, k)->name : "");
        }
        if (!is_taken && tensor.needed) {
            return error_set(err, ERROR_INVALID,
                             "data.train: no input of the network takes \"%.64s\": %s; its inputs "
                             "are %s",
                             tensor.name ? tensor.name : "samples", tensor.needed, names);
        }
    }
    return 0;
}

int trainer_match_inputs(struct trainer *trainer, const json_t *spec, struct error *err) {
    size_t count = trainer->network->input_count;
    trainer->sources = x_calloc(count + 1, sizeof *trainer->sources);
    for (size_t i = 0; i < count; i++) {
        if (match(trainer, i, err) < 0) {
            return -1;
        }
    }
    bool is_whole = trainer->augment.result != TENSOR_FLOAT32;
    if (is_whole && json_object_get(json_object_get(spec, "data"), "normalize")) {
        return error_set(err, ERROR_INVALID,
                         "data.normalize: the network takes %s, which are not normalized",
                         tensor_type_name(trainer->augment.result));
    }
    return check_taken(trainer, err);
}

void trainer_shape_inputs(const struct trainer *trainer, int64_t samples, struct tensor *inputs) {
    for (size_t i = 0; i < trainer->network->input_count; i++) {
        struct shape sample = tensor_at(trainer, trainer->sources[i]).shape;
        struct augment augment = trainer->augment;
        inputs[i] = (struct tensor){.type = *result_of(&augment, trainer->sources[i]),
                                    .shape = {.rank = sample.rank + 1}};
        memcpy(inputs[i].shape.dims + 1, sample.dims, (size_t)sample.rank * sizeof *sample.dims);
        inputs[i].shape.dims[0] = samples;
    }
}

void trainer_set_inputs(const struct trainer *trainer, const struct batch *batch,
                        struct order_slice part, struct tensor *inputs) {
    for (size_t i = 0; i < trainer->network->input_count; i++) {
        int source = trainer->sources[i];
        char *data = source > 0 ? batch->extras[source - 1] : batch->samples;
        inputs[i].shape.dims[0] = 1;
        int64_t bytes = shape_count(&inputs[i].shape) * (int64_t)tensor_type_size(inputs[i].type);
        inputs[i].shape.dims[0] = part.count;
        inputs[i].data = data + part.first * bytes;
    }
}
