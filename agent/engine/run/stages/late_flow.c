// SPDX-License-Identifier: Apache-2.0
/* If, Loop, Scan and SequenceMap: their bodies are networks in stages. */
#include "agent/engine/run/stages/late.h"

#include "agent/engine/ops/infer/params.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of one loop; work_max of stages.h limits all together. */
enum { ROUNDS_MAX = 1 << 20 };

/* A body's inputs for one round: its own, then those around it. */
static int run_body(const struct late_call *call, const struct late_body *body,
                    struct parcel **inputs, size_t own, struct parcel **outputs,
                    struct error *err) {
    if (own + (size_t)body->around_count != body->graph->input_count) {
        return error_set(err, ERROR_INVALID, "the body has %zu inputs, %zu are given",
                         body->graph->input_count - (size_t)body->around_count, own);
    }
    for (int i = 0; i < body->around_count; i++) {
        inputs[own + (size_t)i] = body->around[i];
        if (!body->around[i]) {
            return error_set(err, ERROR_INVALID,
                             "the body reads an outer value that no executed branch computed");
        }
    }
    return call->run(body->stages, inputs, outputs, err);
}

static int expect_outputs(const struct late_body *body, size_t wanted, struct error *err) {
    return body->graph->output_count == wanted
               ? 0
               : error_set(err, ERROR_INVALID, "the body has %zu outputs, %zu are expected",
                           body->graph->output_count, wanted);
}

int late_if(const struct late_call *call, struct error *err) {
    double condition;
    if (late_number(call, 0, 0, &condition, err) < 0) {
        return -1;
    }
    if (call->node->attribute_count != 2 || call->input_count != 1) {
        return error_set(err, ERROR_INVALID, "one condition and two branches are expected");
    }
    bool is_first_else = strcmp(call->node->attributes[0].name, "else_branch") == 0;
    const struct late_body *body = &call->bodies[(condition != 0) == is_first_else];
    if (expect_outputs(body, (size_t)call->output_count, err) < 0) {
        return -1;
    }
    struct parcel **inputs = x_calloc(body->graph->input_count + 1, sizeof *inputs);
    int result = run_body(call, body, inputs, 0, call->outputs, err);
    free(inputs);
    return result;
}

/* ---- what rounds give, joined in the end ---------------------------------------------------- */

struct gathered {
    struct parcel **items;
    size_t count, room;
};

static void gather(struct gathered *gathered, struct parcel *item) {
    if (gathered->count == gathered->room) {
        gathered->room = MAX(2 * gathered->room, (size_t)16);
        gathered->items = x_realloc(gathered->items, gathered->room * sizeof(struct parcel *));
    }
    gathered->items[gathered->count++] = item;
}

static void gathered_free(struct gathered *gathered, size_t count) {
    for (size_t i = 0; i < count; i++) {
        parcel_release_all(gathered[i].items, gathered[i].count);
        free(gathered[i].items);
    }
    free(gathered);
}

/* Of no rounds: what the body declares, with 0 for sizes that it does not say. */
static int join_none(const struct late_body *body, size_t output, int64_t axis,
                     struct parcel **ret_item, struct error *err) {
    const struct value *value = &body->graph->values[body->graph->outputs[output]];
    struct shape shape = {0};
    int at;
    if (!value->has_shape || value->shape.rank == TENSOR_RANK_MAX) {
        return error_set(
            err, ERROR_UNSUPPORTED,
            "the loop had no iteration, and the body does not declare the shape of \"%.64s\"",
            value->name);
    }
    if (param_axis(axis, value->shape.rank + 1, &at, err) < 0) {
        return -1;
    }
    for (int i = 0; i < value->shape.rank; i++) {
        shape.dims[i + (i >= at)] = MAX(value->shape.dims[i], 0);
    }
    shape.rank = value->shape.rank + 1;
    return parcel_new(value->type, &shape, ret_item, err);
}

static int join(const struct late_body *body, size_t output, const struct gathered *gathered,
                int64_t axis, struct parcel **ret_item, struct error *err) {
    for (size_t i = 0; i < gathered->count; i++) {
        if (gathered->items[i]->kind != PARCEL_TENSOR) {
            return error_set(err, ERROR_INVALID, "output %zu of the body is not a tensor", output);
        }
    }
    return gathered->count ? late_join(gathered->items, gathered->count, axis, true, ret_item, err)
                           : join_none(body, output, axis, ret_item, err);
}

/* ---- Loop ----------------------------------------------------------------------------------- */

/* The body's inputs: round, condition, what is carried. Its outputs: condition, what is carried,
 * what is gathered. */
struct looping {
    const struct late_call *call;
    size_t carried, gathered_count;
    struct parcel **inputs, **outputs;
    struct gathered *gathered;
};

static struct parcel *in_rank_of(struct parcel *item, const struct value *value) {
    if (value->has_shape && value->shape.rank == 1) {
        item->tensor.shape = (struct shape){1, {1}};
    }
    return item;
}

static int truth_of(const struct parcel *item, bool *ret_truth, struct error *err) {
    if (item->kind != PARCEL_TENSOR || shape_count(&item->tensor.shape) != 1) {
        return error_set(err, ERROR_INVALID, "the condition must be one bool");
    }
    *ret_truth = tensor_number(&item->tensor, 0) != 0;
    return 0;
}

/* Afterwards the inputs have what is carried into the next round. */
static int run_round(struct looping *looping, int64_t round, bool *condition, struct error *err) {
    const struct late_body *body = &looping->call->bodies[0];
    const struct graph *graph = body->graph;
    size_t own = 2 + looping->carried;
    looping->inputs[0] = in_rank_of(parcel_of_integer(round), &graph->values[graph->inputs[0]]);
    looping->inputs[1] = in_rank_of(parcel_of_bool(*condition), &graph->values[graph->inputs[1]]);
    int result = run_body(looping->call, body, looping->inputs, own, looping->outputs, err);
    parcel_release_all(looping->inputs, own);
    if (result < 0) {
        return -1;
    }
    for (size_t i = 0; i < looping->carried; i++) {
        looping->inputs[2 + i] = TAKE(looping->outputs[1 + i]);
    }
    for (size_t i = 0; i < looping->gathered_count; i++) {
        gather(&looping->gathered[i], TAKE(looping->outputs[1 + looping->carried + i]));
    }
    result = truth_of(looping->outputs[0], condition, err);
    parcel_freep(&looping->outputs[0]);
    return result;
}

static int run_rounds(struct looping *looping, double most, bool condition, struct error *err) {
    for (int64_t round = 0; condition && (double)round < most; round++) {
        if (round == ROUNDS_MAX) {
            return error_set(err, ERROR_UNSUPPORTED, "more than %d iterations", ROUNDS_MAX);
        }
        if (run_round(looping, round, &condition, err) < 0) {
            return -1;
        }
    }
    const struct late_call *call = looping->call;
    for (size_t i = 0; i < looping->carried; i++) {
        call->outputs[i] = TAKE(looping->inputs[2 + i]);
    }
    for (size_t i = 0; i < looping->gathered_count; i++) {
        if (join(&call->bodies[0], 1 + looping->carried + i, &looping->gathered[i], 0,
                 &call->outputs[looping->carried + i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int check_loop(const struct late_call *call, struct error *err) {
    const struct late_body *body = &call->bodies[0];
    if (!body->graph || call->input_count < 2 || call->output_count < call->input_count - 2) {
        return error_set(
            err, ERROR_INVALID,
            "a body, a number of iterations, a condition and one output for each value "
            "that is carried are expected");
    }
    for (int i = 2; i < call->input_count; i++) {
        if (!call->inputs[i]) {
            return error_set(err, ERROR_INVALID, "input %d is missing", i);
        }
    }
    if (body->graph->input_count != (size_t)(call->input_count + body->around_count)) {
        return error_set(err, ERROR_INVALID, "the body has %zu inputs, %d are given",
                         body->graph->input_count - (size_t)body->around_count, call->input_count);
    }
    return expect_outputs(body, 1 + (size_t)call->output_count, err);
}

int late_loop(const struct late_call *call, struct error *err) {
    double most, condition;
    if (check_loop(call, err) < 0 || late_number(call, 0, INFINITY, &most, err) < 0 ||
        late_number(call, 1, 1, &condition, err) < 0) {
        return -1;
    }
    const struct graph *body = call->bodies[0].graph;
    struct looping looping = {.call = call, .carried = (size_t)call->input_count - 2};
    looping.gathered_count = (size_t)call->output_count - looping.carried;
    looping.inputs = x_calloc(body->input_count + 1, sizeof *looping.inputs);
    looping.outputs = x_calloc(body->output_count + 1, sizeof *looping.outputs);
    looping.gathered = x_calloc(looping.gathered_count + 1, sizeof *looping.gathered);
    for (size_t i = 0; i < looping.carried; i++) {
        looping.inputs[2 + i] = parcel_share(call->inputs[2 + i]);
    }
    int result = run_rounds(&looping, most, condition != 0, err);
    parcel_release_all(looping.inputs, 2 + looping.carried);
    parcel_release_all(looping.outputs, body->output_count);
    gathered_free(looping.gathered, looping.gathered_count);
    free(looping.inputs);
    free(looping.outputs);
    return result;
}

/* ---- Scan ----------------------------------------------------------------------------------- */

/* The body's inputs: states, a slice of each scanned tensor. Its outputs: states, what is
 * gathered. */
struct scanning {
    const struct late_call *call;
    size_t states, scanned, gathered_count;
    int64_t length;
    struct parcel **inputs, **outputs;
    struct gathered *gathered;
};

static int64_t listed(const struct late_call *call, const char *name, size_t index) {
    size_t count;
    const int64_t *values = node_integers(call->node, name, &count);
    return index < count ? values[index] : 0;
}

/* A scanned tensor, and the axis along which it is. */
static int scanned_tensor(const struct scanning *scanning, size_t index,
                          const struct tensor **ret_tensor, int *ret_axis, struct error *err) {
    const struct late_call *call = scanning->call;
    return late_tensor(call, (int)(scanning->states + index), ret_tensor, err) < 0
               ? -1
               : param_axis(listed(call, "scan_input_axes", index), (*ret_tensor)->shape.rank,
                            ret_axis, err);
}

static int slice_inputs(struct scanning *scanning, int64_t round, struct error *err) {
    const struct late_call *call = scanning->call;
    for (size_t i = 0; i < scanning->scanned; i++) {
        const struct tensor *tensor;
        int axis;
        if (scanned_tensor(scanning, i, &tensor, &axis, err) < 0) {
            return -1;
        }
        bool is_reverse = listed(call, "scan_input_directions", i) != 0;
        int64_t at = is_reverse ? scanning->length - 1 - round : round;
        const struct late_range range = {axis, at, 1, true};
        if (late_cut(tensor, &range, &scanning->inputs[scanning->states + i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int scan_round(struct scanning *scanning, int64_t round, struct error *err) {
    size_t own = scanning->states + scanning->scanned;
    int result = slice_inputs(scanning, round, err);
    result = result < 0 ? -1
                        : run_body(scanning->call, &scanning->call->bodies[0], scanning->inputs,
                                   own, scanning->outputs, err);
    parcel_release_all(scanning->inputs, own);
    for (size_t i = 0; result == 0 && i < scanning->states; i++) {
        scanning->inputs[i] = TAKE(scanning->outputs[i]);
    }
    for (size_t i = 0; result == 0 && i < scanning->gathered_count; i++) {
        gather(&scanning->gathered[i], TAKE(scanning->outputs[scanning->states + i]));
    }
    return result;
}

static void reverse(struct gathered *gathered) {
    for (size_t i = 0; i < gathered->count / 2; i++) {
        struct parcel *first = gathered->items[i];
        gathered->items[i] = gathered->items[gathered->count - 1 - i];
        gathered->items[gathered->count - 1 - i] = first;
    }
}

static int scan_all(struct scanning *scanning, struct error *err) {
    const struct late_call *call = scanning->call;
    for (int64_t round = 0; round < scanning->length; round++) {
        if (scan_round(scanning, round, err) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < scanning->states; i++) {
        call->outputs[i] = TAKE(scanning->inputs[i]);
    }
    for (size_t i = 0; i < scanning->gathered_count; i++) {
        if (listed(call, "scan_output_directions", i)) {
            reverse(&scanning->gathered[i]);
        }
        if (join(&call->bodies[0], scanning->states + i, &scanning->gathered[i],
                 listed(call, "scan_output_axes", i), &call->outputs[scanning->states + i],
                 err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* All scanned tensors are equally long. */
static int measure_scan(struct scanning *scanning, struct error *err) {
    scanning->length = -1;
    for (size_t i = 0; i < scanning->scanned; i++) {
        const struct tensor *tensor;
        int axis;
        if (scanned_tensor(scanning, i, &tensor, &axis, err) < 0) {
            return -1;
        }
        int64_t length = tensor->shape.dims[axis];
        if (length > ROUNDS_MAX) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "scanned input %zu has length %lld, at most %d is supported", i,
                             (long long)length, ROUNDS_MAX);
        }
        if (i && length != scanning->length) {
            return error_set(err, ERROR_INVALID,
                             "scanned input %zu has length %lld, expected %lld as the first", i,
                             (long long)length, (long long)scanning->length);
        }
        scanning->length = length;
    }
    return 0;
}

static int check_scan(struct scanning *scanning, struct error *err) {
    const struct late_call *call = scanning->call;
    const struct late_body *body = &call->bodies[0];
    int64_t scanned = node_integer(call->node, "num_scan_inputs", 0);
    int64_t states = call->input_count - scanned;
    if (!body->graph || scanned < 1 || states < 0 || call->output_count < states) {
        return error_set(err, ERROR_INVALID, "a body and num_scan_inputs of 1 to %d are expected",
                         call->input_count);
    }
    for (int i = 0; i < call->input_count; i++) {
        if (!call->inputs[i]) {
            return error_set(err, ERROR_INVALID, "input %d is missing", i);
        }
    }
    scanning->states = (size_t)states;
    scanning->scanned = (size_t)scanned;
    scanning->gathered_count = (size_t)(call->output_count - states);
    return expect_outputs(body, (size_t)call->output_count, err) < 0 ? -1
                                                                     : measure_scan(scanning, err);
}

int late_scan(const struct late_call *call, struct error *err) {
    struct scanning scanning = {.call = call};
    if (check_scan(&scanning, err) < 0) {
        return -1;
    }
    const struct graph *body = call->bodies[0].graph;
    size_t room = (size_t)call->input_count + body->input_count + 1;
    scanning.inputs = x_calloc(room, sizeof *scanning.inputs);
    scanning.outputs = x_calloc(body->output_count + 1, sizeof *scanning.outputs);
    scanning.gathered = x_calloc(scanning.gathered_count + 1, sizeof *scanning.gathered);
    for (size_t i = 0; i < scanning.states; i++) {
        scanning.inputs[i] = parcel_share(call->inputs[i]);
    }
    int result = scan_all(&scanning, err);
    parcel_release_all(scanning.inputs, scanning.states);
    parcel_release_all(scanning.outputs, body->output_count);
    gathered_free(scanning.gathered, scanning.gathered_count);
    free(scanning.inputs);
    free(scanning.outputs);
    return result;
}

/* ---- SequenceMap ---------------------------------------------------------------------------- */

/* For each element: the body's inputs are that element of each sequence, and all tensors. */
static int map_one(const struct late_call *call, size_t index, struct parcel **inputs,
                   struct parcel **outputs, struct error *err) {
    for (int i = 0; i < call->input_count; i++) {
        struct parcel *item = call->inputs[i];
        bool is_list = item && item->kind == PARCEL_SEQUENCE;
        if (!item) {
            return error_set(err, ERROR_INVALID, "input %d is missing", i);
        }
        if (is_list && item->count != call->inputs[0]->count) {
            return error_set(err, ERROR_INVALID,
                             "input %d has %zu elements, expected %zu as input 0", i, item->count,
                             call->inputs[0]->count);
        }
        inputs[i] = is_list ? item->items[index] : item;
    }
    return run_body(call, &call->bodies[0], inputs, (size_t)call->input_count, outputs, err);
}

int late_sequence_map(const struct late_call *call, struct error *err) {
    const struct late_body *body = &call->bodies[0];
    const struct parcel *first;
    size_t count = (size_t)call->output_count;
    if (late_sequence(call, 0, &first, err) < 0) {
        return -1;
    }
    if (!body->graph || expect_outputs(body, count, err) < 0) {
        return body->graph ? -1 : error_set(err, ERROR_INVALID, "a body is expected");
    }
    size_t room = (size_t)call->input_count + body->graph->input_count + 1;
    struct parcel **inputs = x_calloc(room, sizeof *inputs);
    struct parcel **outputs = x_calloc(count + 1, sizeof *outputs);
    struct gathered *gathered = x_calloc(count + 1, sizeof *gathered);
    int result = 0;
    for (size_t i = 0; result == 0 && i < first->count; i++) {
        result = map_one(call, i, inputs, outputs, err);
        for (size_t k = 0; result == 0 && k < count; k++) {
            if (outputs[k]->kind != PARCEL_TENSOR) {
                result = error_set(err, ERROR_INVALID, "output %zu of the body is not a tensor", k);
            }
            gather(&gathered[k], TAKE(outputs[k]));
        }
    }
    for (size_t k = 0; result == 0 && k < count; k++) {
        call->outputs[k] = parcel_of_items(gathered[k].items, gathered[k].count);
    }
    parcel_release_all(outputs, count);
    gathered_free(gathered, count);
    free(inputs);
    free(outputs);
    return result;
}
