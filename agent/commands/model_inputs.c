// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/model_inputs.h"

#include <stdlib.h>
#include <string.h>

/* "1x3x512x512" */
static int parse_shape(const char *text, struct shape *ret_shape, struct error *err) {
    struct shape shape = {0};
    const char *at = text;
    while (*at) {
        char *end;
        long long size = strtoll(at, &end, 10);
        bool ends_well = *end == 0 || (*end == 'x' && end[1]);
        if (end == at || size < 1 || !ends_well || shape.rank == TENSOR_RANK_MAX) {
            return error_set(err, ERROR_INVALID,
                             "--shape \"%s\": expected a shape such as 1x3x512x512", text);
        }
        shape.dims[shape.rank++] = size;
        at = *end ? end + 1 : end;
    }
    *ret_shape = shape;
    return 0;
}

static int choose_shape(const char *name, const struct option_list *pairs, struct shape *shape,
                        struct error *err) {
    size_t length = strlen(name);
    for (size_t i = 0; i < pairs->count; i++) {
        const char *pair = pairs->values[i];
        if (strncmp(pair, name, length) == 0 && pair[length] == '=') {
            return parse_shape(pair + length + 1, shape, err);
        }
    }
    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0) {
            char text[128];
            shape_format(shape, text);
            return error_set(err, ERROR_INVALID,
                             "input %s has the shape %s: --shape %s=... is needed", name, text,
                             name);
        }
    }
    return 0;
}

/* From -1 to 1: larger numbers would saturate gates and softmaxes, which takes another time. */
static void fill(struct tensor *tensor) {
    int64_t count = shape_count(&tensor->shape);
    uint32_t state = 12345;
    for (int64_t i = 0; tensor->type == TENSOR_FLOAT32 && i < count; i++) {
        state = state * 1664525 + 1013904223;
        ((float *)tensor->data)[i] = (float)(int32_t)state * 0x1p-31F;
    }
}

void model_inputs_free(const struct session *session, struct tensor *inputs) {
    for (size_t i = 0; i < session_input_count(session); i++) {
        tensor_release(&inputs[i]);
    }
    free(inputs);
}

int model_inputs_make(const struct session *session, const struct option_list *pairs,
                      struct tensor **ret_inputs, struct error *err) {
    size_t count = session_input_count(session);
    struct tensor *inputs = x_calloc(count + 1, sizeof *inputs);
    for (size_t i = 0; i < count; i++) {
        enum tensor_type type;
        struct shape shape;
        const char *name = session_input(session, i, &type, &shape);
        if (choose_shape(name, pairs, &shape, err) < 0 ||
            tensor_init(&inputs[i], type, &shape, err) < 0) {
            model_inputs_free(session, inputs);
            return -1;
        }
        fill(&inputs[i]);
    }
    *ret_inputs = inputs;
    return 0;
}
