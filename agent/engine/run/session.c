// SPDX-License-Identifier: Apache-2.0
/* A model prepared on a device, and its runs. */
#include "agent/engine/session.h"

#include "agent/engine/device/kernel.h"
#include "agent/engine/graph/builder.h"
#include "agent/engine/graph/shape_infer.h"
#include "agent/engine/graph/string_table.h"
#include "agent/engine/model.h"
#include "agent/engine/onnx/string_values.h"
#include "agent/engine/ops/cost.h"
#include "agent/engine/ops/rewrite/rewrite.h"
#include "agent/engine/run/session_state.h"
#include "agent/engine/run/stages/stages.h"

#include <assert.h>
#include <stdlib.h>

enum { FREE_SIDE = 64 /* assumed for a free dimension */ };

static bool has_pictures(const struct graph *graph) {
    const struct value *input = &graph->values[graph->inputs[0]];
    const struct shape *shape = &input->shape;
    return graph->input_count == 1 && input->type == TENSOR_FLOAT32 && !input->is_string &&
           input->has_shape && shape->rank == 4 &&
           (shape->dims[1] == 3 ||
            (shape->dims[1] == -1 && shape->dims[3] != 3 && shape->dims[3] != 1));
}

/* Whether the output may be pictures as bytes can be made of: colours in planes. */
static bool returns_planes(const struct graph *graph) {
    const struct value *output = &graph->values[graph->outputs[0]];
    const struct shape *shape = &output->shape;
    return graph->output_count == 1 &&
           (!output->has_shape ||
            (shape->rank == 4 && (shape->dims[1] == 3 || shape->dims[1] < 0)));
}

/* Replaces the graph by one with bytes at its ends, which borrows from it. */
static int add_ends(struct session *session, const struct session_options *options,
                    struct error *err) {
    struct graph floats = session->graph;
    const struct pixel_conversion *out = returns_planes(&floats) ? options->pixels_out : NULL;
    session->graph = (struct graph){0};
    session->returns_pixels = out != NULL;
    session->takes_pixels = true;
    if (rewrite_bytes(&floats, options->pixels_in, out, &session->graph, err) < 0) {
        graph_release(&floats);
        return -1;
    }
    arena_join(&session->graph.arena, &floats.arena);
    return 0;
}

/* Stages are rewritten one by one, when the types of their inputs are known. */
static int prepare(struct session *session, bool is_staged, struct error *err) {
    const struct graph *graph = &session->model->graph;
    struct builder builder;
    if (!is_staged) {
        return rewrite_graph(graph, &session->graph, err);
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        const struct value *output = &graph->values[graph->outputs[i]];
        if (output->is_list) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "output \"%.64s\" is a sequence or an optional: only tensors can "
                             "be outputs",
                             output->name);
        }
    }
    builder_init(&builder, graph);
    builder_take(&builder, &session->graph);
    return 0;
}

int session_open(const char *model_path, const struct session_options *options,
                 struct session **ret_session, struct error *err) {
    AUTO(session_freep) struct session *session = x_calloc(1, sizeof *session);
    if (options && options->ret_is_device) {
        *options->ret_is_device = false;
    }
    if ((options && options->files
             ? model_open_files(model_path, options->files, &session->model, err)
             : model_open(model_path, &session->model, err)) < 0) {
        return -1;
    }
    if (device_open(options ? options->device : NULL, options ? options->threads : 0,
                    &session->device, err) < 0) {
        if (options && options->ret_is_device) {
            *options->ret_is_device = true;
        }
        return -1;
    }
    bool is_staged = stages_needed(&session->model->graph);
    if (prepare(session, is_staged, err) < 0 ||
        (options && options->pixels_in && has_pictures(&session->graph) &&
         add_ends(session, options, err) < 0)) {
        return error_context(err, "model %s", model_path);
    }
    if (is_staged) {
        session->stages = stages_new(session->device, &session->graph, COST_MAX);
    } else {
        shape_fold_constants(&session->graph, device_evaluate);
        /* Only this session's plans read the constants; see find_plan. */
        session->graph.may_evict = true;
    }
    *ret_session = TAKE(session);
    return 0;
}

/* Whether its elements may be sizes or axes, which only a run knows. */
static bool may_be_size(const struct fact *fact) {
    return (fact->type == TENSOR_INT64 || fact->type == TENSOR_INT32) &&
           shape_count(&fact->shape) <= SHAPE_KNOWN_ELEMENTS_MAX;
}

static int infer_declared(const struct session *session, struct arena *arena, struct error *err) {
    const struct graph *graph = &session->graph;
    struct fact *facts = arena_array(arena, graph->value_count, sizeof *facts);
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct value *value = &graph->values[graph->inputs[i]];
        struct fact *fact = &facts[graph->inputs[i]];
        *fact = (struct fact){.type = value->type, .shape = value->shape};
        for (int k = 0; k < fact->shape.rank; k++) {
            bool is_free = fact->shape.dims[k] < 0;
            fact->shape.dims[k] = is_free ? (k ? FREE_SIDE : 1) : fact->shape.dims[k];
        }
        if (!value->has_shape || may_be_size(fact)) {
            return 0;
        }
    }
    return shape_infer(graph, device_evaluate, arena, facts, err);
}

int session_check(const struct session *session, struct error *err) {
    struct arena arena = {0};
    struct error cause = {0};
    int result = session->stages ? 0 : infer_declared(session, &arena, &cause);
    arena_release(&arena);
    if (result < 0 && cause.kind == ERROR_UNSUPPORTED) {
        *err = cause;
        return -1;
    }
    return 0;
}

int session_enter(struct session *session, struct error *err) {
    struct device *device = session->device;
    return device->ops->enter ? device->ops->enter(device, err) : 0;
}

void session_free(struct session *session) {
    if (!session) {
        return;
    }
    if (session->device) {
        struct error ignored = {0};
        (void)!session_enter(session, &ignored);
        flow_close(session);
        session_forget_plans(session);
        stages_free(session->stages);
    }
    device_close(session->device);
    graph_release(&session->graph);
    model_free(session->model);
    free(session);
}

void session_freep(struct session **session) {
    session_free(*session);
    *session = NULL;
}

size_t session_input_count(const struct session *session) {
    return session->graph.input_count;
}

size_t session_output_count(const struct session *session) {
    return session->graph.output_count;
}

const char *session_input(const struct session *session, size_t index, enum tensor_type *ret_type,
                          struct shape *ret_shape) {
    const struct graph *graph = &session->model->graph; /* as read, without bytes at its ends */
    assert(index < graph->input_count);
    const struct value *value = &graph->values[graph->inputs[index]];
    *ret_type = value->type;
    *ret_shape = value->shape;
    return value->name;
}

const char *session_output(const struct session *session, size_t index) {
    const struct graph *graph = &session->graph;
    assert(index < graph->output_count);
    return graph->values[graph->outputs[index]].name;
}

const struct string_table *session_input_strings(const struct session *session, size_t index) {
    const struct graph *graph = &session->model->graph;
    assert(index < graph->input_count);
    return graph->values[graph->inputs[index]].is_string ? graph->strings : NULL;
}

char **session_classes(const struct session *session, size_t index, size_t *ret_count) {
    const struct graph *graph = &session->model->graph;
    assert(index < graph->output_count);
    return string_values_classes(graph, graph->outputs[index], ret_count);
}

void session_classes_free(char **classes, size_t count) {
    string_values_classes_free(classes, count);
}

const char *session_note(const struct session *session) {
    return session->model->note;
}

bool session_takes_pixels(const struct session *session) {
    return session->takes_pixels;
}

bool session_returns_pixels(const struct session *session) {
    return session->returns_pixels;
}

int64_t session_string_index(const struct string_table *strings, const char *bytes, size_t size) {
    return string_table_find(strings, bytes, size);
}
