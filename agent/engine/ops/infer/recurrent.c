// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/ops/infer/recurrent.h"

#include "agent/engine/ops/infer/params.h"

#include <assert.h>
#include <string.h>

static const double records_max = 0x1p33;         /* bytes */
static const int64_t size_max = (int64_t)1 << 24; /* with larger sizes, products could overflow */

static int check_shape(const struct node *node, const struct fact *const *inputs, int index,
                       struct shape wanted, struct error *err) {
    const struct fact *fact = param_input(node, inputs, index);
    if (fact && !shape_equal(&fact->shape, &wanted)) {
        char seen_text[128], wanted_text[128];
        shape_format(&fact->shape, seen_text);
        shape_format(&wanted, wanted_text);
        return error_set(err, ERROR_INVALID, "input %d is %s, %s is expected", index, seen_text,
                         wanted_text);
    }
    return 0;
}

static struct shape state_shape(const struct recurrent *r) {
    return r->is_batch_first ? (struct shape){3, {r->batch, r->directions, r->hidden}}
                             : (struct shape){3, {r->directions, r->batch, r->hidden}};
}

static int check_sizes(const struct recurrent *r, struct error *err) {
    static const char *const names[] = {"sequence", "batch", "input", "hidden"};
    const int64_t sizes[] = {r->steps, r->batch, r->input, r->hidden};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        if (sizes[i] > size_max) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "the %s size is %lld, at most %lld is supported", names[i],
                             (long long)sizes[i], (long long)size_max);
        }
    }
    return 0;
}

static int find_function(const struct attribute_string *text, enum recurrent_function *ret_function,
                         struct error *err) {
    static const char *const names[] = {"Sigmoid",  "Tanh",     "Relu",
                                        "Softsign", "Softplus", "HardSigmoid"};
    static_assert(ARRAY_LEN(names) == RECURRENT_FUNCTION_COUNT, "one name per function");
    for (int i = 0; i < RECURRENT_FUNCTION_COUNT; i++) {
        if (text->size == strlen(names[i]) && memcmp(text->bytes, names[i], text->size) == 0) {
            *ret_function = (enum recurrent_function)i;
            return 0;
        }
    }
    return error_set(err, ERROR_UNSUPPORTED, "attribute \"activations\": \"%.*s\" is not supported",
                     (int)MIN(text->size, 64), text->bytes);
}

/* Reads the functions of each direction; without the attribute they are the defaults. */
static int read_functions(const struct node *node, struct recurrent *r, struct error *err) {
    static const enum recurrent_function usual[] = {RECURRENT_SIGMOID, RECURRENT_TANH,
                                                    RECURRENT_TANH};
    const struct attribute *named = node_attribute(node, "activations");
    int each = r->gates == 4 ? 3 : r->gates == 3 ? 2 : 1;
    if (named && named->count && named->count != (size_t)(each * (int)r->directions)) {
        return error_set(err, ERROR_INVALID,
                         "attribute \"activations\" has %zu names, %d are expected", named->count,
                         each * (int)r->directions);
    }
    for (int i = 0; i < each * (int)r->directions; i++) {
        enum recurrent_function *function = &r->functions[i / each][i % each];
        *function = each == 1 ? RECURRENT_TANH : usual[i % each];
        if (named && named->count && find_function(&named->strings[i], function, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* A gradient's node has the forward node's attributes, and its operator by name. */
static int gates_of(const struct node *node) {
    const char *name = node_text(node, "of", node->op->name);
    return strcmp(name, "LSTM") == 0 ? 4 : strcmp(name, "GRU") == 0 ? 3 : 1;
}

int recurrent_params(const struct node *node, const struct fact *const *inputs,
                     struct recurrent *ret_recurrent, struct error *err) {
    const char *direction = node_text(node, "direction", "forward");
    struct recurrent r = {.gates = gates_of(node),
                          .is_batch_first = node_integer(node, "layout", 0),
                          .is_reverse = strcmp(direction, "reverse") == 0,
                          .directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1};
    if (read_functions(node, &r, err) < 0 || param_rank(inputs[0], 0, 3, 3, err) < 0 ||
        param_rank(inputs[2], 2, 3, 3, err) < 0) {
        return -1;
    }
    const int64_t *x = inputs[0]->shape.dims;
    r.steps = x[r.is_batch_first];
    r.batch = x[!r.is_batch_first];
    r.input = x[2];
    r.hidden = inputs[2]->shape.dims[2];
    if (check_sizes(&r, err) < 0) {
        return -1;
    }
    if (node_integer(node, "hidden_size", r.hidden) != r.hidden) {
        return error_set(err, ERROR_INVALID, "attribute \"hidden_size\" is %lld, input 2 has %lld",
                         (long long)node_integer(node, "hidden_size", 0), (long long)r.hidden);
    }
    int64_t rows = r.gates * r.hidden, d = r.directions;
    struct shape state = state_shape(&r);
    if (check_shape(node, inputs, 1, (struct shape){3, {d, rows, r.input}}, err) < 0 ||
        check_shape(node, inputs, 2, (struct shape){3, {d, rows, r.hidden}}, err) < 0 ||
        check_shape(node, inputs, 3, (struct shape){2, {d, 2 * rows}}, err) < 0 ||
        check_shape(node, inputs, 4, (struct shape){1, {r.batch}}, err) < 0 ||
        check_shape(node, inputs, 5, state, err) < 0 ||
        check_shape(node, inputs, 6, state, err) < 0 ||
        check_shape(node, inputs, 7, (struct shape){2, {d, 3 * r.hidden}}, err) < 0) {
        return -1;
    }
    *ret_recurrent = r;
    return 0;
}

int infer_recurrent(const struct node *node, const struct fact *const *inputs, struct fact *outputs,
                    struct error *err) {
    struct recurrent r;
    if (recurrent_params(node, inputs, &r, err) < 0) {
        return -1;
    }
    for (int i = 0; i < node->output_count; i++) {
        outputs[i].type = inputs[0]->type;
        outputs[i].shape = state_shape(&r);
    }
    outputs[0].shape = r.is_batch_first
                           ? (struct shape){4, {r.batch, r.steps, r.directions, r.hidden}}
                           : (struct shape){4, {r.steps, r.directions, r.batch, r.hidden}};
    return 0;
}

int recurrent_gradient_input(int output) {
    static const int inputs[] = {0, 1, 2, 3, 5, 6, 7};
    return inputs[output];
}

/* Values and slopes of the gates, the state and the cell before, the cell's value and slope. */
int64_t recurrent_record_size(const struct recurrent *recurrent) {
    return (2 * recurrent->gates + 4) * recurrent->hidden;
}

int infer_recurrent_gradient(const struct node *node, const struct fact *const *inputs,
                             struct fact *outputs, struct error *err) {
    struct recurrent r;
    if (recurrent_params(node, inputs, &r, err) < 0) {
        return -1;
    }
    double bytes = (double)(r.directions * r.batch) * (double)r.steps *
                   (double)recurrent_record_size(&r) * sizeof(float);
    if (bytes > records_max) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "%lld steps of %lld sequences need %.0f MiB for the gradient, at most "
                         "%.0f MiB are taken: use shorter sequences or a smaller batch",
                         (long long)r.steps, (long long)r.batch, bytes / 0x1p20,
                         records_max / 0x1p20);
    }
    for (int i = 0; i < node->output_count; i++) {
        const struct fact *input = inputs[recurrent_gradient_input(i)];
        outputs[i].type = TENSOR_FLOAT32;
        outputs[i].shape = input ? input->shape : (struct shape){0};
    }
    return 0;
}
