// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/sequence.h"

#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 1 << 28 };

struct sequence {
    struct session *session;
    const struct feeds *feeds;
    size_t input_count, output_count;
    struct tensor *values;           /* of each input: all steps, the state, or a constant */
    struct tensor *inputs, *outputs; /* of one step; borrowed */
    struct tensor *all;              /* of each output: what is returned */
    bool *are_states;                /* of each output */
};

struct sequence *sequence_new(struct session *session, const struct feeds *feeds) {
    struct sequence *sequence = x_calloc(1, sizeof *sequence);
    size_t inputs = session_input_count(session), outputs = session_output_count(session);
    *sequence = (struct sequence){.session = session,
                                  .feeds = feeds,
                                  .input_count = inputs,
                                  .output_count = outputs,
                                  .values = x_calloc(inputs, sizeof *sequence->values),
                                  .inputs = x_calloc(inputs, sizeof *sequence->inputs),
                                  .outputs = x_calloc(outputs, sizeof *sequence->outputs),
                                  .all = x_calloc(outputs, sizeof *sequence->all),
                                  .are_states = x_calloc(outputs, sizeof *sequence->are_states)};
    for (size_t i = 0; i < inputs; i++) {
        if (feeds_state(feeds, i) >= 0) {
            sequence->are_states[feeds_state(feeds, i)] = true;
        }
    }
    return sequence;
}

static void release(struct tensor *tensors, size_t count) {
    for (size_t i = 0; i < count; i++) {
        tensor_release(&tensors[i]);
    }
}

void sequence_free(struct sequence *sequence) {
    if (sequence) {
        release(sequence->values, sequence->input_count);
        release(sequence->all, sequence->output_count);
        free(sequence->values);
        free(sequence->inputs);
        free(sequence->outputs);
        free(sequence->all);
        free(sequence->are_states);
        free(sequence);
    }
}

static const char *input_name(const struct sequence *sequence, size_t index) {
    enum tensor_type type;
    struct shape shape;
    return session_input(sequence->session, index, &type, &shape);
}

/* ---- inputs --------------------------------------------------------------------------------- */

static int fill_input(struct sequence *sequence, size_t index, int64_t *ret_steps,
                      struct error *err) {
    struct tensor wanted = {0}, *values = &sequence->values[index];
    bool is_shared = false;
    tensor_release(values);
    *values = (struct tensor){0};
    if (feeds_measure(sequence->feeds, index, &wanted, &is_shared, err) < 0 ||
        tensor_init(values, wanted.type, &wanted.shape, err) < 0) {
        return -1;
    }
    feeds_fill(sequence->feeds, index, &wanted.shape, values->data);
    sequence->inputs[index] = (struct tensor){wanted.type, wanted.shape, values->data, false};
    if (!feeds_in_steps(sequence->feeds, index)) {
        return 0;
    }
    *ret_steps = wanted.shape.dims[FEEDS_STEPS_AXIS]; /* of all inputs, as feeds_take has checked */
    struct shape *shape = &sequence->inputs[index].shape;
    shape->rank--;
    memmove(shape->dims + 1, shape->dims + 2, (size_t)(shape->rank - 1) * sizeof *shape->dims);
    return 0;
}

/* Moves the inputs to step `at`. */
static void seek(struct sequence *sequence, int64_t at) {
    for (size_t i = 0; i < sequence->input_count; i++) {
        struct tensor *input = &sequence->inputs[i];
        if (input->shape.rank < sequence->values[i].shape.rank) {
            size_t size = (size_t)shape_count(&input->shape) * tensor_type_size(input->type);
            input->data = (char *)sequence->values[i].data + (size_t)at * size;
        }
    }
}

/* What a step gave becomes the states of the next one. */
static int carry(struct sequence *sequence, struct error *err) {
    for (size_t i = 0; i < sequence->input_count; i++) {
        int output = feeds_state(sequence->feeds, i);
        if (output < 0) {
            continue;
        }
        struct tensor *state = &sequence->values[i];
        const struct tensor *next = &sequence->outputs[output];
        if (next->type != state->type || !shape_equal(&next->shape, &state->shape)) {
            char given[128], wanted[128];
            shape_format(&next->shape, given);
            shape_format(&state->shape, wanted);
            return error_set(err, ERROR_INVALID,
                             "spec.scorer.onnx.inputs: the output \"%.64s\" is %s %s, its state "
                             "\"%.64s\" is %s %s",
                             session_output(sequence->session, (size_t)output),
                             tensor_type_name(next->type), given, input_name(sequence, i),
                             tensor_type_name(state->type), wanted);
        }
        memcpy(state->data, next->data,
               (size_t)shape_count(&state->shape) * tensor_type_size(state->type));
    }
    return 0;
}

/* ---- outputs -------------------------------------------------------------------------------- */

/* [1, steps, ...] of what a step gave, [1, ...] of a state. */
static int open_output(struct sequence *sequence, size_t index, int64_t count, struct error *err) {
    const struct tensor *given = &sequence->outputs[index];
    const struct shape *own = &given->shape;
    bool is_state = sequence->are_states[index];
    int skipped = !is_state && own->rank > 0 && own->dims[0] == 1;
    struct shape shape = {.rank = 1, .dims = {1}};
    if (!is_state) {
        shape.dims[shape.rank++] = count;
    }
    if (shape.rank + own->rank - skipped > TENSOR_RANK_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "the output \"%.64s\" has too many axes",
                         session_output(sequence->session, index));
    }
    for (int i = skipped; i < own->rank; i++) {
        shape.dims[shape.rank++] = own->dims[i];
    }
    tensor_release(&sequence->all[index]);
    sequence->all[index] = (struct tensor){0};
    int64_t values = shape_count(&shape);
    if (values < 0 || values > VALUES_MAX) {
        return error_set(err, ERROR_INVALID,
                         "the output \"%.64s\" has more than %d values in %lld steps",
                         session_output(sequence->session, index), VALUES_MAX, (long long)count);
    }
    return tensor_init(&sequence->all[index], given->type, &shape, err);
}

static int keep(struct sequence *sequence, int64_t at, int64_t count, struct error *err) {
    for (size_t i = 0; i < sequence->output_count; i++) {
        const struct tensor *given = &sequence->outputs[i];
        if (at == 0 && open_output(sequence, i, count, err) < 0) {
            return -1;
        }
        int64_t values = shape_count(&given->shape), room = shape_count(&sequence->all[i].shape);
        if (given->type != sequence->all[i].type ||
            values * (sequence->are_states[i] ? 1 : count) != room) {
            return error_set(err, ERROR_INVALID,
                             "the output \"%.64s\" has other values in step %lld than before",
                             session_output(sequence->session, i), (long long)at);
        }
        size_t size = (size_t)values * tensor_type_size(given->type);
        memcpy((char *)sequence->all[i].data + (sequence->are_states[i] ? 0 : (size_t)at * size),
               given->data, size);
    }
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------ */

int sequence_run(struct sequence *sequence, int64_t most, struct tensor *ret_outputs,
                 struct error *err) {
    int64_t count = 0;
    for (size_t i = 0; i < sequence->input_count; i++) {
        if (fill_input(sequence, i, &count, err) < 0) {
            return -1;
        }
    }
    count = MIN(count, most);
    for (int64_t at = 0; at < count; at++) {
        seek(sequence, at);
        if (session_run(sequence->session, sequence->inputs, sequence->outputs, err) < 0 ||
            keep(sequence, at, count, err) < 0 || carry(sequence, err) < 0) {
            return -1;
        }
    }
    memcpy(ret_outputs, sequence->all, sequence->output_count * sizeof *ret_outputs);
    for (size_t i = 0; i < sequence->output_count; i++) {
        ret_outputs[i].owned = false;
    }
    return 0;
}
